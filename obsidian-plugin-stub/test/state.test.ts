import { expect, test } from "vitest";
import { DaemonError, type Status } from "../src/client";
import { label, stateOf, stateOfFailure, tooltip } from "../src/state";
import { textsFor } from "../src/texts";

const english = textsFor("en");
const calm: Status = {
  ready: true,
  vaultAvailable: true,
  vault: "/vault",
  notes: 12,
  total: 12,
  waiting: 0,
  pending: 0,
  problems: 0,
  heldDeletions: 0,
};

test("all read is ok", () => {
  expect(label(stateOf(calm, []), english)).toBe("Memory ok");
});

test("notes that wait are being indexed, n of m", () => {
  expect(label(stateOf({ ...calm, ready: false, notes: 30, total: 100, waiting: 70 }, []), english)).toBe("Indexing 30 of 100");
});

test("texts that wait for embeddings are being indexed too", () => {
  expect(label(stateOf({ ...calm, pending: 3 }, []), english)).toBe("Indexing 9 of 12");
});

test("conflicts win over indexing and name the first", () => {
  const state = stateOf({ ...calm, pending: 3, problems: 1 }, [{ path: "a.md", reason: "conflict markers" }]);

  expect(label(state, english)).toBe("1 note needs you");
  expect(tooltip(state, english)).toBe("a.md: conflict markers");
});

test("a vault that is gone is offline", () => {
  expect(tooltip(stateOf({ ...calm, vaultAvailable: false }, []), english)).toBe("The daemon cannot reach its vault.");
});

test("a wrong token and an absent daemon read differently", () => {
  const wrong = stateOfFailure(new DaemonError("token", "no"));
  const absent = stateOfFailure(new DaemonError("offline", "no"));

  expect([wrong.kind, absent.kind]).toEqual(["offline", "offline"]);
  expect(tooltip(wrong, english)).not.toBe(tooltip(absent, english));
});

test("Chinese says something of its own for every text", () => {
  const chinese = textsFor("zh-TW");

  for (const key of Object.keys(english) as (keyof typeof english)[]) expect(chinese[key]).not.toBe(english[key]);
});
