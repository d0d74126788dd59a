/** The side pane: memories like the note that is open, kept up to date while a person writes. */

import { ItemView, type Debouncer, MarkdownView, type WorkspaceLeaf, debounce, getFrontMatterInfo } from "obsidian";
import { DaemonError, type Memory } from "./client";
import type VaultdPlugin from "./main";

export const SIMILAR_VIEW = "vaultd-similar";

/** Milliseconds without a keystroke before the daemon is asked. */
export const PAUSE_MS = 800;
const SHORTEST_TEXT = 12;
const LONGEST_TEXT = 20_000;
const SHOWN = 8;

export class SimilarView extends ItemView {
  private readonly later: Debouncer<[], void>;
  private asked = 0;
  private lastAsked = "";

  constructor(
    leaf: WorkspaceLeaf,
    private readonly vaultd: VaultdPlugin,
  ) {
    super(leaf);
    this.icon = "brain";
    this.later = debounce(() => void this.refresh(), PAUSE_MS, true);
  }

  override getViewType(): string {
    return SIMILAR_VIEW;
  }

  override getDisplayText(): string {
    return this.vaultd.texts.similar;
  }

  override async onOpen(): Promise<void> {
    this.registerEvent(this.app.workspace.on("file-open", () => this.later()));
    this.registerEvent(
      this.app.workspace.on("editor-change", () => {
        if (this.vaultd.settings.live) this.later();
      }),
    );
    await this.refresh();
  }

  override onClose(): Promise<void> {
    this.later.cancel();
    this.asked += 1; // whatever is still on its way is dropped
    return Promise.resolve();
  }

  /** Asks for memories like what is in the editor now; an answer that was overtaken is dropped. */
  async refresh(): Promise<void> {
    const { texts, client } = this.vaultd;
    const file = this.app.workspace.getActiveFile();
    if (file?.extension !== "md") {
      this.lastAsked = "";
      this.say(texts.noNote);
      return;
    }
    const written = await this.written();
    const question = `${file.path}\n${written}`;
    if (question === this.lastAsked) return;
    const mine = ++this.asked;
    try {
      const found =
        written.length < SHORTEST_TEXT
          ? (await client.similarToNote(file.path, SHOWN)).items
          : await client.similarToText(written, SHOWN + 1);
      if (mine !== this.asked) return;
      this.lastAsked = question;
      this.show(found.filter((one) => one.path !== file.path).slice(0, SHOWN));
    } catch (error) {
      if (mine !== this.asked) return;
      this.lastAsked = "";
      this.say(this.reason(error));
    }
  }

  private reason(error: unknown): string {
    const { texts } = this.vaultd;
    if (!(error instanceof DaemonError)) throw error;
    if (error.failing === "missing") return texts.unknownNote;
    if (error.failing === "offline") return texts.noDaemon;
    return error.failing === "token" ? texts.wrongToken : texts.failed(error.message);
  }

  private async written(): Promise<string> {
    const file = this.app.workspace.getActiveFile();
    if (!file) return "";
    const view = this.app.workspace.getActiveViewOfType(MarkdownView);
    const all = view?.file === file ? view.editor.getValue() : await this.app.vault.cachedRead(file);
    return all.slice(getFrontMatterInfo(all).contentStart).trim().slice(0, LONGEST_TEXT);
  }

  private say(message: string): void {
    this.contentEl.empty();
    this.contentEl.createDiv({ cls: "vaultd-message", text: message });
  }

  private show(found: readonly Memory[]): void {
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
}
