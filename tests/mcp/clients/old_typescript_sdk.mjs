// The story, through the client of the official SDK for TypeScript, 1.x.

import { Official, ROOT, answer, heard, load, logged, play, sample, target } from "./telling.mjs";

const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = load("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = load("@modelcontextprotocol/sdk/client/streamableHttp.js");
const types = load("@modelcontextprotocol/sdk/types.js");

class Old extends Official {
  async connect() {
    return {
      revision: revision,
      server: this.client.getServerVersion(),
      capabilities: Object.keys(this.client.getServerCapabilities()).sort(),
      instructions: this.client.getInstructions(),
    };
  }

  call(name, args, { meta, ...options }) {
    return this.client.callTool({ name, arguments: args, _meta: meta }, undefined, options);
  }

  async wantLog() {
    await this.client.setLoggingLevel("info");
  }

  async watch(uri) {
    await this.client.subscribeResource({ uri });
    return () => this.client.unsubscribeResource({ uri });
  }
}

const [command, ...args] = target.command ?? [];
const transport = target.url
  ? new StreamableHTTPClientTransport(new URL(target.url))
  : new StdioClientTransport({ command, args, env: target.env });
let revision;
// The client tells its transport which revision was agreed on, and nobody else.
const setProtocolVersion = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (version) => {
  revision = version;
  setProtocolVersion?.(version);
};
const client = new Client(
  { name: "old", version: "1.0.0" },
  { capabilities: { elicitation: {}, sampling: {}, roots: {} } },
);
client.setRequestHandler(types.ElicitRequestSchema, answer);
client.setRequestHandler(types.CreateMessageRequestSchema, sample);
client.setRequestHandler(types.ListRootsRequestSchema, () => ({ roots: [{ uri: ROOT }] }));
client.setNotificationHandler(types.LoggingMessageNotificationSchema, ({ params }) => {
  logged.push([params.level, params.data]);
});
client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, ({ params }) => {
  heard.push(`updated ${params.uri}`);
});
client.setNotificationHandler(types.ToolListChangedNotificationSchema, () => {
  heard.push("tools");
});
await client.connect(transport);
await play(new Old(client));
if (target.url) await transport.terminateSession();
await client.close();
