/* vaultd for Obsidian 0.1.0, sources 41b3b42638a8ce5a928dfb7e9909b3873b97b9d68849f3b738f75cb7a25b00d9 */
"use strict";
var __defProp = Object.defineProperty;
var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
var __getOwnPropNames = Object.getOwnPropertyNames;
var __hasOwnProp = Object.prototype.hasOwnProperty;
var __export = (target, all) => {
  for (var name in all)
    __defProp(target, name, { get: all[name], enumerable: true });
};
var __copyProps = (to, from, except, desc) => {
  if (from && typeof from === "object" || typeof from === "function") {
    for (let key of __getOwnPropNames(from))
      if (!__hasOwnProp.call(to, key) && key !== except)
        __defProp(to, key, { get: () => from[key], enumerable: !(desc = __getOwnPropDesc(from, key)) || desc.enumerable });
  }
  return to;
};
var __toCommonJS = (mod) => __copyProps(__defProp({}, "__esModule", { value: true }), mod);

// src/main.ts
var main_exports = {};
__export(main_exports, {
  DaemonClient: () => DaemonClient,
  DaemonError: () => DaemonError,
  default: () => VaultdPlugin
});
module.exports = __toCommonJS(main_exports);
var import_obsidian4 = require("obsidian");

// src/client.ts
var DaemonError = class extends Error {
  constructor(failing2, message) {
    super(message);
    this.failing = failing2;
    this.name = "DaemonError";
  }
  failing;
};
var DaemonClient = class {
  /** `token` is asked for at each request: it may change while the plugin runs. */
  constructor(base, token, transport) {
    this.base = base;
    this.token = token;
    this.transport = transport;
  }
  base;
  token;
  transport;
  /** Whether a daemon answers, and its version. Needs no token. */
  async health() {
    return text((await this.call("GET", "/health")).version);
  }
  async status() {
    const raw = await this.call("GET", "/api/status");
    return {
      ready: raw.ready === true,
      vaultAvailable: raw.vault_available !== false,
      vault: text(raw.vault),
      notes: number(raw.notes),
      total: number(raw.total),
      waiting: number(raw.waiting),
      pending: number(raw.pending),
      problems: number(raw.problems),
      heldDeletions: number(raw.held_deletions)
    };
  }
  async trouble() {
    const raw = await this.call("GET", "/api/health?days=1");
    const copies = list(raw.skipped).filter((one) => text(one.reason).includes("conflict copy"));
    return [...list(raw.problems), ...copies].map((one) => ({ path: text(one.path), reason: text(one.reason) }));
  }
  async search(query, limit = 20) {
    const asked = new URLSearchParams({ q: query, limit: String(limit) });
    return memories(await this.call("GET", `/api/search?${asked.toString()}`));
  }
  /** Memories like a note as the index knows it, and the note's id. */
  async similarToNote(path, limit = 8) {
    const asked = new URLSearchParams({ path, limit: String(limit) });
    const raw = await this.call("GET", `/api/similar?${asked.toString()}`);
    return { id: text(raw.id), items: memories(raw) };
  }
  /** Memories like a text that need not be saved anywhere. */
  async similarToText(written, limit = 8) {
    return memories(await this.call("POST", "/api/similar", { text: written, limit }));
  }
  /** Changes a memory; the answer is the path where its note lies afterwards. */
  async change(id, change) {
    const raw = await this.call("PATCH", `/api/bucket/${encodeURIComponent(id)}`, { ...change });
    return { name: text(raw.name), path: text(raw.path) };
  }
  /** Tells which note is open, so that the daemon leaves it alone for two minutes. */
  async activeFile(path) {
    await this.call("POST", "/api/active-file", { path });
  }
  /** An address that logs a browser in, once. */
  async loginLink() {
    return text((await this.call("POST", "/api/login-link", {})).url);
  }
  async call(method, path, body) {
    const headers = { Accept: "application/json" };
    const token = this.token();
    if (token) headers.Authorization = `Bearer ${token}`;
    const request = { url: this.base() + path, method, headers };
    if (body !== void 0) {
      headers["Content-Type"] = "application/json";
      request.body = JSON.stringify(body);
    }
    let answer;
    try {
      answer = await this.transport(request);
    } catch (error) {
      throw new DaemonError("offline", error instanceof Error ? error.message : String(error));
    }
    const raw = parsed(answer.text);
    if (answer.status >= 200 && answer.status < 300 && raw) return raw;
    throw new DaemonError(failing(answer.status), text(object(raw?.error).message) || `HTTP ${answer.status}`);
  }
};
function failing(status) {
  if (status === 401 || status === 403) return "token";
  return status === 404 ? "missing" : "refused";
}
function parsed(answer) {
  try {
    const value = JSON.parse(answer);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
function memories(raw) {
  return list(raw.items).map((one) => ({
    id: text(one.id),
    path: text(one.path),
    name: text(one.name),
    kind: text(one.kind),
    score: number(one.score),
    similarity: typeof one.similarity === "number" ? one.similarity : null,
    snippet: text(one.snippet)
  }));
}
function list(value) {
  return Array.isArray(value) ? value.map(object) : [];
}
function object(value) {
  return typeof value === "object" && value !== null ? value : {};
}
function text(value) {
  return typeof value === "string" ? value : "";
}
function number(value) {
  return typeof value === "number" ? value : 0;
}

// src/search-modal.ts
var import_obsidian = require("obsidian");
var PAUSE_MS = 250;
var SearchModal = class extends import_obsidian.SuggestModal {
  constructor(vaultd) {
    super(vaultd.app);
    this.vaultd = vaultd;
    this.emptyStateText = vaultd.texts.nothingFound;
    this.setPlaceholder(vaultd.texts.searchHint);
  }
  vaultd;
  asked = 0;
  async getSuggestions(query) {
    const mine = ++this.asked;
    const wanted = query.trim();
    if (!wanted) return [];
    await new Promise((done) => window.setTimeout(done, PAUSE_MS));
    if (mine !== this.asked) return [];
    try {
      return await this.vaultd.client.search(wanted);
    } catch (error) {
      if (!(error instanceof DaemonError)) throw error;
      this.emptyStateText = this.vaultd.texts.failed(error.message);
      return [];
    }
  }
  renderSuggestion(memory, el) {
    el.createDiv({ text: memory.name || memory.path });
    el.createDiv({ cls: "vaultd-hit-snippet", text: memory.snippet || memory.path });
  }
  onChooseSuggestion(memory) {
    void this.vaultd.open(memory.path);
  }
};

// src/settings.ts
var import_obsidian2 = require("obsidian");
var DEFAULTS = { port: 8e3, tokenSecret: "", live: true };
function isPort(value) {
  return typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= 65535;
}
function settingsFrom(saved, otherwise = DEFAULTS) {
  const raw = typeof saved === "object" && saved !== null ? saved : {};
  return {
    port: isPort(raw.port) ? raw.port : otherwise.port,
    tokenSecret: typeof raw.tokenSecret === "string" ? raw.tokenSecret : otherwise.tokenSecret,
    live: typeof raw.live === "boolean" ? raw.live : otherwise.live
  };
}
var VaultdSettingTab = class extends import_obsidian2.PluginSettingTab {
  constructor(app, vaultd) {
    super(app, vaultd);
    this.vaultd = vaultd;
  }
  vaultd;
  getSettingDefinitions() {
    const { texts } = this.vaultd;
    return [
      {
        name: texts.port,
        desc: texts.portAbout,
        control: {
          type: "number",
          key: "port",
          defaultValue: DEFAULTS.port,
          validate: (value) => isPort(value) ? void 0 : texts.portWrong
        }
      },
      {
        name: texts.token,
        desc: texts.tokenAbout,
        render: (setting) => {
          setting.addComponent(
            (el) => new import_obsidian2.SecretComponent(this.app, el).setValue(this.vaultd.settings.tokenSecret).onChange(async (name) => {
              await this.setControlValue("tokenSecret", name);
            })
          );
        }
      },
      { name: texts.live, desc: texts.liveAbout, control: { type: "toggle", key: "live" } }
    ];
  }
  getControlValue(key) {
    return new Map(Object.entries(this.vaultd.settings)).get(key);
  }
  async setControlValue(key, value) {
    await this.vaultd.use(settingsFrom({ ...this.vaultd.settings, [key]: value }, this.vaultd.settings));
  }
};

// src/similar-view.ts
var import_obsidian3 = require("obsidian");
var SIMILAR_VIEW = "vaultd-similar";
var PAUSE_MS2 = 800;
var SHORTEST_TEXT = 12;
var LONGEST_TEXT = 2e4;
var SHOWN = 8;
var SimilarView = class extends import_obsidian3.ItemView {
  constructor(leaf, vaultd) {
    super(leaf);
    this.vaultd = vaultd;
    this.icon = "brain";
    this.later = (0, import_obsidian3.debounce)(() => void this.refresh(), PAUSE_MS2, true);
  }
  vaultd;
  later;
  asked = 0;
  lastAsked = "";
  getViewType() {
    return SIMILAR_VIEW;
  }
  getDisplayText() {
    return this.vaultd.texts.similar;
  }
  async onOpen() {
    this.registerEvent(this.app.workspace.on("file-open", () => this.later()));
    this.registerEvent(
      this.app.workspace.on("editor-change", () => {
        if (this.vaultd.settings.live) this.later();
      })
    );
    await this.refresh();
  }
  onClose() {
    this.later.cancel();
    this.asked += 1;
    return Promise.resolve();
  }
  /** Asks for memories like what is in the editor now; an answer that was overtaken is dropped. */
  async refresh() {
    const { texts, client } = this.vaultd;
    const file = this.app.workspace.getActiveFile();
    if (file?.extension !== "md") {
      this.lastAsked = "";
      this.say(texts.noNote);
      return;
    }
    const written = await this.written();
    const question = `${file.path}
${written}`;
    if (question === this.lastAsked) return;
    const mine = ++this.asked;
    try {
      const found = written.length < SHORTEST_TEXT ? (await client.similarToNote(file.path, SHOWN)).items : await client.similarToText(written, SHOWN + 1);
      if (mine !== this.asked) return;
      this.lastAsked = question;
      this.show(found.filter((one) => one.path !== file.path).slice(0, SHOWN));
    } catch (error) {
      if (mine !== this.asked) return;
      this.lastAsked = "";
      this.say(this.reason(error));
    }
  }
  reason(error) {
    const { texts } = this.vaultd;
    if (!(error instanceof DaemonError)) throw error;
    if (error.failing === "missing") return texts.unknownNote;
    if (error.failing === "offline") return texts.noDaemon;
    return error.failing === "token" ? texts.wrongToken : texts.failed(error.message);
  }
  async written() {
    const file = this.app.workspace.getActiveFile();
    if (!file) return "";
    const view = this.app.workspace.getActiveViewOfType(import_obsidian3.MarkdownView);
    const all = view?.file === file ? view.editor.getValue() : await this.app.vault.cachedRead(file);
    return all.slice((0, import_obsidian3.getFrontMatterInfo)(all).contentStart).trim().slice(0, LONGEST_TEXT);
  }
  say(message) {
    this.contentEl.empty();
    this.contentEl.createDiv({ cls: "vaultd-message", text: message });
  }
  show(found) {
    if (found.length === 0) {
      this.say(this.vaultd.texts.nothingAlike);
      return;
    }
    this.contentEl.empty();
    for (const memory of found) {
      const item = this.contentEl.createEl("button", { cls: "vaultd-similar-item" });
      if (memory.similarity !== null) {
        item.createSpan({ cls: "vaultd-similar-score", text: memory.similarity.toFixed(2) });
      }
      item.createDiv({ text: memory.name || memory.path });
      item.createDiv({ cls: "vaultd-similar-path", text: memory.path });
      this.registerDomEvent(item, "click", () => void this.vaultd.open(memory.path));
    }
  }
};

// src/state.ts
function stateOf(status, trouble) {
  if (!status.vaultAvailable) return { kind: "offline", why: "vault" };
  const count = Math.max(trouble.length, status.problems) + status.heldDeletions;
  if (count > 0) {
    const first = trouble[0];
    return { kind: "conflicts", count, first: first ? `${first.path}: ${first.reason}` : "" };
  }
  const left = status.waiting + status.pending;
  if (status.ready && left === 0) return { kind: "ok", notes: status.notes };
  const total = Math.max(status.total, status.notes, left);
  return { kind: "indexing", done: Math.max(0, total - left), total };
}
function stateOfFailure(error) {
  return { kind: "offline", why: error instanceof DaemonError && error.failing === "token" ? "token" : "daemon" };
}
function label(state, texts) {
  switch (state.kind) {
    case "ok":
      return texts.ok;
    case "indexing":
      return texts.indexing(state.done, state.total);
    case "offline":
      return texts.offline;
    case "conflicts":
      return texts.conflicts(state.count);
  }
}
function tooltip(state, texts) {
  switch (state.kind) {
    case "ok":
      return texts.okMore(state.notes);
    case "indexing":
      return texts.indexingMore;
    case "offline":
      return state.why === "token" ? texts.wrongToken : state.why === "vault" ? texts.noVault : texts.noDaemon;
    case "conflicts":
      return state.first || texts.conflictsMore;
  }
}

// src/texts.ts
var english = {
  ok: "Memory ok",
  okMore: (notes) => `${notes} notes are indexed. Select to open the dashboard.`,
  indexing: (done, total) => `Indexing ${done} of ${total}`,
  indexingMore: "Reading notes. Search works meanwhile, on what has been read.",
  offline: "Memory offline",
  noDaemon: "No daemon answers at this port. Start it with: vaultd serve",
  noVault: "The daemon cannot reach its vault.",
  wrongToken: "The daemon does not accept the token. Choose it in the settings; the command vaultd token shows it.",
  conflicts: (count) => `${count} ${count === 1 ? "note needs" : "notes need"} you`,
  conflictsMore: "Some notes cannot be read, or have conflict copies. The dashboard lists them.",
  pin: "Pin or unpin this memory",
  resolve: "Resolve or reopen this memory",
  restore: "Restore this memory from the archive",
  similar: "Show memories like this one",
  search: "Search memories",
  dashboard: "Open dashboard",
  pinned: (name) => `Pinned: ${name}`,
  unpinned: (name) => `No longer pinned: ${name}`,
  resolved: (name) => `Resolved: ${name}`,
  unresolved: (name) => `Open again: ${name}`,
  restored: (name) => `Restored: ${name}`,
  unknownNote: "This note is not indexed yet, or is not a memory.",
  otherVault: "Not done: the daemon knows another note at this path. Does it serve another vault?",
  failed: (why) => `Not done: ${why}`,
  searchHint: "Words or a question",
  nothingFound: "No memory found.",
  noNote: "Open a note to see memories like it.",
  nothingAlike: "No memory is like this one.",
  port: "Port",
  portAbout: "The port on which the daemon listens on this computer.",
  portWrong: "Enter a whole number from 1 to 65535.",
  token: "Token",
  tokenAbout: "The secret that holds the daemon's token. It stays in Obsidian's keychain, outside the vault.",
  live: "Follow my writing",
  liveAbout: "Update the pane of similar memories while you type."
};
var chinese = {
  ok: "记忆正常",
  okMore: (notes) => `已索引 ${notes} 篇笔记。点击打开面板。`,
  indexing: (done, total) => `正在索引 ${done}/${total}`,
  indexingMore: "正在读取笔记；已读部分可以搜索。",
  offline: "记忆离线",
  noDaemon: "此端口没有服务。请运行：vaultd serve",
  noVault: "服务找不到它的笔记库。",
  wrongToken: "令牌不被接受。请在设置中选择；运行 vaultd token 可查看。",
  conflicts: (count) => `${count} 篇笔记待处理`,
  conflictsMore: "有些笔记无法读取或有冲突副本，详见面板。",
  pin: "钉住或取消钉住此记忆",
  resolve: "标记此记忆为已解决或重新打开",
  restore: "从归档恢复此记忆",
  similar: "显示相似的记忆",
  search: "搜索记忆",
  dashboard: "打开面板",
  pinned: (name) => `已钉住：${name}`,
  unpinned: (name) => `已取消钉住：${name}`,
  resolved: (name) => `已解决：${name}`,
  unresolved: (name) => `已重新打开：${name}`,
  restored: (name) => `已恢复：${name}`,
  unknownNote: "此笔记尚未索引，或不是记忆。",
  otherVault: "未完成：服务在此路径上有另一篇笔记。它是否在管理另一个笔记库？",
  failed: (why) => `未完成：${why}`,
  searchHint: "输入词语或问题",
  nothingFound: "没有找到记忆。",
  noNote: "打开一篇笔记即可看到相似的记忆。",
  nothingAlike: "没有相似的记忆。",
  port: "端口",
  portAbout: "服务在本机监听的端口。",
  portWrong: "请输入 1 到 65535 的整数。",
  token: "令牌",
  tokenAbout: "保存服务令牌的密钥。它存放在 Obsidian 的钥匙串里，不在笔记库中。",
  live: "随写随找",
  liveAbout: "打字时更新相似记忆的侧栏。"
};
function textsFor(language) {
  return language.toLowerCase().startsWith("zh") ? chinese : english;
}

// src/main.ts
var STATUS_MS = 5e3;
var HEARTBEAT_MS = 6e4;
var LOOKS_PER_TROUBLE = 24;
var FILE_APPEARS_MS = 5e3;
var VaultdPlugin = class extends import_obsidian4.Plugin {
  texts = textsFor("en");
  settings = DEFAULTS;
  client;
  state = { kind: "offline", why: "daemon" };
  bar;
  trouble = [];
  looks = 0;
  looking = false;
  async onload() {
    this.texts = textsFor((0, import_obsidian4.getLanguage)());
    this.settings = settingsFrom(await this.loadData());
    this.client = new DaemonClient(
      () => `http://127.0.0.1:${this.settings.port}`,
      () => this.token(),
      sendByObsidian
    );
    this.bar = this.addStatusBarItem();
    this.bar.addClass("vaultd-status", "mod-clickable");
    this.registerDomEvent(this.bar, "click", () => void this.openDashboard());
    this.show(this.state);
    this.addSettingTab(new VaultdSettingTab(this.app, this));
    this.registerView(SIMILAR_VIEW, (leaf) => new SimilarView(leaf, this));
    this.addCommands();
    this.registerEvent(this.app.workspace.on("file-open", (file) => void this.beat(file)));
    this.registerInterval(window.setInterval(() => void this.look(), STATUS_MS));
    this.registerInterval(
      window.setInterval(() => void this.beat(this.app.workspace.getActiveFile()), HEARTBEAT_MS)
    );
    this.app.workspace.onLayoutReady(() => {
      void this.look();
      void this.beat(this.app.workspace.getActiveFile());
    });
  }
  addCommands() {
    const { texts } = this;
    this.onNote("pin", texts.pin, (file) => this.toggle(file, "pinned", texts.pinned, texts.unpinned));
    this.onNote("resolve", texts.resolve, (file) => this.toggle(file, "resolved", texts.resolved, texts.unresolved));
    this.onNote("restore", texts.restore, (file) => this.change(file, { restore: true }, texts.restored));
    this.addCommand({ id: "similar", name: texts.similar, callback: () => void this.openSimilar() });
    this.addCommand({ id: "search", name: texts.search, callback: () => new SearchModal(this).open() });
    this.addCommand({ id: "dashboard", name: texts.dashboard, callback: () => void this.openDashboard() });
  }
  onNote(id, name, act) {
    this.addCommand({
      id,
      name,
      checkCallback: (checking) => {
        const file = this.app.workspace.getActiveFile();
        if (file?.extension !== "md") return false;
        if (!checking) void act(file);
        return true;
      }
    });
  }
  /** Other settings from now on; they are saved, and the daemon is asked anew. */
  async use(settings) {
    this.settings = settings;
    await this.saveData(settings);
    this.looks = 0;
    await this.look();
  }
  token() {
    const name = this.settings.tokenSecret;
    return name ? this.app.secretStorage.getSecret(name) ?? "" : "";
  }
  /** Asks how the daemon is, and shows it. One question at a time. */
  async look() {
    if (this.looking) return;
    this.looking = true;
    try {
      const status = await this.client.status();
      if (this.looks++ % LOOKS_PER_TROUBLE === 0) this.trouble = await this.client.trouble();
      this.show(stateOf(status, this.trouble));
    } catch (error) {
      this.looks = 0;
      this.show(stateOfFailure(error));
    } finally {
      this.looking = false;
    }
  }
  show(state) {
    this.state = state;
    this.bar.setText(label(state, this.texts));
    this.bar.dataset.state = state.kind;
    this.bar.setAttribute("aria-label", tooltip(state, this.texts));
  }
  /** Tells which note is open. Nobody there: nothing to tell. */
  async beat(file) {
    try {
      await this.client.activeFile(file?.extension === "md" ? file.path : null);
    } catch (error) {
      if (!(error instanceof DaemonError)) throw error;
    }
  }
  async toggle(file, key, on, off) {
    const known = this.app.metadataCache.getFileCache(file)?.frontmatter?.[key];
    const value = known !== true;
    await this.change(file, key === "pinned" ? { pinned: value } : { resolved: value }, value ? on : off);
  }
  async change(file, change, done) {
    try {
      const { id } = await this.client.similarToNote(file.path, 1);
      if (this.isOther(file, id)) {
        new import_obsidian4.Notice(this.texts.otherVault);
        return;
      }
      const after = await this.client.change(id, change);
      new import_obsidian4.Notice(done(after.name));
      if (after.path !== file.path) await this.open(after.path);
    } catch (error) {
      if (!(error instanceof DaemonError)) throw error;
      new import_obsidian4.Notice(this.reason(error));
    }
    await this.look();
  }
  /** Whether the daemon means another note than the one that is open: two vaults may have a note at one path. */
  isOther(file, id) {
    const own = this.app.metadataCache.getFileCache(file)?.frontmatter?.id;
    return typeof own === "string" && own !== id;
  }
  reason(error) {
    if (error.failing === "missing") return this.texts.unknownNote;
    if (error.failing === "offline") return this.texts.noDaemon;
    return error.failing === "token" ? this.texts.wrongToken : this.texts.failed(error.message);
  }
  /** Opens a note; one that was moved a moment ago may take Obsidian a few seconds to see. */
  async open(path) {
    const file = this.app.vault.getFileByPath(path) ?? await this.appearing(path);
    if (!file) {
      new import_obsidian4.Notice(this.texts.failed(path));
      return;
    }
    const view = this.app.workspace.getActiveViewOfType(import_obsidian4.FileView);
    await (view?.leaf ?? this.app.workspace.getLeaf(false)).openFile(file);
  }
  appearing(path) {
    return new Promise((resolve) => {
      const end = (file) => {
        window.clearTimeout(timer);
        this.app.vault.offref(created);
        this.app.vault.offref(renamed);
        resolve(file);
      };
      const look = (file) => {
        if (file instanceof import_obsidian4.TFile && file.path === path) end(file);
      };
      const created = this.app.vault.on("create", look);
      const renamed = this.app.vault.on("rename", look);
      const timer = window.setTimeout(() => end(null), FILE_APPEARS_MS);
    });
  }
  async openSimilar() {
    const { workspace } = this.app;
    const leaf = workspace.getLeavesOfType(SIMILAR_VIEW)[0] ?? workspace.getRightLeaf(false);
    if (!leaf) return;
    await leaf.setViewState({ type: SIMILAR_VIEW, active: true });
    await workspace.revealLeaf(leaf);
  }
  /** In the browser, already logged in. */
  async openDashboard() {
    try {
      window.open(await this.client.loginLink());
    } catch (error) {
      if (!(error instanceof DaemonError)) throw error;
      new import_obsidian4.Notice(this.reason(error));
    }
  }
};
async function sendByObsidian(request) {
  const { status, text: text2 } = await (0, import_obsidian4.requestUrl)({ ...request, throw: false });
  return { status, text: text2 };
}
