// Memories: the list with its filters on the left, the chosen memory on the right.

import { get, url } from "../api.js";
import { facts, head, heat, mark, nothing, waiting } from "../bits.js";
import { calmly, fill, h, icon } from "../dom.js";
import { number, t } from "../i18n.js";
import { listen } from "../live.js";
import { go, pathOf } from "../main.js";
import { openMemory } from "../memory.js";
import { compose } from "../newmemory.js";
import { complain } from "../say.js";

const FILTERS = {
  all: {},
  unresolved: { state: "unresolved" },
  pinned: { state: "pinned" },
  feel: { kind: "feel" },
  resolved: { state: "resolved" },
  archived: { kind: "archived" },
};
const SORTS = ["score", "last_active", "created", "importance", "activation_count", "name"];
const PAGE = 40;

function read(query) {
  const filter = query.get("filter") ?? "all";
  return { q: query.get("q") ?? "", filter: filter in FILTERS ? filter : "all", domain: query.get("domain") ?? "", tag: query.get("tag") ?? "", sort: SORTS.includes(query.get("sort")) ? query.get("sort") : "" };
}

export default function memories(main, { rest, query }) {
  const shown = read(query);
  let items = [];
  let cursor = "";
  let chosen = rest;
  let loading = null;
  let panel = null;

  const search = h("input", { type: "search", placeholder: t("search_memories"), "aria-label": t("search_memories"), value: shown.q, spellcheck: "false" });
  const filters = h("div", { class: "chips", role: "group", "aria-label": t("filters") });
  const domain = h("select", { "aria-label": t("domain") });
  const sort = h("select", { "aria-label": t("sort") }, h("option", { value: "" }, t("sort_auto")), SORTS.map((name) => h("option", { value: name, selected: name === shown.sort }, t(`sort_${name}`))));
  const tag = h("span", { class: "tag-filter" });
  const summary = h("p", { class: "summary", role: "status" });
  const list = h("div", { class: "list", role: "list", "aria-label": t("memories") });
  const more = h("button", { class: "load-more", type: "button", hidden: true, onclick: () => load(true) }, t("load_more"));
  const add = h("button", { class: "primary small", type: "button", onclick: () => compose((id) => go(pathOf("memories", id))) }, icon("plus"), t("new_memory"));
  const side = h("section", { class: "detail", "aria-label": t("memory") });
  const left = h("section", { class: "browse" }, head(t("memories"), "", add), h("div", { class: "tools" }, h("div", { class: "search" }, icon("search"), search), filters, h("div", { class: "row" }, domain, sort, tag)), summary, list, more);
  main.append(left, side);

  const where = (id = chosen) => url(pathOf("memories", id), { q: shown.q, filter: shown.filter === "all" ? "" : shown.filter, domain: shown.domain, tag: shown.tag, sort: shown.sort });
  const again = () => { history.replaceState(null, "", where()); load(false); };

  search.addEventListener("input", calmly(180, () => { shown.q = search.value.trim(); again(); }));
  search.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "Enter") return;
    event.preventDefault();
    list.querySelector("a")?.focus();
  });
  domain.addEventListener("change", () => { shown.domain = domain.value; again(); });
  sort.addEventListener("change", () => { shown.sort = sort.value; again(); });

  async function load(next) {
    loading?.abort();
    loading = new AbortController();
    const { signal } = loading;
    if (!items.length) fill(list, waiting());
    try {
      const limit = next ? PAGE : Math.max(PAGE, Math.min(items.length, 200));
      const data = await get(url("/api/buckets", { ...FILTERS[shown.filter], q: shown.q, domain: shown.domain, tag: shown.tag, sort: shown.sort, snippet: 1, limit, cursor: next ? cursor : "" }), { signal });
      items = next ? [...items, ...data.items] : data.items;
      cursor = data.cursor;
      if (data.facets) showFacets(data.facets);
      showItems(data.total);
    } catch (error) {
      complain(error);
    }
  }

  function showFacets(facets) {
    const live = facets.kinds.dynamic + facets.kinds.permanent + facets.kinds.feel;
    const counts = { all: live, unresolved: facets.states.unresolved, pinned: facets.states.pinned, feel: facets.kinds.feel, resolved: facets.states.resolved, archived: facets.kinds.archived };
    const focused = filters.contains(document.activeElement) ? document.activeElement.dataset.filter : null;
    fill(filters, Object.keys(FILTERS).map((name) => h("button", { type: "button", class: "chip", "data-filter": name, "aria-pressed": String(name === shown.filter), onclick: () => { shown.filter = name; items = []; again(); } }, t(`filter_${name}`), h("span", { class: "count" }, number(counts[name])))));
    if (focused) filters.querySelector(`[data-filter=${focused}]`)?.focus();
    if (document.activeElement !== domain) {
      fill(domain, h("option", { value: "" }, t("all_domains")), facets.domains.map(({ name, count }) => h("option", { value: name, selected: name === shown.domain }, `${name} (${count})`)));
    }
    fill(tag, shown.tag ? h("button", { type: "button", class: "chip", "aria-label": t("without_tag", { tag: shown.tag }), onclick: () => { shown.tag = ""; again(); } }, `#${shown.tag}`, icon("close")) : null);
  }

  function showItems(total) {
    const focused = list.contains(document.activeElement) ? document.activeElement.dataset.id : null;
    fill(summary, total ? t("memories_count", { count: number(total) }) : "");
    fill(list, items.map(entry));
    if (focused) list.querySelector(`[data-id="${focused}"]`)?.focus();
    more.hidden = !cursor;
    if (!items.length) fill(list, empty());
    markChosen();
  }

  function empty() {
    const narrowed = shown.q || shown.domain || shown.tag || shown.filter !== "all";
    if (!narrowed) return nothing("memories", t("empty_memories"), t("empty_memories_next"), h("button", { class: "primary", type: "button", onclick: () => add.click() }, t("new_memory")), h("a", { class: "button", href: pathOf("import") }, t("import_history")));
    return nothing("search", t("empty_search"), t("empty_search_next"), h("button", { type: "button", onclick: clear }, t("clear_filters")));
  }

  function clear() {
    Object.assign(shown, { q: "", filter: "all", domain: "", tag: "" });
    search.value = "";
    again();
  }

  function entry(memory) {
    return h("div", { role: "listitem" }, h("a", { class: "entry", href: where(memory.id), "data-id": memory.id },
      mark(memory),
      h("span", { class: "entry-text" }, h("span", { class: "entry-name" }, memory.name || t("untitled")), memory.snippet ? h("span", { class: "snippet" }, memory.snippet) : null, facts(memory)),
      heat(memory.score)));
  }

  function markChosen() {
    for (const one of list.querySelectorAll("a.entry")) {
      if (one.dataset.id === chosen) one.setAttribute("aria-current", "true");
      else one.removeAttribute("aria-current");
    }
  }

  function choose(id) {
    chosen = id;
    main.classList.toggle("has-detail", Boolean(id));
    markChosen();
    panel?.leave();
    panel = null;
    if (!id) {
      fill(side, nothing("memories", t("choose_memory"), t("choose_memory_next")));
      return;
    }
    panel = openMemory(side, id, { back: () => { chosen = ""; go(where()); choose(""); }, gone: () => { go(pathOf("memories")); load(false); }, changed: () => load(false) });
  }

  const reload = calmly(150, () => load(false));
  const ends = [listen("change", reload), listen("decay", reload), listen("reset", reload)];
  choose(rest);
  load(false);

  return {
    move(to, search_) {
      const wanted = read(search_);
      // the list stays as it is while a person opens one memory after the other
      const narrowed = !to && Object.keys(wanted).some((key) => wanted[key] !== shown[key]);
      if (to !== chosen) choose(to);
      if (narrowed) {
        Object.assign(shown, wanted);
        search.value = shown.q;
        load(false);
      }
      return true;
    },
    key(event) {
      const links = [...list.querySelectorAll("a.entry")];
      const at = links.findIndex((one) => one === document.activeElement || (document.activeElement === document.body && one.dataset.id === chosen));
      if (event.key === "ArrowDown" || event.key === "j") { event.preventDefault(); links[Math.min(at + 1, links.length - 1)]?.focus(); }
      else if (event.key === "ArrowUp" || event.key === "k") { event.preventDefault(); (at <= 0 ? search : links[at - 1])?.focus(); }
      else if (event.key === "Escape" && chosen) { choose(""); history.pushState(null, "", where()); }
      else panel?.key(event);
    },
    leave() {
      loading?.abort();
      panel?.leave();
      for (const end of ends) end();
    },
  };
}
