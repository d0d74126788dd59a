/** The plugin: status bar, commands, side pane, and a heartbeat that names the open note. It writes no note. */

import { FileView, Notice, Plugin, TFile, getLanguage, requestUrl } from "obsidian";
import { type Change, DaemonClient, DaemonError, type Received, type Sent, type Trouble } from "./client";
import { SearchModal } from "./search-modal";
import { DEFAULTS, type VaultdSettings, VaultdSettingTab, settingsFrom } from "./settings";
import { SIMILAR_VIEW, SimilarView } from "./similar-view";
import { type State, label, stateOf, stateOfFailure, tooltip } from "./state";
import { type Texts, textsFor } from "./texts";

export { DaemonClient, DaemonError };

const STATUS_MS = 5_000;
/** Half of the two minutes for which the daemon remembers a heartbeat. */
const HEARTBEAT_MS = 60_000;
/** Looking for trouble walks the vault, so it is done once in so many looks at the status. */
const LOOKS_PER_TROUBLE = 24;
const FILE_APPEARS_MS = 5_000;

export default class VaultdPlugin extends Plugin {
  texts: Texts = textsFor("en");
  override settings: VaultdSettings = DEFAULTS;
  client!: DaemonClient;
  state: State = { kind: "offline", why: "daemon" };
  private bar!: HTMLElement;
  private trouble: Trouble[] = [];
  private looks = 0;
  private looking = false;

  override async onload(): Promise<void> {
    this.texts = textsFor(getLanguage());
    this.settings = settingsFrom(await this.loadData());
    this.client = new DaemonClient(
      () => `http://127.0.0.1:${this.settings.port}`,
      () => this.token(),
      sendByObsidian,
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
      window.setInterval(() => void this.beat(this.app.workspace.getActiveFile()), HEARTBEAT_MS),
    );
    this.app.workspace.onLayoutReady(() => {
      void this.look();
      void this.beat(this.app.workspace.getActiveFile());
    });
  }

  private addCommands(): void {
    const { texts } = this;
    this.onNote("pin", texts.pin, (file) => this.toggle(file, "pinned", texts.pinned, texts.unpinned));
    this.onNote("resolve", texts.resolve, (file) => this.toggle(file, "resolved", texts.resolved, texts.unresolved));
    this.onNote("restore", texts.restore, (file) => this.change(file, { restore: true }, texts.restored));
    this.addCommand({ id: "similar", name: texts.similar, callback: () => void this.openSimilar() });
    this.addCommand({ id: "search", name: texts.search, callback: () => new SearchModal(this).open() });
    this.addCommand({ id: "dashboard", name: texts.dashboard, callback: () => void this.openDashboard() });
  }

  private onNote(id: string, name: string, act: (file: TFile) => Promise<void>): void {
    this.addCommand({
      id,
      name,
      checkCallback: (checking) => {
        const file = this.app.workspace.getActiveFile();
        if (file?.extension !== "md") return false;
        if (!checking) void act(file);
        return true;
      },
    });
  }

  /** Other settings from now on; they are saved, and the daemon is asked anew. */
  async use(settings: VaultdSettings): Promise<void> {
    this.settings = settings;
    await this.saveData(settings);
    this.looks = 0;
    await this.look();
  }

  private token(): string {
    const name = this.settings.tokenSecret;
    return name ? (this.app.secretStorage.getSecret(name) ?? "") : "";
  }

  /** Asks how the daemon is, and shows it. One question at a time. */
  async look(): Promise<void> {
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

  private show(state: State): void {
    this.state = state;
    this.bar.setText(label(state, this.texts));
    this.bar.dataset.state = state.kind;
    this.bar.setAttribute("aria-label", tooltip(state, this.texts));
  }

  /** Tells which note is open. Nobody there: nothing to tell. */
  private async beat(file: TFile | null): Promise<void> {
    try {
      await this.client.activeFile(file?.extension === "md" ? file.path : null);
    } catch (error) {
      if (!(error instanceof DaemonError)) throw error;
    }
  }

  private async toggle(
    file: TFile,
    key: "pinned" | "resolved",
    on: (name: string) => string,
    off: (name: string) => string,
  ): Promise<void> {
    const known: unknown = this.app.metadataCache.getFileCache(file)?.frontmatter?.[key];
    const value = known !== true;
    await this.change(file, key === "pinned" ? { pinned: value } : { resolved: value }, value ? on : off);
  }

  private async change(file: TFile, change: Change, done: (name: string) => string): Promise<void> {
    try {
      const { id } = await this.client.similarToNote(file.path, 1);
      if (this.isOther(file, id)) {
        new Notice(this.texts.otherVault);
        return;
      }
      const after = await this.client.change(id, change);
      new Notice(done(after.name));
      if (after.path !== file.path) await this.open(after.path);
    } catch (error) {
      if (!(error instanceof DaemonError)) throw error;
      new Notice(this.reason(error));
    }
    await this.look();
  }

  /** Whether the daemon means another note than the one that is open: two vaults may have a note at one path. */
  private isOther(file: TFile, id: string): boolean {
    const own: unknown = this.app.metadataCache.getFileCache(file)?.frontmatter?.id;
    return typeof own === "string" && own !== id;
  }

  private reason(error: DaemonError): string {
    if (error.failing === "missing") return this.texts.unknownNote;
    if (error.failing === "offline") return this.texts.noDaemon;
    return error.failing === "token" ? this.texts.wrongToken : this.texts.failed(error.message);
  }

  /** Opens a note; one that was moved a moment ago may take Obsidian a few seconds to see. */
  async open(path: string): Promise<void> {
    const file = this.app.vault.getFileByPath(path) ?? (await this.appearing(path));
    if (!file) {
      new Notice(this.texts.failed(path));
      return;
    }
    const view = this.app.workspace.getActiveViewOfType(FileView);
    await (view?.leaf ?? this.app.workspace.getLeaf(false)).openFile(file);
  }

  private appearing(path: string): Promise<TFile | null> {
    return new Promise((resolve) => {
      const end = (file: TFile | null): void => {
        window.clearTimeout(timer);
        this.app.vault.offref(created);
        this.app.vault.offref(renamed);
        resolve(file);
      };
      const look = (file: unknown): void => {
        if (file instanceof TFile && file.path === path) end(file);
      };
      const created = this.app.vault.on("create", look);
      const renamed = this.app.vault.on("rename", look);
      const timer = window.setTimeout(() => end(null), FILE_APPEARS_MS);
    });
  }

  private async openSimilar(): Promise<void> {
    const { workspace } = this.app;
    const leaf = workspace.getLeavesOfType(SIMILAR_VIEW)[0] ?? workspace.getRightLeaf(false);
    if (!leaf) return;
    await leaf.setViewState({ type: SIMILAR_VIEW, active: true });
    await workspace.revealLeaf(leaf);
  }

  /** In the browser, already logged in. */
  private async openDashboard(): Promise<void> {
    try {
      window.open(await this.client.loginLink());
    } catch (error) {
      if (!(error instanceof DaemonError)) throw error;
      new Notice(this.reason(error));
    }
  }
}

async function sendByObsidian(request: Sent): Promise<Received> {
  const { status, text } = await requestUrl({ ...request, throw: false });
  return { status, text };
}
