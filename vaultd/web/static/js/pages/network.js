// Network: memories as nodes, joined where they are alike.

import { get, url } from "../api.js";
import { alive, field, nothing } from "../bits.js";
import { calmly, fill, h, icon } from "../dom.js";
import { Graph } from "../graph.js";
import { number, t } from "../i18n.js";
import { listen } from "../live.js";
import { openMemory } from "../memory.js";
import { complain } from "../say.js";

const KINDS = ["dynamic", "permanent", "feel", "archived"];
const HITS = 8;

/** A colour for a domain: the same each time, light enough on dark and dark enough on light. */
function domainColour(name) {
  let hash = 7;
  for (const character of name) hash = (hash * 31 + character.codePointAt(0)) >>> 0;
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  return `hsl(${(hash % 24) * 15} 52% ${dark ? 66 : 42}%)`;
}

export default function network(main) {
  let data = { nodes: [], edges: [] };
  let panel = null;
  let worker = null;
  const hidden = new Set(["archived"]);
  let matching = null;
  let byDomain = false;
  let loading = null;

  const canvas = h("canvas", { role: "img" });
  const tip = h("div", { class: "network-tip", hidden: true });
  const counts = h("p", { class: "hint", role: "status" });
  const find = h("input", { type: "search", placeholder: t("find_node"), "aria-label": t("find_node") });
  const hits = h("ul", { class: "network-hits", "aria-label": t("matches") });
  const least = h("input", { type: "range", min: "0.35", max: "0.9", step: "0.05", value: "0.5" });
  const leastShown = h("output", {}, "0.50");
  const kinds = h("div", { class: "chips", role: "group", "aria-label": t("kinds") }, KINDS.map((kind) => h("button", { type: "button", class: "chip", "data-kind": kind, "aria-pressed": String(!hidden.has(kind)), onclick: (event) => toggle(kind, event.currentTarget) }, h("span", { class: `mark-dot ${kind}` }), t(`kind_${kind}`))));
  const colour = h("select", { "aria-label": t("colour_by"), onchange: () => { byDomain = colour.value === "domain"; graph.restyle(); } }, h("option", { value: "kind" }, `${t("colour_by")}: ${t("colour_kind")}`), h("option", { value: "domain" }, `${t("colour_by")}: ${t("colour_domain")}`));
  const all = h("button", { type: "button", class: "small", onclick: () => { graph.following = true; graph.fit(); graph.draw(); } }, t("fit_view"));
  const controls = h("section", { class: "network-panel" }, h("h1", {}, t("network")), counts, find, hits,
    h("div", { class: "optional" }, field([t("least_similarity"), leastShown], least)), h("div", { class: "optional" }, kinds), h("div", { class: "optional two" }, colour, all));
  const empty = h("div", { class: "network-empty", hidden: true }, nothing("network", t("network_empty"), t("network_empty_next")));
  const stage = h("section", { class: "network-stage", "aria-label": t("network") }, canvas, tip, controls, empty);
  const side = h("section", { class: "detail network-side", hidden: true, "aria-label": t("memory") });
  main.append(stage, side);

  const visible = (i) => !hidden.has(data.nodes[i].kind) && (!matching || matching.has(i));
  const graph = new Graph(canvas, {
    look(i) {
      const node = data.nodes[i];
      const tint = byDomain ? domainColour(node.domain) : node.kind === "dynamic" && node.pinned ? "--permanent" : `--${node.kind}`;
      return { colour: tint, radius: 3.2 + node.importance * 0.42 + alive(node.score) * 2, faded: !visible(i) };
    },
    choose: (i) => (i >= 0 ? open(data.nodes[i].id) : close()),
    over(i, x, y) {
      tip.hidden = i < 0;
      if (i < 0) return;
      fill(tip, data.nodes[i].name || t("untitled"));
      tip.style.left = `${Math.min(x + 14, graph.width - 200)}px`;
      tip.style.top = `${y + 14}px`;
    },
    drag: (node, x, y) => worker?.postMessage({ drag: { node, x, y } }),
    drop: () => worker?.postMessage({ drop: true }),
  });
  graph.inset = innerWidth > 760 ? { left: 270, top: 0 } : { left: 0, top: 150 };

  async function load() {
    loading?.abort();
    loading = new AbortController();
    try {
      const fresh = await get(url("/api/network", { similarity: least.value, archive: !hidden.has("archived"), limit: 5000 }), { signal: loading.signal });
      const same = JSON.stringify([fresh.edges, fresh.nodes.map((node) => node.id)]) === JSON.stringify([data.edges, data.nodes.map((node) => node.id)]);
      data = fresh;
      show(same);
    } catch (error) {
      complain(error);
    }
  }

  function show(same) {
    const { nodes, edges } = data;
    empty.hidden = nodes.length > 0;
    fill(counts, t("network_counts", { nodes: number(nodes.length), edges: number(edges.length) }), data.without_embedding ? ` · ${t("without_embedding", { count: number(data.without_embedding) })}` : "");
    canvas.setAttribute("aria-label", t("network_label", { nodes: nodes.length, edges: edges.length }));
    if (same && worker) { graph.restyle(); return; }
    graph.set(nodes.map((node) => node.name || t("untitled")), edges);
    worker?.terminate();
    worker = null;
    if (!nodes.length) return;
    worker = new Worker("/static/js/network-worker.js");
    worker.onmessage = ({ data: { places, done } }) => graph.put(places, done);
    worker.postMessage({ start: { count: nodes.length, edges } });
    search();
  }

  function toggle(kind, button) {
    if (hidden.has(kind)) hidden.delete(kind);
    else hidden.add(kind);
    button.setAttribute("aria-pressed", String(!hidden.has(kind)));
    if (kind === "archived") load();
    else graph.restyle();
  }

  function search() {
    const wanted = find.value.trim().toLowerCase();
    matching = wanted ? new Set(data.nodes.map((_, i) => i).filter((i) => `${data.nodes[i].name} ${data.nodes[i].domain}`.toLowerCase().includes(wanted))) : null;
    const found = matching ? [...matching].slice(0, HITS) : [];
    fill(hits, found.map((i) => h("li", {}, h("button", { type: "button", onclick: () => { graph.chosen = i; graph.centre(i); open(data.nodes[i].id); } }, data.nodes[i].name || t("untitled")))));
    graph.restyle();
  }

  function open(id) {
    panel?.leave();
    side.hidden = false;
    main.classList.add("has-detail");
    panel = openMemory(side, id, { back: close, gone: close, compact: true });
    side.classList.add("closable");
  }

  function close() {
    panel?.leave();
    panel = null;
    side.hidden = true;
    main.classList.remove("has-detail");
    graph.chosen = -1;
    graph.draw();
  }

  find.addEventListener("input", calmly(120, search));
  find.addEventListener("keydown", (event) => { if (event.key === "Enter") hits.querySelector("button")?.click(); });
  least.addEventListener("input", () => fill(leastShown, number(Number(least.value), 2)));
  least.addEventListener("change", load);
  const repaint = () => graph.restyle();
  addEventListener("themechange", repaint);
  const reload = calmly(600, load);
  const ends = [listen("change", reload), listen("reset", reload)];
  load();
  return {
    key(event) {
      if (event.key === "Escape" && panel) close();
      else if (event.key === "+" || event.key === "=") graph.zoomBy(1.25, graph.width / 2, graph.height / 2);
      else if (event.key === "-") graph.zoomBy(0.8, graph.width / 2, graph.height / 2);
      else if (event.key === "0") all.click();
      else panel?.key(event);
    },
    leave() {
      loading?.abort();
      worker?.terminate();
      panel?.leave();
      graph.leave();
      removeEventListener("themechange", repaint);
      for (const end of ends) end();
    },
  };
}
