/** What the status bar says: one of four states, made of what the daemon answers. */

import { DaemonError, type Status, type Trouble } from "./client";
import type { Texts } from "./texts";

export type State =
  | { kind: "ok"; notes: number }
  | { kind: "indexing"; done: number; total: number }
  | { kind: "offline"; why: string }
  | { kind: "conflicts"; count: number; first: string };

/** Conflicts wait for a person, so they win over work that ends by itself. */
export function stateOf(status: Status, trouble: readonly Trouble[]): State {
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

export function stateOfFailure(error: unknown): State {
  return { kind: "offline", why: error instanceof DaemonError && error.failing === "token" ? "token" : "daemon" };
}

export function label(state: State, texts: Texts): string {
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

export function tooltip(state: State, texts: Texts): string {
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
