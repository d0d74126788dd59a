/** The daemon's REST API, as far as the plugin needs it. Knows nothing of Obsidian. */

export interface Sent {
  url: string;
  method: string;
  headers: Record<string, string>;
  body?: string;
}

export interface Received {
  status: number;
  text: string;
}

/** Sends one request; rejects when nobody answers. */
export type Transport = (request: Sent) => Promise<Received>;

export interface Memory {
  id: string;
  path: string;
  name: string;
  kind: string;
  score: number;
  similarity: number | null;
  snippet: string;
}

export interface Status {
  ready: boolean;
  vaultAvailable: boolean;
  vault: string;
  notes: number;
  total: number;
  waiting: number;
  pending: number;
  problems: number;
  heldDeletions: number;
}

/** What a person has to look at: notes that cannot be read, and conflict copies of sync tools. */
export interface Trouble {
  path: string;
  reason: string;
}

export interface Change {
  pinned?: boolean;
  resolved?: boolean;
  restore?: true;
}

export type Failing = "offline" | "token" | "missing" | "refused";

/** The daemon did not do what it was asked. `message` is the daemon's own line where it sent one. */
export class DaemonError extends Error {
  constructor(
    readonly failing: Failing,
    message: string,
  ) {
    super(message);
    this.name = "DaemonError";
  }
}

type Json = Record<string, unknown>;

export class DaemonClient {
  /** `token` is asked for at each request: it may change while the plugin runs. */
  constructor(
    private readonly base: () => string,
    private readonly token: () => string,
    private readonly transport: Transport,
  ) {}

  /** Whether a daemon answers, and its version. Needs no token. */
  async health(): Promise<string> {
    return text((await this.call("GET", "/health")).version);
  }

  async status(): Promise<Status> {
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
      heldDeletions: number(raw.held_deletions),
    };
  }

  async trouble(): Promise<Trouble[]> {
    const raw = await this.call("GET", "/api/health?days=1");
    const copies = list(raw.skipped).filter((one) => text(one.reason).includes("conflict copy"));
    return [...list(raw.problems), ...copies].map((one) => ({ path: text(one.path), reason: text(one.reason) }));
  }

  async search(query: string, limit = 20): Promise<Memory[]> {
    const asked = new URLSearchParams({ q: query, limit: String(limit) });
    return memories(await this.call("GET", `/api/search?${asked.toString()}`));
  }

  /** Memories like a note as the index knows it, and the note's id. */
  async similarToNote(path: string, limit = 8): Promise<{ id: string; items: Memory[] }> {
    const asked = new URLSearchParams({ path, limit: String(limit) });
    const raw = await this.call("GET", `/api/similar?${asked.toString()}`);
    return { id: text(raw.id), items: memories(raw) };
  }

  /** Memories like a text that need not be saved anywhere. */
  async similarToText(written: string, limit = 8): Promise<Memory[]> {
    return memories(await this.call("POST", "/api/similar", { text: written, limit }));
  }

  /** Changes a memory; the answer is the path where its note lies afterwards. */
  async change(id: string, change: Change): Promise<{ name: string; path: string }> {
    const raw = await this.call("PATCH", `/api/bucket/${encodeURIComponent(id)}`, { ...change });
    return { name: text(raw.name), path: text(raw.path) };
  }

  /** Tells which note is open, so that the daemon leaves it alone for two minutes. */
  async activeFile(path: string | null): Promise<void> {
    await this.call("POST", "/api/active-file", { path });
  }

  /** An address that logs a browser in, once. */
  async loginLink(): Promise<string> {
    return text((await this.call("POST", "/api/login-link", {})).url);
  }

  private async call(method: string, path: string, body?: Json): Promise<Json> {
    const headers: Record<string, string> = { Accept: "application/json" };
    const token = this.token();
    if (token) headers.Authorization = `Bearer ${token}`;
    const request: Sent = { url: this.base() + path, method, headers };
    if (body !== undefined) {
      headers["Content-Type"] = "application/json";
      request.body = JSON.stringify(body);
    }
    let answer: Received;
    try {
      answer = await this.transport(request);
    } catch (error) {
      throw new DaemonError("offline", error instanceof Error ? error.message : String(error));
    }
    const raw = parsed(answer.text);
    if (answer.status >= 200 && answer.status < 300 && raw) return raw;
    throw new DaemonError(failing(answer.status), text(object(raw?.error).message) || `HTTP ${answer.status}`);
  }
}

function failing(status: number): Failing {
  if (status === 401 || status === 403) return "token";
  return status === 404 ? "missing" : "refused";
}

function parsed(answer: string): Json | null {
  try {
    const value: unknown = JSON.parse(answer);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : null;
  } catch {
    return null;
  }
}

function memories(raw: Json): Memory[] {
  return list(raw.items).map((one) => ({
    id: text(one.id),
    path: text(one.path),
    name: text(one.name),
    kind: text(one.kind),
    score: number(one.score),
    similarity: typeof one.similarity === "number" ? one.similarity : null,
    snippet: text(one.snippet),
  }));
}

function list(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(object) : [];
}

function object(value: unknown): Json {
  return typeof value === "object" && value !== null ? (value as Json) : {};
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function number(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
