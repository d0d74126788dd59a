/** Search over all memories, by words and by meaning, as one types. */

import { SuggestModal } from "obsidian";
import { DaemonError, type Memory } from "./client";
import type VaultdPlugin from "./main";

/** Milliseconds without a keystroke before the daemon is asked. */
const PAUSE_MS = 250;

export class SearchModal extends SuggestModal<Memory> {
  private asked = 0;

  constructor(private readonly vaultd: VaultdPlugin) {
    super(vaultd.app);
    this.emptyStateText = vaultd.texts.nothingFound;
    this.setPlaceholder(vaultd.texts.searchHint);
  }

  override async getSuggestions(query: string): Promise<Memory[]> {
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

  override renderSuggestion(memory: Memory, el: HTMLElement): void {
    el.createDiv({ text: memory.name || memory.path });
    el.createDiv({ cls: "vaultd-hit-snippet", text: memory.snippet || memory.path });
  }

  override onChooseSuggestion(memory: Memory): void {
    void this.vaultd.open(memory.path);
  }
}
