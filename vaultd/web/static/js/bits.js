// Small pieces that several pages show: a memory in a list, marks, bars, empty pages.

import { h, icon, s } from "./dom.js";
import { ago, number, t } from "./i18n.js";

const LOWEST = 0.3; // decay score at which a memory is archived
const HIGHEST = 14;

/** How alive, 0…1, on a scale on which halves look alike. */
export function alive(score) {
  if (score >= 900) return 1;
  return Math.min(1, Math.max(0.02, Math.log(Math.max(score, LOWEST) / LOWEST) / Math.log(HIGHEST / LOWEST)));
}

/** The kind that a memory is shown as. */
const kindOf = (memory) => (memory.kind === "dynamic" && (memory.pinned || memory.protected) ? "permanent" : memory.kind);

/** The mark of a kind: a shape of its own, so that nobody has to tell colours apart. */
export function mark(memory) {
  const kind = kindOf(memory);
  const shapes = {
    permanent: ["path", { d: "M8 1.5 14.5 8 8 14.5 1.5 8z" }],
    feel: ["path", { d: "M8 14C3 10.5 1.5 8 1.5 5.7A3.2 3.2 0 0 1 8 4.4a3.2 3.2 0 0 1 6.500 1.300C14.500 8 13 10.500 8 14z" }],
    archived: ["path", { d: "M2 3h12v3H2zM3 7.500h10V13.500H3z" }],
    own: ["path", { d: "M3.500 1.500h6l3 3v10h-9z" }],
  };
  const [tag, props] = shapes[kind] ?? ["circle", { cx: 8, cy: 8, r: memory.resolved ? 5 : 5.5 }];
  const svg = s("svg", { viewBox: "0 0 16 16", class: `mark ${kind}${memory.resolved ? " resolved" : ""}`, role: "img", "aria-label": t(`kind_${kind}`) }, s("title", {}, t(`kind_${kind}`)), s(tag, props));
  return svg;
}

/** A bar of how alive a memory is. */
export function heat(score) {
  const words = score >= 900 ? t("never_fades") : t("score_is", { score: number(score, 2) });
  return h("span", { class: "heat", title: words, role: "img", "aria-label": words }, h("span", { style: { width: `${alive(score) * 100}%` } }));
}

/** Importance as words that a screen reader can say. */
export const importance = (value) => h("span", { class: "importance", title: t("importance_is", { value }) }, t("importance_short", { value }));

/** The small line under a memory's name. */
export function facts(memory) {
  const parts = [];
  if (memory.domain?.length) parts.push(h("span", { class: "domain" }, memory.domain.join(" · ")));
  parts.push(h("time", { datetime: memory.last_active, title: memory.last_active }, ago(memory.last_active)));
  parts.push(importance(memory.importance));
  if (memory.resolved) parts.push(h("span", { class: "flag" }, icon("check"), t("resolved")));
  if (memory.digested) parts.push(h("span", { class: "flag" }, t("digested")));
  if (memory.pinned || memory.protected) parts.push(h("span", { class: "flag" }, icon("pin"), t(memory.pinned ? "pinned" : "protected")));
  if (memory.problem) parts.push(h("span", { class: "flag bad" }, t("problem")));
  return h("span", { class: "facts" }, parts);
}

/** A place where nothing is, which tells what to do next. */
export function nothing(name, title, text, ...more) {
  return h("div", { class: "nothing" }, icon(name), h("p", { class: "lead" }, title), text ? h("p", {}, text) : null, ...more);
}

/** The parts of a sentence in which `this` is code. */
export const coded = (text) => text.split("`").map((part, i) => (i % 2 ? h("code", {}, part) : part));

/** The head of a page. */
export const head = (title, about, ...more) =>
  h("header", { class: "head" }, h("div", {}, h("h1", {}, title), about ? h("p", { class: "about" }, about) : null), more.length ? h("div", { class: "head-actions" }, ...more) : null);

/** Three grey lines while something is on its way. */
export const waiting = () => h("div", { class: "waiting", "aria-hidden": "true" }, h("span", {}), h("span", {}), h("span", {}));

/** A labelled field. */
export function field(label, control, { hint, class: kind = "" } = {}) {
  const id = control.id || `f${Math.random().toString(36).slice(2, 9)}`;
  control.id = id;
  return h("div", { class: `field ${kind}` }, h("label", { for: id }, label), control, hint ? h("p", { class: "hint" }, hint) : null);
}

/** A link that opens a note in Obsidian. */
export function obsidian(vault, path) {
  return `obsidian://open?path=${encodeURIComponent(`${vault}/${path}`)}`;
}
