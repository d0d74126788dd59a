// A client that shows views, made of the official parts: its MCP client, and the bridge of @modelcontextprotocol/ext-apps,
// which checks every message against the schema. The view runs in jsdom; a click in it must reach the server and come back.
//
//     node view_host.mjs URL TOKEN
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { AppBridge } from "@modelcontextprotocol/ext-apps/app-bridge";
import { JSDOM, VirtualConsole } from "jsdom";

const [url, token] = process.argv.slice(2);
const client = new Client({ name: "view-host", version: "1" });
const headers = { Authorization: `Bearer ${token}` };
await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
const { tools } = await client.listTools();

function assert(good, what) {
  if (!good) throw new Error(what);
}

async function until(condition, what) {
  for (let i = 0; i < 200; i += 1) {
    if (condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`never came: ${what}`);
}

async function show(name, args) {
  const tool = tools.find((one) => one.name === name);
  const { contents } = await client.readResource({ uri: tool._meta.ui.resourceUri });
  assert(contents[0].mimeType === "text/html;profile=mcp-app", `${name}: the MIME type of its page`);

  const seen = { sizes: [], errors: [] };
  const transport = { start: async () => {}, close: async () => {} };
  const virtualConsole = new VirtualConsole();
  virtualConsole.on("jsdomError", (error) => {
    if (error.type !== "not-implemented") seen.errors.push(String(error.message)); // jsdom has no canvas
  });
  let window;
  transport.send = async (message) => {
    window.dispatchEvent(new window.MessageEvent("message", { data: structuredClone(message), source: window }));
  };
  const bridge = new AppBridge(client, { name: "view-host", version: "1" }, { serverTools: {} }, { hostContext: { theme: "dark" } });
  const begun = new Promise((resolve) => (bridge.oninitialized = resolve));
  bridge.onsizechange = (size) => seen.sizes.push(size);
  await bridge.connect(transport);
  const dom = new JSDOM(contents[0].text, {
    runScripts: "dangerously",
    virtualConsole,
    beforeParse(made) {
      window = made;
      made.postMessage = (message) => setTimeout(() => transport.onmessage(JSON.parse(JSON.stringify(message))), 0);
    },
  });
  await Promise.race([begun, until(() => false, `${name}: the view's first word; ${seen.errors}`)]);
  await bridge.sendToolInput({ arguments: args });
  await bridge.sendToolResult(await client.callTool({ name, arguments: args }));
  return { document: dom.window.document, seen };
}

const network = await show("show_network", {});
await until(() => network.document.querySelectorAll("#list button").length === 2, "a button for each memory");
assert(network.document.documentElement.dataset.theme === "dark", "the view takes the host's theme");
assert(network.document.getElementById("summary").textContent.startsWith("2"), "the summary");
const button = [...network.document.querySelectorAll("#list button")].find((one) => one.textContent === "gasket");
button.click();
await until(() => network.document.querySelector("#card .text"), "the card of what was clicked");
const text = network.document.querySelector("#card .text").textContent;
assert(text.includes("second drawer"), "the memory's text");
const id = network.document.querySelector("#card").dataset.id;

const card = await show("show_memory", { bucket_id: id });
await until(() => card.document.querySelector("h1"), "the card");
assert(card.document.querySelector("h1").textContent === "gasket", "the card's name");
assert(card.seen.sizes.length > 0, "the card tells its size");
for (const view of [network, card]) assert(view.seen.errors.length === 0, view.seen.errors.join("; "));

const hostile = tools.length && (await client.callTool({ name: "hold", arguments: { content: "<img src=x onerror=alert(1)>", name: "<b>bold</b>" } }));
const made = /[0-9a-f]{12}/.exec(JSON.stringify(hostile))[0];
const shown = await show("show_memory", { bucket_id: made });
await until(() => shown.document.querySelector(".text"), "the hostile card");
assert(shown.document.querySelector("#card img, #card b") === null, "markup in a memory stays text");
console.log("both views drawn");
process.exit(0);
