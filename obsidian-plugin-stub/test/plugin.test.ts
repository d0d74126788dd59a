import { App, type TFile } from "obsidian-test-mocks/obsidian";
import type { Command, PluginSettingTab } from "obsidian";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import manifest from "../manifest.json";
import VaultdPlugin from "../src/main";
import { SIMILAR_VIEW, PAUSE_MS, SimilarView } from "../src/similar-view";
import { FakeDaemon, STATUS, memory } from "./daemon";

let daemon: FakeDaemon;
let app: App;
let plugin: VaultdPlugin;
const said: string[] = [];

vi.mock("obsidian", async (original) => {
  const mocks = await original<Record<string, unknown>>();
  return {
    ...mocks,
    requestUrl: (request: Parameters<FakeDaemon["transport"]>[0]) => daemon.transport(request),
    Notice: function (text: string) {
      said.push(text);
    },
  };
});

interface Innards {
  commands__: Map<string, Command>;
  statusBarItems__: HTMLElement[];
  data__: unknown;
  settingTabs__: PluginSettingTab[];
  views__: Map<string, (leaf: unknown) => SimilarView>;
}

function innards(): Innards {
  return plugin as unknown as Innards;
}

async function settled(): Promise<void> {
  await vi.advanceTimersByTimeAsync(1);
}

function fileAt(path: string): TFile {
  const file = app.vault.getFileByPath(path);
  if (!file) throw new Error(path);
  return file;
}

async function open(path: string): Promise<TFile> {
  const file = fileAt(path);
  await app.workspace.getLeaf(false).openFile(file);
  app.workspace.trigger("file-open", file);
  await settled();
  return file;
}

async function run(id: string): Promise<void> {
  const command = innards().commands__.get(id);
  if (command?.checkCallback) command.checkCallback(false);
  else void command?.callback?.();
  await settled();
}

beforeEach(async () => {
  vi.useFakeTimers();
  said.length = 0;
  daemon = new FakeDaemon()
    .answer("GET /api/status", STATUS)
    .answer("GET /api/health", { problems: [], skipped: [] })
    .answer("POST /api/active-file", { active: [] })
    .answer("GET /api/similar", { id: "0123456789ab", items: [memory("tea")] })
    .answer("POST /api/similar", { items: [memory("tea", { similarity: 0.8 })] })
    .answer("PATCH /api/bucket/0123456789ab", memory("plan"));
  app = App.createConfigured__({
    files: {
      "dynamic/plan.md": "---\nid: 0123456789ab\npinned: true\n---\nThe plan for the garden in spring\n",
      "dynamic/tea.md": "Green tea\n",
      "picture.png": "",
    },
  });
  app.secretStorage.setSecret("vaultd-token", "secret");
  plugin = new VaultdPlugin(app.asOriginalType__(), manifest);
  innards().data__ = { port: 8123, tokenSecret: "vaultd-token" };
  await plugin.onload();
  app.workspace.setLayoutReady__();
  await settled();
});

afterEach(() => {
  plugin.unload();
  vi.useRealTimers();
});

test("it asks at the port of the settings with the token of the keychain", () => {
  const asked = daemon.asked.find((one) => one.url.endsWith("/api/status"));

  expect(asked?.url).toBe("http://127.0.0.1:8123/api/status");
  expect(asked?.headers.Authorization).toBe("Bearer secret");
});

test("the status bar follows the daemon", async () => {
  const [bar] = innards().statusBarItems__;
  expect([bar?.textContent, bar?.dataset.state]).toEqual(["Memory ok", "ok"]);

  daemon.running = false;
  await vi.advanceTimersByTimeAsync(5_001);

  expect([bar?.textContent, bar?.dataset.state]).toEqual(["Memory offline", "offline"]);
});

test("the open note is named at once and again while it stays open", async () => {
  await open("dynamic/plan.md");
  expect(daemon.bodies("POST /api/active-file").at(-1)).toEqual({ path: "dynamic/plan.md" });
  const before = daemon.bodies("POST /api/active-file").length;

  await vi.advanceTimersByTimeAsync(60_001);

  expect(daemon.bodies("POST /api/active-file").length).toBe(before + 1);
});

test("a picture is no active note, and commands for notes are not offered on it", async () => {
  await open("picture.png");

  expect(daemon.bodies("POST /api/active-file").at(-1)).toEqual({ path: null });
  expect(innards().commands__.get("pin")?.checkCallback?.(true)).toBe(false);
});

test("resolving tells the daemon and says so; the note itself is not written", async () => {
  const file = await open("dynamic/plan.md");
  const before = await app.vault.read(file);

  await run("resolve");

  expect(daemon.bodies("PATCH /api/bucket/0123456789ab")).toEqual([{ resolved: true }]);
  expect(said).toEqual(["Resolved: plan"]);
  expect(await app.vault.read(file)).toBe(before);
});

test("a refusal is said in the daemon's words", async () => {
  await open("dynamic/plan.md");
  daemon.answer("PATCH /api/bucket/0123456789ab", { error: { message: "a merge is under way" } }, 409);

  await run("restore");

  expect(said).toEqual(["Not done: a merge is under way"]);
});

test("a restored note is opened where it lies now", async () => {
  await open("dynamic/plan.md");
  daemon.answer("PATCH /api/bucket/0123456789ab", memory("tea"));

  await run("restore");

  expect(app.workspace.getActiveFile()?.path).toBe("dynamic/tea.md");
});

test("the pane lists memories like the text, the open note left out, once per pause in the typing", async () => {
  daemon.answer("POST /api/similar", { items: [memory("plan", { similarity: 1 }), memory("tea", { similarity: 0.8 })] });
  await open("dynamic/plan.md");
  const view = innards().views__.get(SIMILAR_VIEW)?.(app.workspace.getLeaf(false));
  await view?.onOpen();

  expect(view?.contentEl.textContent).toBe("0.80teadynamic/tea.md");
  const before = daemon.bodies("POST /api/similar");
  expect(before).toEqual([{ text: "The plan for the garden in spring", limit: 9 }]);

  await app.vault.modify(fileAt("dynamic/plan.md"), "The plan for the garden in autumn\n");
  for (let key = 0; key < 5; key++) {
    app.workspace.trigger("editor-change");
    await vi.advanceTimersByTimeAsync(PAUSE_MS / 2);
  }
  await vi.advanceTimersByTimeAsync(PAUSE_MS);

  expect(daemon.bodies("POST /api/similar").length).toBe(before.length + 1);
});

test("the dashboard is opened by a link that logs in", async () => {
  const opened = vi.spyOn(window, "open").mockReturnValue(null);
  daemon.answer("POST /api/login-link", { url: "http://127.0.0.1:8123/login?code=x" });

  await run("dashboard");

  expect(opened).toHaveBeenCalledWith("http://127.0.0.1:8123/login?code=x");
});

test("pinning a memory that is pinned unpins it", async () => {
  vi.spyOn(app.metadataCache, "getFileCache").mockReturnValue({ frontmatter: { pinned: true } });
  await open("dynamic/plan.md");

  await run("pin");

  expect(daemon.bodies("PATCH /api/bucket/0123456789ab")).toEqual([{ pinned: false }]);
  expect(said).toEqual(["No longer pinned: plan"]);
});

test("a note of another vault at the same path is not touched", async () => {
  vi.spyOn(app.metadataCache, "getFileCache").mockReturnValue({ frontmatter: { id: "ffffffffffff" } });
  await open("dynamic/plan.md");

  await run("pin");

  expect(daemon.bodies("PATCH /api/bucket/0123456789ab")).toEqual([]);
  expect(said).toEqual(["Not done: the daemon knows another note at this path. Does it serve another vault?"]);
});

test("a port that is none is not kept, and the token is never among the settings", async () => {
  const [tab] = innards().settingTabs__;
  await tab?.setControlValue("port", 8124);
  expect(tab?.getControlValue("port")).toBe(8124);

  await tab?.setControlValue("port", 99_999);

  expect(innards().data__).toEqual({ port: 8124, tokenSecret: "vaultd-token", live: true });
});

test("every setting is found by Obsidian's search for settings", () => {
  const names = innards().settingTabs__[0]?.getSettingDefinitions().map((one) => ("name" in one ? one.name : ""));

  expect(names).toEqual(["Port", "Token", "Follow my writing"]);
});
