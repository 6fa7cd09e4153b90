// A server written with the official TypeScript SDK, second edition, on stdio.

import { createRequire } from "node:module";
import { join } from "node:path";

const load = createRequire(join(process.env.KUNIUMI_NPM, "from-here.js"));
const { McpServer, acceptedContent, inputRequired } = load("@modelcontextprotocol/server");
const { serveStdio } = load("@modelcontextprotocol/server/stdio");
const { z } = load("zod");

const City = z.object({ city: z.string() });
const said = (text) => ({ content: [{ type: "text", text }] });

serveStdio(() => {
  const server = new McpServer(
    { name: "ts2", version: "1.0.0" },
    { capabilities: { tools: {} } },
  );
  server.registerTool(
    "add",
    {
      description: "Adds two numbers.",
      inputSchema: z.object({ x: z.number(), y: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    async ({ x, y }) => ({ ...said(`${x + y}`), structuredContent: { sum: x + y } }),
  );
  server.registerTool("fail", { description: "Fails." }, async () => {
    throw new Error("no such luck");
  });
  server.registerTool("ask", { description: "Asks for a city." }, async (ctx) => {
    const answer = acceptedContent(ctx.mcpReq.inputResponses, "where", City);
    if (answer) return said(`to ${answer.city}`);
    const where = inputRequired.elicit({ message: "Which city?", requestedSchema: City });
    return inputRequired({ inputRequests: { where } });
  });
  return server;
});
