// One memory: its text, what is known of it, what is like it, what it was; and changing it without losing anything.

import { get, patch, post, remove } from "./api.js";
import { heat, mark, nothing, obsidian, waiting } from "./bits.js";
import { fill, h, icon, s } from "./dom.js";
import { edit } from "./editor.js";
import { ago, has, moment, number, t } from "./i18n.js";
import { listen } from "./live.js";
import { pathOf, status } from "./main.js";
import { note } from "./markdown.js";
import { ask, complain, say, trying } from "./say.js";

const address = (id) => `/api/bucket/${encodeURIComponent(id)}`;

/** Show a memory in `side`. `back`, `gone`, `changed` are called when a person goes back, deletes, changes. */
export function openMemory(side, id, { back, gone, changed = () => {}, compact = false }) {
  let memory = null;
  let editor = null;
  let left = false;

  fill(side, waiting());

  async function load() {
    try {
      const fresh = await get(address(id));
      if (left) return;
      const before = memory;
      memory = fresh;
      if (editor) {
        if (before && before.etag !== fresh.etag) editor.changedOutside(fresh);
        return;
      }
      show();
    } catch (error) {
      if (left) return;
      if (error.code === "no_such_memory") showGone();
      else complain(error);
    }
  }

  function showGone() {
    if (left || editor) return;
    memory = null;
    fill(side, bar(), nothing("memories", t("memory_gone"), t("memory_gone_next")));
  }

  function bar(...more) {
    return h("div", { class: "detail-bar" }, h("button", { class: "plain back", type: "button", "aria-label": t("back"), onclick: back }, icon("back"), h("span", {}, t("back"))), ...more);
  }

  function show() {
    const own = memory.kind === "own";
    const open = h("a", { class: "button plain", href: obsidian(status.vault ?? "", memory.path), title: t("open_obsidian") }, icon("open"), h("span", {}, t("open_obsidian")));
    const title = h("h2", {}, memory.name || t("untitled"));
    const text = memory.text.trim() ? note(memory.text) : h("p", { class: "hint" }, t("no_text"));
    fill(side, bar(own ? null : actions(), open),
      h("article", {},
        h("header", { class: "memory-head" }, mark(memory), title),
        memory.problem ? h("p", { class: "notice bad" }, t("note_problem", { where: memory.problem_line ? t("line", { line: memory.problem_line }) : "", reason: memory.problem })) : null,
        tags(), text, own ? null : knowledge(), compact ? null : similar(), compact || own ? null : history()));
  }

  function tags() {
    if (!memory.domain.length && !memory.tags.length) return null;
    return h("p", { class: "tags" }, memory.domain.map((name) => h("a", { class: "chip", href: `${pathOf("memories")}?domain=${encodeURIComponent(name)}` }, name)), memory.tags.map((name) => h("a", { class: "chip tag", href: `${pathOf("memories")}?tag=${encodeURIComponent(name)}` }, `#${name}`)));
  }

  function actions() {
    const button = (name, label, run, pressed) => h("button", { type: "button", class: "plain", title: label, "aria-label": label, "aria-pressed": pressed === undefined ? undefined : String(pressed), onclick: run, "data-action": name }, icon(name));
    const archived = memory.kind === "archived";
    return h("div", { class: "actions-row", role: "group", "aria-label": t("actions") },
      button("edit", t("edit"), startEditing),
      archived ? null : button("check", t(memory.resolved ? "unresolve" : "resolve"), () => change({ resolved: !memory.resolved }, memory.resolved ? "said_unresolved" : "said_resolved"), memory.resolved),
      archived ? null : button("pin", t(memory.pinned ? "unpin" : "pin"), () => change({ pinned: !memory.pinned }, memory.pinned ? "said_unpinned" : "said_pinned"), memory.pinned),
      archived ? button("restore", t("restore"), () => change({ restore: true }, "said_restored")) : memory.pinned || memory.protected || memory.kind !== "dynamic" ? null : button("archive", t("archive"), () => change({ archived: true }, "said_archived")),
      button("trash", t("delete"), drop));
  }

  async function change(what, said) {
    await trying(async () => {
      const fresh = await patch(address(id), what);
      memory = { ...memory, ...fresh };
      show();
      changed();
      say(t(said, { name: memory.name }), { action: fresh.undo ? { label: t("undo"), run: () => undo(fresh.undo) } : undefined });
    });
  }

  const undo = (entry) => trying(async () => {
    await post("/api/undo", { entry });
    say(t("said_undone"));
    changed();
    if (!left) await load();
  });

  async function drop() {
    const sure = await ask({ title: t("delete_title", { name: memory.name || t("untitled") }), content: h("p", {}, t("delete_text")), buttons: [{ label: t("cancel") }, { label: t("delete"), kind: "danger", value: true }] });
    if (!sure) return;
    await trying(async () => {
      const done = await remove(address(id));
      say(t("said_deleted", { name: done.name }), { action: done.undo ? { label: t("undo"), run: () => undo(done.undo) } : undefined });
      gone();
    });
  }

  function startEditing() {
    editor = edit(side, memory, {
      close: () => { editor = null; load(); },
      saved: (fresh) => {
        editor = null;
        memory = { ...memory, ...fresh };
        show();
        changed();
        say(t("said_saved"), { action: fresh.undo ? { label: t("undo"), run: () => undo(fresh.undo) } : undefined });
        load();
      },
    });
  }

  function knowledge() {
    const rows = [
      [t("kind"), t(`kind_${memory.kind}`)],
      [t("importance"), `${memory.importance} / 10`],
      [t("alive"), h("span", { class: "with-bar" }, heat(memory.score), memory.score >= 900 ? t("never_fades") : number(memory.score, 2))],
      [t("recalls"), number(memory.activation_count, memory.activation_count % 1 ? 1 : 0)],
      [t("created"), h("time", { datetime: memory.created, title: memory.created }, moment(memory.created))],
      [t("last_active"), h("time", { datetime: memory.last_active, title: memory.last_active }, `${moment(memory.last_active)} · ${ago(memory.last_active)}`)],
      memory.source ? [t("source"), memory.source] : null,
      [t("file"), h("code", {}, memory.path)],
    ].filter(Boolean);
    return h("section", { class: "known" }, h("h3", {}, t("about_memory")), h("div", { class: "known-grid" }, h("dl", {}, rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))), circumplex()));
  }

  /** Where the memory lies between unpleasant and pleasant, calm and excited. */
  function circumplex() {
    const x = 10 + memory.valence * 100;
    const y = 110 - memory.arousal * 100;
    const words = t("emotion_is", { valence: number(memory.valence, 2), arousal: number(memory.arousal, 2) });
    const dots = [s("circle", { cx: x, cy: y, r: 5, class: "here" })];
    if (memory.model_valence !== null) dots.unshift(s("circle", { cx: 10 + memory.model_valence * 100, cy: y, r: 4, class: "model" }));
    return h("figure", { class: "circumplex" }, s("svg", { viewBox: "0 0 120 120", role: "img", "aria-label": words },
      s("rect", { x: 10, y: 10, width: 100, height: 100, rx: 8 }), s("line", { x1: 60, y1: 10, x2: 60, y2: 110 }), s("line", { x1: 10, y1: 60, x2: 110, y2: 60 }), dots),
    h("figcaption", {}, words));
  }

  function similar() {
    if (!memory.similar?.length) return null;
    return h("section", { class: "similar" }, h("h3", {}, t("similar")), h("ul", {}, memory.similar.map((one) => h("li", {}, h("a", { href: pathOf("memories", one.id) }, mark(one), h("span", {}, one.name || t("untitled")), h("span", { class: "similarity" }, number(one.similarity, 2)))))));
  }

  function history() {
    if (!memory.history?.length) return null;
    const items = memory.history.map((version) => h("li", {}, h("button", { type: "button", class: "link", onclick: () => compare(version) }, moment(version.at))));
    return h("details", { class: "history" }, h("summary", {}, t("history_count", { count: memory.history.length })), h("ul", {}, items));
  }

  async function compare(version) {
    await trying(async () => {
      const { diff } = await get(`${address(id)}/history/${encodeURIComponent(version.id)}`);
      const lines = diff.split("\n").filter((line) => !/^(---|\+\+\+|@@)/.test(line));
      const shown = h("pre", { class: "diff", tabindex: "0" }, lines.map((line) => h("span", { class: line.startsWith("+") ? "added" : line.startsWith("-") ? "taken" : "" }, `${line}\n`)));
      const back = await ask({ title: t("version_of", { when: moment(version.at) }), content: [h("p", { class: "hint" }, t("version_hint")), diff ? shown : h("p", {}, t("no_difference"))], wide: true, buttons: [{ label: t("close") }, { label: t("revert"), kind: "primary", value: true }] });
      if (!back) return;
      const fresh = await post(`${address(id)}/history/${encodeURIComponent(version.id)}/revert`);
      say(t("said_reverted"), { action: fresh.undo ? { label: t("undo"), run: () => undo(fresh.undo) } : undefined });
      changed();
      await load();
    });
  }

  const ends = [
    listen("change", ({ ids, removed, more }) => {
      if (removed.includes(id) && !ids.includes(id)) showGone();
      else if (more || ids.includes(id)) load();
    }),
    listen("reset", load),
  ];
  load();

  return {
    key(event) {
      if (!memory || editor || memory.kind === "own") return;
      if (event.key === "e") { event.preventDefault(); startEditing(); }
      else if (event.key === "r" && memory.kind !== "archived") change({ resolved: !memory.resolved }, memory.resolved ? "said_unresolved" : "said_resolved");
      else if (event.key === "p" && memory.kind !== "archived") change({ pinned: !memory.pinned }, memory.pinned ? "said_unpinned" : "said_pinned");
    },
    leave() {
      left = true;
      editor?.keepDraft?.();
      for (const end of ends) end();
    },
  };
}

/** The words for an outcome of keeping a memory. */
export const outcome = (kept) => (has(`kept_${kept.outcome}`) ? t(`kept_${kept.outcome}`, kept) : t("kept_new", kept));
