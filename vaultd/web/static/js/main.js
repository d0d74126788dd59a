// The frame around every page: navigation, routes, keys, and what is the same everywhere.

import { fill, h, icon } from "./dom.js";
import { language, ready, switchLanguage, t } from "./i18n.js";
import { connect, listen } from "./live.js";
import { get } from "./api.js";
import { ask, complain } from "./say.js";

const PAGES = {
  memories: () => import("./pages/memories.js"),
  breath: () => import("./pages/breath.js"),
  network: () => import("./pages/network.js"),
  cards: () => import("./pages/cards.js"),
  chat: () => import("./pages/chat.js"),
  import: () => import("./pages/import.js"),
  settings: () => import("./pages/settings.js"),
  health: () => import("./pages/health.js"),
};
const KEYS = { m: "memories", b: "breath", n: "network", c: "cards", t: "chat", i: "import", s: "settings", h: "health" };
const FIRST = ["memories", "breath", "network", "chat"];

const main = h("main", { id: "page", tabindex: "-1" });
let leave = () => {};
let current = "";
let serial = 0;
/** What the daemon says of itself; filled at the start. */
export const status = {};

/** Which page a path shows, and the rest of the path. */
function routeOf(path) {
  if (path === "/chat") return ["chat", ""];
  if (path === "/memory" || path.startsWith("/memory/")) return ["cards", path.slice("/memory/".length)];
  const [, , page = "memories", ...rest] = path.split("/");
  return [page in PAGES ? page : "memories", rest.map(decodeURIComponent).join("/")];
}

/** Where a page lies. */
export const pathOf = (page, rest = "") => `/dashboard/${page}${rest ? `/${encodeURIComponent(rest)}` : ""}`;

/** Go to a path of ours. */
export function go(path, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", path);
  return show();
}

async function show() {
  const [page, rest] = routeOf(location.pathname);
  const query = new URLSearchParams(location.search);
  const mine = ++serial;
  if (page === current && main.page?.move?.(rest, query)) return;
  leave();
  leave = () => {};
  const module = await PAGES[page]();
  if (mine !== serial) return;
  current = page;
  document.title = `${t(page)} · vaultd`;
  for (const link of document.querySelectorAll("nav a[data-page]")) {
    if (link.dataset.page === page) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.querySelector(".sidebar .more").classList.toggle("here", !FIRST.includes(page));
  fill(main);
  main.className = `page page-${page}`;
  main.scrollTop = 0;
  try {
    const shown = module.default(main, { rest, query });
    main.page = shown;
    leave = () => shown?.leave?.();
  } catch (error) {
    complain(error);
  }
}

function link(page) {
  return h("a", { href: pathOf(page), "data-page": page, title: t(page) }, icon(page), h("span", {}, t(page)));
}

function sidebar() {
  const brand = h("a", { class: "brand", href: pathOf("memories") }, h("img", { src: "/static/icon.svg", alt: "", width: "26", height: "26" }), h("span", {}, "vaultd"));
  const links = Object.keys(PAGES).map(link);
  const more = h("button", { class: "more", type: "button", "aria-expanded": "false", onclick: toggleMore }, icon("more"), h("span", {}, t("more")));
  const nav = h("nav", { class: "sidebar", "aria-label": t("pages") },
    brand,
    h("div", { class: "links" }, links.slice(0, 8)),
    more,
    h("div", { class: "foot" }, state(), h("div", { class: "switches" }, themeButton(), languageButton(), helpButton())));
  for (const one of links) if (!FIRST.includes(one.dataset.page)) one.classList.add("second");
  return nav;
}

function toggleMore(event) {
  const nav = document.querySelector(".sidebar");
  const open = nav.classList.toggle("opened");
  event.currentTarget.setAttribute("aria-expanded", String(open));
}

function state() {
  const dot = h("span", { class: "dot" });
  const text = h("span", { role: "status" }, t("connecting"));
  const element = h("a", { class: "state", href: pathOf("health") }, dot, text);
  const set = (kind, words) => { element.dataset.kind = kind; fill(text, words); };
  const look = async () => {
    try {
      Object.assign(status, await get("/api/status"));
      if (!status.vault_available) set("bad", t("vault_gone"));
      else if (!status.ready) set("busy", t("indexing", { done: status.notes, total: Math.max(status.total, status.notes) }));
      else set(status.problems ? "warn" : "ok", t("notes_count", { count: status.notes }));
      if (!status.ready) setTimeout(look, 1500);
    } catch { set("bad", t("offline")); }
  };
  listen("state", (there) => (there ? look() : set("bad", t("offline"))));
  listen("change", look);
  listen("progress", ({ done, total }) => set("busy", t("indexing", { done, total })));
  return element;
}

function themeButton() {
  const dark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const button = h("button", { class: "plain", type: "button", title: t("theme"), "aria-label": t("theme") }, icon(dark() ? "sun" : "moon"));
  button.addEventListener("click", () => {
    const next = dark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem("vaultd.theme", next);
    fill(button, icon(next === "dark" ? "sun" : "moon"));
    dispatchEvent(new Event("themechange"));
  });
  return button;
}

function languageButton() {
  return h("button", { class: "plain", type: "button", lang: language === "zh" ? "en" : "zh", onclick: switchLanguage }, t("language"));
}

function helpButton() {
  return h("button", { class: "plain wide-only", type: "button", title: `${t("keys")} (?)`, "aria-label": t("keys"), onclick: help }, icon("keyboard"));
}

function help() {
  const rows = [["/", t("key_search")], ["↑ ↓", t("key_arrows")], ["Enter", t("key_enter")], ["e", t("key_edit")], ["r", t("key_resolve")],
    ["p", t("key_pin")], ["Esc", t("key_escape")], ["?", t("key_help")], ...Object.entries(KEYS).map(([key, page]) => [`g ${key}`, t(page)])];
  const list = h("dl", { class: "keys" }, rows.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)]));
  return ask({ title: t("keys"), content: list, buttons: [{ label: t("close"), kind: "primary" }] });
}

const typing = (element) => element?.matches?.("input, textarea, select, [contenteditable]");

let leader = 0;
function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape" && typing(document.activeElement)) { document.activeElement.blur(); return; }
  if (typing(event.target)) return;
  const afterG = Date.now() - leader < 1200;
  leader = 0;
  if (afterG && event.key in KEYS) { event.preventDefault(); go(pathOf(KEYS[event.key])); return; }
  if (event.key === "g") { leader = Date.now(); return; }
  if (event.key === "?") { event.preventDefault(); help(); return; }
  if (event.key === "/") {
    event.preventDefault();
    const field = main.querySelector("input[type=search]");
    if (field) field.focus();
    else go(pathOf("memories")).then(() => main.querySelector("input[type=search]")?.focus());
    return;
  }
  main.page?.key?.(event);
}

function onClick(event) {
  const anchor = event.target.closest?.("a[href]");
  if (!anchor || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (anchor.target || anchor.origin !== location.origin) return;
  if (!/^\/(dashboard|memory|chat)(\/|$)/.test(anchor.pathname)) return;
  event.preventDefault();
  const nav = document.querySelector(".sidebar");
  nav.classList.remove("opened");
  nav.querySelector(".more").setAttribute("aria-expanded", "false");
  go(anchor.pathname + anchor.search);
}

async function begin() {
  await ready();
  const app = document.getElementById("app");
  const skip = h("a", { class: "skip", href: "#page", onclick: (event) => { event.preventDefault(); main.focus(); } }, t("skip"));
  fill(app, skip, sidebar(), main);
  document.addEventListener("click", onClick);
  document.addEventListener("keydown", onKey);
  addEventListener("popstate", show);
  connect();
  await show();
}

begin().catch(complain);
