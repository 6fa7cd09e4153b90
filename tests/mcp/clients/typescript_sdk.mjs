// The story, through the client of the official SDK for TypeScript, 2.x.

import { Official, ROOT, answer, heard, legacy, load, logged, play, sample, target } from "./telling.mjs";

const { Client, StreamableHTTPClientTransport } = load("@modelcontextprotocol/client");
const { StdioClientTransport } = load("@modelcontextprotocol/client/stdio");

class Latest extends Official {
  async connect() {
    return {
      revision: this.client.getNegotiatedProtocolVersion(),
      server: this.client.getServerVersion(),
      capabilities: Object.keys(this.client.getServerCapabilities()).sort(),
      instructions: this.client.getInstructions(),
    };
  }

  call(name, args, { meta, ...options }) {
    return this.client.callTool({ name, arguments: args, _meta: meta }, options);
  }

  async wantLog() {
    if (!legacy) return { "io.modelcontextprotocol/logLevel": "info" };
    await this.client.setLoggingLevel("info");
  }

  async watch(uri) {
    if (legacy) {
      await this.client.subscribeResource({ uri });
      return () => this.client.unsubscribeResource({ uri });
    }
    const subscription = await this.client.listen({
      toolsListChanged: true,
      resourceSubscriptions: [uri],
    });
    return () => subscription.close();
  }
}

const [command, ...args] = target.command ?? [];
const transport = target.url
  ? new StreamableHTTPClientTransport(new URL(target.url))
  : new StdioClientTransport({ command, args, env: target.env });
const client = new Client(
  { name: "latest", version: "1.0.0" },
  {
    capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
    versionNegotiation: { mode: legacy ? "legacy" : "auto" },
  },
);
client.setRequestHandler("elicitation/create", answer);
client.setRequestHandler("sampling/createMessage", sample);
client.setRequestHandler("roots/list", () => ({ roots: [{ uri: ROOT }] }));
client.setNotificationHandler("notifications/message", ({ params }) => {
  logged.push([params.level, params.data]);
});
client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
  heard.push(`updated ${params.uri}`);
});
client.setNotificationHandler("notifications/tools/list_changed", () => {
  heard.push("tools");
});
await client.connect(transport);
await play(new Latest(client));
if (target.url && legacy) await transport.terminateSession();
await client.close();
