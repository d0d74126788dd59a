// Loads the plugin as Obsidian would, with as little of Obsidian around it as it takes, and lets its own client speak
// to a daemon. usage: node plugin_contract.cjs MAIN_JS URL TOKEN; one JSON call a line on stdin, one answer a line.
"use strict";
const { readFileSync } = require("node:fs");
const readline = require("node:readline");

const [, , file, url, token] = process.argv;

class Nothing {}
const obsidian = new Proxy({}, { get: () => Nothing });
const module_ = { exports: {} };
new Function("module", "exports", "require", readFileSync(file, "utf8"))(module_, module_.exports, (name) => {
  if (name !== "obsidian") throw new Error(`the plugin asks for ${name}`);
  return obsidian;
});

const { DaemonClient, DaemonError } = module_.exports;
const client = new DaemonClient(() => url, () => token, async ({ url, method, headers, body }) => {
  const answer = await fetch(url, { method, headers, body });
  return { status: answer.status, text: await answer.text() };
});

async function answered(line) {
  const [method, ...args] = JSON.parse(line);
  try {
    return { value: (await client[method](...args)) ?? null };
  } catch (error) {
    if (!(error instanceof DaemonError)) throw error;
    return { failing: error.failing, message: error.message };
  }
}

(async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await answered(line))}\n`);
  }
})();
