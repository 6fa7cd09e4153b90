// The story, through the Inspector's command line: a process a step, and nobody there to be asked.

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { META, legacy, load, target, tell } from "./telling.mjs";

const PROGRAM = join(
  dirname(load.resolve("@modelcontextprotocol/inspector/package.json")),
  "clients/cli/build/index.js",
);
const home = await mkdtemp(join(tmpdir(), "inspector-")); // it keeps notes there
const environment = Object.entries(target.env ?? {}).flatMap(([name, value]) => [
  "-e",
  `${name}=${value}`,
]);
const server = target.url
  ? ["--transport", "http", "--server-url", target.url]
  : ["--transport", "stdio", ...environment, ...target.command];

function run(method, ...options) {
  const era = ["--protocol-era", legacy ? "legacy" : "modern"];
  const words = ["--method", method, ...options, ...era, "--format", "json", "--quiet"];
  const settings = { env: { ...process.env, HOME: home }, maxBuffer: 1 << 24 };
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, ...server, ...words], settings, (error, out, said) => {
      const lines = `${out}${said}`.trim().split("\n").map((line) => JSON.parse(line));
      resolve({ code: error?.code ?? 0, ...Object.assign({}, ...lines) });
    });
  });
}

async function call(name, args = {}, ...more) {
  const options = ["--tool-name", `functions.${name}`, "--tool-args-json", JSON.stringify(args)];
  const { result } = await run("tools/call", ...options, ...more);
  const { content, structuredContent, isError } = result;
  return { content, structuredContent, isError };
}

async function listed(method, key) {
  return (await run(method)).result[key];
}

async function read(uri) {
  return (await run("resources/read", "--uri", uri)).result.contents;
}

function pairs(object) {
  return Object.entries(object).map(([key, value]) => `${key}=${value}`);
}

async function prompt(name, args) {
  const words = pairs(args);
  const options = words.length > 0 ? ["--prompt-args", ...words] : [];
  return (await run("prompts/get", "--prompt-name", name, ...options)).result.messages;
}

async function resources() {
  const all = await listed("resources/list", "resources");
  const cover = all.find(({ name }) => name === "cover");
  return { count: new Set(all.map(({ uri }) => uri)).size, cover };
}

async function tools() {
  const { code, result } = await run("tools/list", "--strict");
  if (code !== 0) throw new Error(`schemas that not all models can take: ${code}`);
  return Object.fromEntries(result.tools.map((tool) => [tool.name, tool]));
}

async function missing() {
  const { code, error } = await run("resources/read", "--uri", "story://nothing");
  return { code, message: error.message };
}

async function connect() {
  const { result } = await run("initialize");
  const { protocolVersion: revision, serverInfo: server, capabilities, instructions } = result;
  return { revision, server, capabilities: Object.keys(capabilities).sort(), instructions };
}

const story = {
  connect,
  tools,
  call: () => call("Add", { x: 7, y: 3 }),
  "wrong kind of argument": () => call("Add", { x: [7], y: 3 }),
  "function error": () => call("Divide", { x: 1, y: 0 }),
  structured: () => call("Locate", { name: "Hill" }),
  blocks: () => call("Gallery"),
  header: () => call("Route", { region: "süd west" }),
  meta: () => call("Meta", {}, "--tool-metadata", ...pairs(META)),
  "nobody to ask": () => call("Dare"),
  resources,
  templates: () => listed("resources/templates/list", "resourceTemplates"),
  "read text": () => read("story://title"),
  "read bytes": () => read("story://cover"),
  "read template": () => read("story://chapter/7"),
  missing,
  prompts: () => listed("prompts/list", "prompts"),
  prompt: () => prompt("greeting", { name: "Ada", tone: "cool" }),
  "prompt with a picture": () => prompt("critique", {}),
};

// Two at a time: the machine has other things to do.
const steps = Object.entries(story);
async function playOn() {
  for (let next = steps.shift(); next !== undefined; next = steps.shift()) await tell(...next);
}
await Promise.all([playOn(), playOn()]);
await rm(home, { recursive: true });
