// The story, as all JavaScript clients play it: the steps of `telling.py`, in JavaScript.
//
// A script is run with a target as JSON (`{"command": […], "env": {…}}` or `{"url": …}`), an era
// (`modern` or `legacy`), and a JSON list of the steps that this client has no way to play. It prints a
// line of JSON for every other step: what it saw, or how it failed.

import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export const target = JSON.parse(process.argv[2]);
export const legacy = process.argv[3] === "legacy";
const leftOut = JSON.parse(process.argv[4]);

// The packages are not beside this file, where Node.js would look for them.
export const load = createRequire(join(process.env.KUNIUMI_NPM, "from-here.js"));

const PATIENCE = 20_000;
const TIMES = 4;
const ADD = { x: 7, y: 3 };
export const META = {
  traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  "example.org/note": "to whom it concerns",
};
export const ROOT = "file:///home/ada";
const PAGE = "story://page";
const SECRET = "functions.Secret";

// ---- what clients are asked, and hear ----

const ANSWERS = {
  "Who is there?": [
    { action: "accept", content: { name: "Ada", age: 36 } },
    { action: "decline" },
    { action: "cancel" },
  ],
  "Which color?": [{ action: "accept", content: { value: "red" } }],
  "Is red final?": [{ action: "accept", content: { value: true } }],
};

export const asked = [];
export const logged = [];
export const heard = [];

export function answer({ params }) {
  const turn = asked.filter(({ message }) => message === params.message).length;
  asked.push({ message: params.message, schema: params.requestedSchema });
  return ANSWERS[params.message][turn];
}

export function sample({ params }) {
  const [{ content }] = params.messages;
  const text = `${params.systemPrompt}, ${content.text}? Indeed.`;
  return { role: "assistant", model: "parrot", content: { type: "text", text } };
}

// ---- telling ----

export async function tell(step, see) {
  if (leftOut.includes(step)) return;
  let timer;
  const tooLong = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("it took too long")), PATIENCE);
  });
  let said;
  try {
    said = { step, saw: await Promise.race([see(), tooLong]) };
  } catch (error) {
    console.error(error);
    said = { step, failed: String(error) };
  } finally {
    clearTimeout(timer);
  }
  console.log(JSON.stringify(said));
}

async function until(condition) {
  const deadline = Date.now() + PATIENCE;
  while (!(await condition()) && Date.now() < deadline) await sleep(20);
}

function resultOf({ content, structuredContent, isError }) {
  return { content, structuredContent, isError }; // what is undefined, JSON leaves out
}

// ---- the story ----

export async function play(client) {
  const call = (name, args = {}, options = {}) =>
    client.call(`functions.${name}`, args, options).then(resultOf);

  await tell("connect", () => client.connect());
  await tell("tools", () => client.tools());
  await tell("call", () => call("Add", ADD));
  await tell("call with text for a number", () => call("Add", { x: "7", y: 3 }));
  await tell("wrong argument", () => call("Add", { x: "not_a_number", y: 3 }));
  await tell("wrong kind of argument", () => call("Add", { x: [7], y: 3 }));
  await tell("function error", () => call("Divide", { x: 1, y: 0 }));
  await tell("exception", () => call("Burst"));
  await tell("exit", () => call("Vanish"));
  await tell("errors", () => errors(client));
  await tell("structured", () => call("Locate", { name: "Hill" }));
  await tell("two values", () => call("Split", { text: "word" }));
  await tell("blocks", () => call("Gallery"));
  await tell("words and data", () => call("Weigh", { thing: "feather" }));
  await tell("noise", () => call("Chatter"));
  await tell("header", () => call("Route", { region: "süd west" }));
  await tell("meta", () => call("Meta", {}, { meta: META }));
  await tell("progress", () => progress(call));
  await tell("log", () => log(client, call));
  await tell("cancel", () => cancel(client, call));
  await tell("ask", () => ask(call));
  await tell("ask twice", () => call("Quiz"));
  await tell("sample", () => call("Muse", { topic: "rain" }));
  await tell("roots", () => call("Folders"));
  await tell("resources", () => resources(client));
  await tell("templates", () => client.templates());
  await tell("read text", () => client.read("story://title"));
  await tell("read bytes", () => client.read("story://cover"));
  await tell("read template", () => client.read("story://chapter/7"));
  await tell("prompts", () => client.prompts());
  await tell("prompt", () => client.prompt("greeting", { name: "Ada", tone: "cool" }));
  await tell("prompt with a picture", () => client.prompt("critique", {}));
  await tell("complete", () => complete(client));
  await tell("changes", () => changes(client, call));
  await tell("still there", () => call("Add", ADD));
}

async function errors(client) {
  const failing = {
    tool: () => client.call("nothing", {}, {}),
    resource: () => client.read("story://nothing"),
    chapter: () => client.read("story://chapter/99"),
    prompt: () => client.prompt("nothing", {}),
    "prompt without its argument": () => client.prompt("greeting", {}),
  };
  const codes = {};
  for (const [what, fail] of Object.entries(failing)) {
    try {
      await fail();
      codes[what] = "no error";
    } catch (error) {
      codes[what] = error.code ?? String(error);
    }
  }
  return codes;
}

async function progress(call) {
  const steps = [];
  const onprogress = ({ progress, total, message }) => steps.push([progress, total, message]);
  await call("Climb", { steps: 3 }, { onprogress });
  return steps;
}

async function log(client, call) {
  await call("Diary", {}, { meta: await client.wantLog() });
  await until(() => logged.length >= 2); // a client may hand them on after the result
  return logged;
}

async function cancel(client, call) {
  const noted = async (mark) => (await call("Noted", { mark })).structuredContent.result;
  const seen = {};
  for (const tool of ["Wait", "Doze", "Grind"]) {
    seen[tool] = [];
    for (let turn = 0; turn < TIMES; turn++) {
      const mark = `${tool}-${turn}`;
      const controller = new AbortController();
      const { signal } = controller;
      const ended = client.call(`functions.${tool}`, { mark }, { signal }).then(
        () => "it was not given up",
        () => null,
      );
      await until(async () => (await noted(mark)).length === 1);
      controller.abort();
      await ended;
      await until(async () => (await noted(mark)).length === 2);
      seen[tool].push(await noted(mark));
    }
  }
  return seen;
}

async function ask(call) {
  const said = [];
  for (let turn = 0; turn < 3; turn++) {
    said.push((await call("Introduce")).structuredContent.result);
  }
  return { said, asked: asked[0] };
}

async function resources(client) {
  const listed = await client.resources();
  return {
    count: new Set(listed.map(({ uri }) => uri)).size,
    cover: listed.find(({ name }) => name === "cover"),
  };
}

async function complete(client) {
  const prompt = { type: "ref/prompt", name: "greeting" };
  const chapter = { type: "ref/resource", uri: "story://chapter/{number}" };
  return {
    name: await client.complete(prompt, { name: "name", value: "ad" }),
    tone: await client.complete(prompt, { name: "tone", value: "" }),
    number: await client.complete(chapter, { name: "number", value: "1" }),
  };
}

async function changes(client, call) {
  const seen = [];
  const leave = await client.watch(PAGE);
  // Again and again: over HTTP, an old client opens its stream for such news when it likes.
  await until(async () => {
    await call("TurnPage");
    await sleep(20);
    return heard.includes(`updated ${PAGE}`);
  });
  seen.push(heard[0]);
  for (const [trigger, there] of [["Hide", false], ["Show", true]]) {
    heard.length = 0;
    await call(trigger);
    await until(() => heard.includes("tools"));
    await until(async () => SECRET in (await client.tools()) === there);
    if (heard.includes("tools")) seen.push(`tools, ${there ? "with" : "without"} the secret`);
  }
  await leave();
  return seen;
}

// ---- what the clients of the official SDK have in common, in 1.x and 2.x ----

export class Official {
  constructor(client) {
    this.client = client;
  }

  async tools() {
    const { tools } = await this.client.listTools({}, { cacheMode: "refresh" });
    return Object.fromEntries(tools.map((tool) => [tool.name, tool]));
  }

  async resources() {
    let { resources, nextCursor: cursor } = await this.client.listResources();
    while (cursor) { // 2.x has read on by itself
      const page = await this.client.listResources({ cursor });
      resources = [...resources, ...page.resources];
      cursor = page.nextCursor;
    }
    return resources;
  }

  async templates() {
    return (await this.client.listResourceTemplates()).resourceTemplates;
  }

  async read(uri) {
    return (await this.client.readResource({ uri })).contents;
  }

  async prompts() {
    return (await this.client.listPrompts()).prompts;
  }

  async prompt(name, args) {
    return (await this.client.getPrompt({ name, arguments: args })).messages;
  }

  async complete(ref, argument) {
    return (await this.client.complete({ ref, argument })).completion.values;
  }
}
