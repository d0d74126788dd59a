/** A daemon in memory: answers by route, and remembers what it was asked. */

import type { Received, Sent } from "../src/client";

export class FakeDaemon {
  readonly asked: Sent[] = [];
  private readonly answers = new Map<string, { status: number; data: unknown }>();
  running = true;

  answer(route: string, data: unknown, status = 200): this {
    this.answers.set(route, { status, data });
    return this;
  }

  readonly transport = (request: Sent): Promise<Received> => {
    this.asked.push(request);
    if (!this.running) return Promise.reject(new Error("net::ERR_CONNECTION_REFUSED"));
    const { pathname } = new URL(request.url);
    const found = this.answers.get(`${request.method} ${pathname}`);
    if (!found) return Promise.resolve({ status: 404, text: '{"error":{"message":"not found"}}' });
    return Promise.resolve({ status: found.status, text: JSON.stringify(found.data) });
  };

  bodies(route: string): unknown[] {
    return this.asked
      .filter((one) => `${one.method} ${new URL(one.url).pathname}` === route)
      .map((one) => (one.body === undefined ? null : (JSON.parse(one.body) as unknown)));
  }
}

export const STATUS = {
  ready: true,
  vault: "/vault",
  vault_available: true,
  notes: 12,
  total: 12,
  waiting: 0,
  pending: 0,
  problems: 0,
  held_deletions: 0,
};

export function memory(name: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { id: "0123456789ab", path: `dynamic/${name}.md`, name, kind: "dynamic", score: 1, ...more };
}
