import { expect, test } from "vitest";
import { DaemonClient, DaemonError } from "../src/client";
import { FakeDaemon, memory } from "./daemon";

function client(daemon: FakeDaemon, token = "secret"): DaemonClient {
  return new DaemonClient(() => "http://127.0.0.1:8000", () => token, daemon.transport);
}

async function failure(asked: Promise<unknown>): Promise<DaemonError> {
  const error: unknown = await asked.then(() => null, (reason: unknown) => reason);
  if (!(error instanceof DaemonError)) throw new Error(`no DaemonError: ${String(error)}`);
  return error;
}

test("the token is sent as a bearer token, and none where there is none", async () => {
  const daemon = new FakeDaemon().answer("GET /health", { version: "1" });

  await client(daemon).health();
  await client(daemon, "").health();

  expect(daemon.asked.map((one) => one.headers.Authorization)).toEqual(["Bearer secret", undefined]);
});

test("a query is escaped whole", async () => {
  const daemon = new FakeDaemon().answer("GET /api/search", { items: [] });

  await client(daemon).search("实习 & tea? #1");

  expect(new URL(daemon.asked[0]?.url ?? "").searchParams.get("q")).toBe("实习 & tea? #1");
});

test("a hit without similarity is a hit by words", async () => {
  const daemon = new FakeDaemon().answer("GET /api/search", { items: [memory("tea", { similarity: null, snippet: "green" })] });

  const [hit] = await client(daemon).search("tea");

  expect(hit).toMatchObject({ name: "tea", similarity: null, snippet: "green" });
});

test.each([
  [401, "token"],
  [403, "token"],
  [404, "missing"],
  [409, "refused"],
  [500, "refused"],
] as const)("status %i is a failure of kind %s, in the daemon's words", async (status, kind) => {
  const daemon = new FakeDaemon().answer("PATCH /api/bucket/0123456789ab", { error: { message: "it says why" } }, status);

  const error = await failure(client(daemon).change("0123456789ab", { pinned: true }));

  expect([error.failing, error.message]).toEqual([kind, "it says why"]);
});

test("nobody at the port is offline", async () => {
  const daemon = new FakeDaemon();
  daemon.running = false;

  expect((await failure(client(daemon).status())).failing).toBe("offline");
});

test("a stranger at the port that answers no JSON is refused", async () => {
  const stranger = new DaemonClient(() => "http://127.0.0.1:8000", () => "", () => Promise.resolve({ status: 200, text: "<html>" }));

  expect((await failure(stranger.status())).failing).toBe("refused");
});

test("unreadable notes and conflict copies are trouble, evicted files are not", async () => {
  const daemon = new FakeDaemon().answer("GET /api/health", {
    problems: [{ path: "a.md", reason: "conflict markers" }],
    skipped: [
      { path: "b (conflicted copy).md", reason: "a sync tool's conflict copy of b.md" },
      { path: "c.md", reason: "kept in the cloud" },
    ],
  });

  expect((await client(daemon).trouble()).map((one) => one.path)).toEqual(["a.md", "b (conflicted copy).md"]);
});
