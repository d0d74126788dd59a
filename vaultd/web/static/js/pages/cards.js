// Cards: a list with filters, writing and editing one, its older versions.

import { get, patch, post, remove, url } from "../api.js";
import { field, head, nothing, obsidian, waiting } from "../bits.js";
import { calmly, fill, h, icon } from "../dom.js";
import { ago, moment, number, t } from "../i18n.js";
import { listen } from "../live.js";
import { go, status } from "../main.js";
import { note } from "../markdown.js";
import { ask, complain, say, trying } from "../say.js";

const TYPES = ["milestone", "commitment", "turning_point", "deep_talk", "interaction_moment", "preference", "real_world", "lesson"];
const SORTS = { "-created_at": "sort_created", "-updated_at": "sort_updated", "-last_used_at": "sort_used", "-use_count": "sort_uses", "-importance": "sort_importance", topic: "sort_name" };
const address = (id) => `/api/cards/${encodeURIComponent(id)}`;

export default function cards(main, { rest, query }) {
  if (rest === "new") return write(main, null);
  if (rest === "edit" && query.get("id")) return editing(main, query.get("id"));
  return list(main, query);
}

function list(main, query) {
  const shown = { q: query.get("q") ?? "", type: query.get("type") ?? "", sort: query.get("sort") ?? "-created_at" };
  let items = [];
  let cursor = null;
  let loading = null;
  const search = h("input", { type: "search", value: shown.q, placeholder: t("search_cards"), "aria-label": t("search_cards") });
  const sort = h("select", { "aria-label": t("sort") }, Object.entries(SORTS).map(([value, words]) => h("option", { value, selected: value === shown.sort }, t(words))));
  const types = h("div", { class: "chips", role: "group", "aria-label": t("type") });
  const summary = h("p", { class: "summary-line", role: "status" });
  const grid = h("div", { class: "card-list" }, waiting());
  const more = h("button", { class: "load-more", type: "button", hidden: true, onclick: () => load(true) }, t("load_more"));
  main.append(head(t("cards"), t("cards_about"), h("a", { class: "button", href: "/memory/new" }, icon("plus"), t("new_card"))),
    h("div", { class: "card-tools" }, h("div", { class: "search" }, icon("search"), search), sort, types), summary, grid, more);

  async function load(next) {
    loading?.abort();
    loading = new AbortController();
    try {
      const data = await get(url("/api/cards", { ...shown, limit: 60, cursor: next ? cursor : "" }), { signal: loading.signal });
      items = next ? [...items, ...data.cards] : data.cards;
      cursor = data.next_cursor;
      show(data.summary);
    } catch (error) {
      if (error.status === 404) fill(grid, nothing("cards", t("cards_missing"), t("cards_missing_next")));
      else complain(error);
    }
  }

  function show(sums) {
    const focused = types.contains(document.activeElement) ? document.activeElement.dataset.type : null;
    fill(types, ["", ...TYPES].filter((type) => !type || type === shown.type || shown.type || sums.by_type[type]).map((type) => h("button", { type: "button", class: "chip", "data-type": type || "all", "aria-pressed": String(type === shown.type), onclick: () => { shown.type = type; again(); } }, type ? t(`type_${type}`) : t("all_types"), type && !shown.type ? h("span", { class: "count" }, number(sums.by_type[type] ?? 0)) : null)));
    if (focused) types.querySelector(`[data-type=${focused}]`)?.focus();
    fill(summary, sums.total ? `${t("cards_count", { count: number(sums.total) })} · ${t("uses", { count: number(sums.uses) })}` : "");
    more.hidden = !cursor;
    if (!items.length) {
      fill(grid, shown.q || shown.type ? nothing("search", t("empty_search"), t("empty_search_next")) : nothing("cards", t("cards_empty"), t("cards_empty_next"), h("a", { class: "button", href: "/memory/new" }, t("new_card"))));
      return;
    }
    fill(grid, items.map(tile));
  }

  const tile = (card) => h("a", { class: "card tile", href: url("/memory/edit", { id: card.id }) },
    h("span", { class: "tile-type" }, t(`type_${card.type}`), h("span", { class: "importance" }, t("importance_short", { value: card.importance }))),
    h("strong", {}, card.topic.join(" · ") || card.id), h("span", { class: "snippet" }, card.excerpt),
    h("span", { class: "facts" }, h("time", { datetime: card.created_at }, ago(card.created_at)), h("span", {}, t("uses", { count: card.use_count })), card.ai_scope ? h("span", { class: "flag" }, card.ai_scope) : null));

  const again = () => { history.replaceState(null, "", url("/dashboard/cards", { ...shown, sort: shown.sort === "-created_at" ? "" : shown.sort })); load(false); };
  search.addEventListener("input", calmly(180, () => { shown.q = search.value.trim(); again(); }));
  sort.addEventListener("change", () => { shown.sort = sort.value; again(); });
  const ends = [listen("change", calmly(200, () => load(false)))];
  load(false);
  return { move: () => false, leave() { loading?.abort(); for (const end of ends) end(); } };
}

function editing(main, id) {
  fill(main, waiting());
  get(address(id)).then((card) => { main.replaceChildren(); write(main, card); }).catch((error) => {
    fill(main, nothing("cards", t("memory_gone"), t("memory_gone_next"), h("a", { class: "button", href: "/dashboard/cards" }, t("back"))));
    if (error.status !== 404) complain(error);
  });
  return { move: () => false };
}

function write(main, card) {
  const topic = h("input", { value: card?.topic.join(", ") ?? "", autocomplete: "off", required: true });
  const type = h("select", {}, TYPES.map((name) => h("option", { value: name, selected: name === card?.type }, t(`type_${name}`))));
  const content = h("textarea", { rows: "9", required: true, value: card?.content ?? "" });
  const tags = h("input", { value: card?.tags.join(", ") ?? "", autocomplete: "off" });
  const importance = h("input", { type: "number", min: "1", max: "10", value: card?.importance ?? 5 });
  const scope = h("input", { value: card?.ai_scope ?? "", autocomplete: "off" });
  const progress = h("p", { class: "writing", role: "status" });
  const save = h("button", { class: "primary", type: "submit" }, t("save"));
  const preview = h("section", { class: "card" });
  let etag = card?.etag ?? "";
  const form = h("form", { class: "card-form", onsubmit: (event) => { event.preventDefault(); store(); } },
    field(t("topic"), topic, { hint: t("list_hint") }), h("div", { class: "two" }, field(t("type"), type), field(t("importance"), importance)),
    field(t("text"), content), h("div", { class: "two" }, field(t("tags"), tags, { hint: t("list_hint") }), field(t("scope"), scope)), progress,
    h("div", { class: "actions" }, card ? h("button", { type: "button", onclick: drop }, icon("trash"), t("delete")) : null, h("a", { class: "button", href: "/dashboard/cards" }, t("back")), save));
  const open = card ? h("a", { class: "button", href: obsidian(status.vault ?? "", card.path) }, icon("open"), t("open_obsidian")) : null;
  main.append(head(card ? t("edit_card") : t("new_card"), card ? `${card.id} · ${t("uses", { count: card.use_count })}` : "", open), h("div", { class: "card-edit" }, form, h("aside", {}, preview, card ? versions() : null)));
  const render = () => fill(preview, h("h2", {}, topic.value || t("untitled")), note(content.value || " "));
  content.addEventListener("input", calmly(150, render));
  topic.addEventListener("input", calmly(150, render));
  render();

  async function store(force = false) {
    save.disabled = true;
    fill(progress, t("writing"));
    const fields = { content: content.value, type: type.value, topic: topic.value, tags: tags.value, importance: Number(importance.value) || 5, ai_scope: scope.value };
    try {
      const done = card ? await patch(address(card.id), fields, { headers: force ? {} : { "If-Match": etag } }) : await post("/api/cards", fields);
      fill(progress, t("recorded", { topic: done.card.topic.join(" · ") }));
      etag = done.card.etag ?? "";
      if (done.near_duplicates?.length) say(`${t("near_to")}: ${done.near_duplicates.map((one) => [one.topic].flat().join(" · ")).join(", ")}`);
      if (!card) setTimeout(() => location.pathname === "/memory/new" && go("/dashboard/cards"), 1200);
    } catch (error) {
      fill(progress, "");
      if (error.code === "changed_meanwhile") await settle(error.error.current);
      else complain(error);
    }
    save.disabled = false;
  }

  async function settle(current) {
    const choice = await ask({ title: t("conflict_title"), wide: true, content: [h("p", {}, t("conflict_text")), h("div", { class: "columns" }, h("section", {}, h("h3", {}, t("conflict_theirs")), h("pre", { tabindex: "0" }, current?.content ?? "")), h("section", {}, h("h3", {}, t("conflict_mine")), h("pre", { tabindex: "0" }, content.value)))], buttons: [{ label: t("keep_editing") }, { label: t("take_theirs"), value: "theirs" }, { label: t("take_mine"), kind: "primary", value: "mine" }] });
    if (choice === "mine") await store(true);
    if (choice === "theirs") { main.replaceChildren(); editing(main, card.id); }
  }

  async function drop() {
    const sure = await ask({ title: t("delete_card"), content: h("p", {}, t("delete_text")), buttons: [{ label: t("cancel") }, { label: t("delete"), kind: "danger", value: true }] });
    if (!sure) return;
    await trying(async () => {
      const done = await remove(address(card.id));
      say(t("said_deleted", { name: card.topic.join(" · ") }), { action: done.undo ? { label: t("undo"), run: () => trying(async () => { await post("/api/undo", { entry: done.undo }); say(t("said_undone")); }) } : undefined });
      go("/dashboard/cards");
    });
  }

  function versions() {
    const box = h("section", { class: "card" }, h("h2", {}, t("history")));
    get(`${address(card.id)}/history`).then(({ versions: found }) => {
      box.append(found.length ? h("ul", { class: "problems" }, found.map((one) => h("li", {}, h("button", { type: "button", class: "link", onclick: () => compare(one) }, moment(one.at))))) : h("p", { class: "hint" }, t("card_history_empty")));
    }).catch(complain);
    return box;
  }

  const compare = (version) => trying(async () => {
    const { diff } = await get(`${address(card.id)}/history/${encodeURIComponent(version.version)}`);
    const lines = diff.split("\n").filter((line) => !/^(---|\+\+\+|@@)/.test(line));
    const back = await ask({ title: t("version_of", { when: moment(version.at) }), wide: true, content: [h("p", { class: "hint" }, t("version_hint")), h("pre", { class: "diff", tabindex: "0" }, lines.map((line) => h("span", { class: line.startsWith("+") ? "added" : line.startsWith("-") ? "taken" : "" }, `${line}\n`)))], buttons: [{ label: t("close") }, { label: t("revert"), kind: "primary", value: true }] });
    if (!back) return;
    await post(`${address(card.id)}/revert`, { version: version.version });
    say(t("said_reverted"));
    main.replaceChildren();
    editing(main, card.id);
  });

  (card ? content : topic).focus();
  return { move: () => false };
}
