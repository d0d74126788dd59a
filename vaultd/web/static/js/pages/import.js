// Import: drop a file, look inside, start, pause, go on after a reload, patterns, review.

import { Refused, get, post, remove, url } from "../api.js";
import { head, nothing, waiting } from "../bits.js";
import { fill, h, icon } from "../dom.js";
import { bytes, day, moment, number, t } from "../i18n.js";
import { listen } from "../live.js";
import { pathOf } from "../main.js";
import { ask, complain, say, trying } from "../say.js";

const VERDICTS = ["keep", "important", "pin", "noise"];
const RESULTS_SHOWN = 300;

export default function importing(main) {
  const file = h("input", { type: "file", class: "visually-hidden", id: "import-file", accept: ".json,.jsonl,.zip,.md,.markdown,.txt" });
  const progress = h("p", { role: "status" });
  const drop = h("label", { class: "drop", for: "import-file" }, icon("import"), h("strong", {}, t("drop_here")), h("span", { class: "link-like" }, t("choose_file")), progress);
  const jobs = h("div", { class: "jobs" }, waiting());
  main.append(head(t("import"), t("import_about")), file, drop, jobs);
  const cards = new Map();

  file.addEventListener("change", () => file.files[0] && upload(file.files[0]));
  for (const kind of ["dragenter", "dragover"]) drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("over"); });
  for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.remove("over"); });
  drop.addEventListener("drop", (event) => event.dataTransfer.files[0] && upload(event.dataTransfer.files[0]));

  /** XMLHttpRequest, since it tells how far an upload is. */
  function upload(chosen) {
    const request = new XMLHttpRequest();
    request.open("POST", "/api/import/upload");
    request.setRequestHeader("X-Filename", encodeURIComponent(chosen.name));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.addEventListener("progress", ({ loaded, total }) => fill(progress, t("uploading", { percent: Math.round((100 * loaded) / Math.max(total, 1)) })));
    request.addEventListener("loadend", async () => {
      fill(progress);
      file.value = "";
      let said = null;
      try { said = JSON.parse(request.responseText); } catch { /* an answer without JSON is told by its status */ }
      if (request.status !== 201) { complain(new Refused(request.status, said?.error ?? (request.status ? null : { code: "offline" }))); return; }
      await load();
      await cards.get(said.id)?.look();
    });
    request.send(chosen);
  }

  async function load() {
    try {
      const { items } = await get("/api/import/status");
      const known = new Set(items.map((job) => job.id));
      for (const [id, card] of cards) if (!known.has(id)) { card.element.remove(); cards.delete(id); }
      if (!items.length) { fill(jobs, nothing("clock", t("import_empty"), t("import_empty_next"))); return; }
      if (!cards.size) fill(jobs);
      jobs.querySelector(".nothing")?.remove();
      for (const job of items) put(job);
    } catch (error) {
      complain(error);
    }
  }

  function put(job) {
    let card = cards.get(job.id);
    if (!card) {
      card = jobCard(job.id, load);
      cards.set(job.id, card);
      const newer = [...cards.keys()].filter((id) => id < job.id).sort().pop();
      jobs.insertBefore(card.element, newer ? cards.get(newer).element : null);
    }
    card.show(job);
  }

  const ends = [listen("import", put), listen("reset", load)];
  load();
  return { leave() { for (const end of ends) end(); } };
}

function jobCard(id, reload) {
  const element = h("section", { class: "card job" });
  let job = null;
  let results = null;
  let patterns = null;
  const chosen = new Set();
  const address = `/api/import/${encodeURIComponent(id)}`;

  function show(fresh) {
    const ended = job && job.state === "running" && fresh.state !== "running";
    job = fresh;
    if (ended) results = patterns = null;
    draw();
  }

  const options = () => Object.fromEntries([...element.querySelectorAll("[data-option]")].map((one) => [one.dataset.option, one.type === "checkbox" ? one.checked : one.value]));

  const look = () => trying(async () => {
    const asked = job && element.querySelector("[data-option]") ? options() : undefined;
    const found = await post(`${address}/preflight`, asked ?? {});
    if (found.needs_model && !found.model_available && !asked) { await post(`${address}/preflight`, { mode: "notes" }); }
    await reload();
  });
  const start = () => trying(async () => { show(await post(`${address}/start`, options())); });
  const pause = () => trying(async () => { show(await post("/api/import/pause", { job: id })); });
  const resume = () => trying(async () => { show(await post("/api/import/pause", { job: id, resume: true })); });
  async function forget() {
    const sure = await ask({ title: t("remove_import"), content: h("p", {}, t("remove_import_text")), buttons: [{ label: t("cancel") }, { label: t("remove_import"), kind: "danger", value: true }] });
    if (sure) await trying(async () => { await remove(address); await reload(); });
  }

  function draw() {
    const button = (label, run, kind = "") => h("button", { type: "button", class: kind, onclick: run }, label);
    const actions = {
      uploaded: () => [button(t("look_inside"), look, "primary")],
      read: () => [button(t("start_import"), start, "primary")],
      running: () => [button(t("pause"), pause)],
      paused: () => [button(t("resume"), resume, "primary")],
      incomplete: () => [button(t("resume"), resume, "primary")],
      done: () => [],
    }[job.state]();
    const kept = job.kept ?? {};
    const share = job.chunks ? job.done / job.chunks : 0;
    const begun = !["uploaded", "read"].includes(job.state);
    const focused = element.contains(document.activeElement) ? document.activeElement.dataset.keep : undefined;
    const reviewed = element.querySelector(".review")?.scrollTop ?? 0;
    fill(element,
      h("header", { class: "job-head" }, h("h2", {}, job.filename), h("span", { class: `job-state ${job.state}` }, t(`state_${job.state}`)), h("span", { class: "hint" }, `${bytes(job.size)} · ${moment(job.created)}`)),
      job.reason ? h("p", { class: "notice" }, job.reason) : null,
      job.state === "read" && job.preflight ? preflight(job.preflight) : null,
      begun ? h("div", {}, h("progress", { max: "1", value: share, "aria-label": t("progress_of", { done: job.done, total: job.chunks }) }), h("p", { class: "hint" }, t("progress_of", { done: number(job.done), total: number(job.chunks) }), " · ", t("kept_counts", { new: kept.new ?? 0, merged: kept.merged ?? 0, same: kept.same ?? 0 }), job.requests ? ` · ${t("pf_requests")}: ${number(job.requests)} · ${t("pf_tokens")}: ${number(job.tokens_in + job.tokens_out)}` : "", job.cost ? ` · ${t("pf_cost")}: ${job.cost} ${job.currency}` : "")) : null,
      h("div", { class: "actions" }, job.state !== "running" ? button(t("remove_import"), forget, "plain") : null, actions),
      begun && (kept.new || kept.merged || kept.same) ? [h("details", { class: "job-results", ontoggle: (event) => event.target.open && loadResults(), open: results !== null }, h("summary", { "data-keep": "review" }, t("review")), h("div", {}, reviewing())), h("details", { ontoggle: (event) => event.target.open && loadPatterns(), open: patterns !== null }, h("summary", { "data-keep": "patterns" }, t("patterns")), h("div", {}, patterned()))] : null);
    element.querySelector(".review")?.scrollTo(0, reviewed);
    if (focused) element.querySelector(`[data-keep="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  function preflight(found) {
    const rows = [[t("pf_format"), found.format_name], found.conversations ? [t("pf_conversations"), number(found.conversations)] : null, found.turns ? [t("pf_turns"), number(found.turns)] : null, found.notes ? [t("pf_notes"), number(found.notes)] : null,
      found.first ? [t("pf_range"), `${day(found.first)} – ${day(found.last)}`] : null, [t("pf_chunks"), number(found.chunks)], found.known_turns || found.known_notes ? [t("pf_known"), number(found.known_turns || found.known_notes)] : null,
      found.requests ? [t("pf_requests"), `≈ ${number(found.requests)}`] : null, found.requests ? [t("pf_tokens"), `≈ ${number(found.tokens_in + found.tokens_out)}`] : null, found.cost !== null ? [t("pf_cost"), `≈ ${found.cost} ${found.currency}`] : null].filter(Boolean);
    const select = (name, values) => h("select", { "data-option": name, "aria-label": t(name), onchange: look }, values.map((value) => h("option", { value, selected: job.options[name] === value }, t(`${name}_${value}`))));
    const check = (name) => h("label", { class: "check" }, h("input", { type: "checkbox", "data-option": name, checked: job.options[name], onchange: look }), t(name));
    return h("div", { class: "preflight" }, h("dl", { class: "figures" }, rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
      found.titles.length ? h("p", { class: "hint" }, found.titles.join(" · ")) : null,
      !found.model_available && found.conversations ? h("p", { class: "notice" }, t("pf_no_model")) : null,
      found.broken ? h("p", { class: "notice bad" }, found.broken) : null, found.warnings.map((text) => h("p", { class: "notice" }, text)),
      found.conversations ? h("div", { class: "two" }, h("div", { class: "field" }, h("span", { class: "label" }, t("mode")), select("mode", ["memories", "notes"])), found.branches ? h("div", { class: "field" }, h("span", { class: "label" }, t("branches")), select("branches", ["current", "all"])) : null) : null,
      h("div", { class: "chips" }, found.known_conversations || found.known_notes || job.options.again ? check("again") : null, found.broken ? check("partial") : null));
  }

  async function loadResults() {
    if (results) return;
    await trying(async () => { results = (await get(url("/api/import/results", { job: id }))).items; draw(); });
  }

  async function loadPatterns() {
    if (patterns) return;
    await trying(async () => { patterns = await get(url("/api/import/patterns", { job: id })); draw(); });
  }

  function reviewing() {
    if (!results) return waiting();
    const open = results.slice(0, RESULTS_SHOWN);
    const count = h("span", { class: "hint" }, t("selected", { count: chosen.size }));
    const every = h("input", { type: "checkbox", "data-keep": "every", checked: chosen.size > 0 && chosen.size === open.length, onchange: (event) => { chosen.clear(); if (event.target.checked) for (const one of open) chosen.add(one.id); draw(); } });
    return [h("div", { class: "review-bar" }, h("label", { class: "check" }, every, t("select_all")), count, VERDICTS.map((verdict) => h("button", { type: "button", class: "small", "data-keep": verdict, disabled: !chosen.size, onclick: () => decide(verdict) }, t(`verdict_${verdict}`)))),
      h("ul", { class: "review" }, open.map((one) => h("li", { class: one.verdict ?? "" }, h("input", { type: "checkbox", "aria-label": one.name, "data-keep": one.id, checked: chosen.has(one.id), onchange: (event) => { event.target.checked ? chosen.add(one.id) : chosen.delete(one.id); draw(); } }), h("a", { href: pathOf("memories", one.id) }, one.name), h("span", { class: "hint" }, t(`outcome_${one.outcome}`), one.near.length ? ` · ${t("near_to")} ${one.near.length}` : ""), one.verdict ? h("span", { class: "chip" }, t(`verdict_${one.verdict}`)) : null)))];
  }

  const decide = (verdict) => trying(async () => {
    const decisions = Object.fromEntries([...chosen].map((note) => [note, verdict]));
    const done = await post("/api/import/review", { job: id, decisions });
    const failed = Object.values(done.failed);
    if (failed.length) say(t("said_review_failed", { count: failed.length, reason: failed[0] }), { bad: true });
    say(t("said_reviewed", { count: Object.keys(done.done).length }));
    chosen.clear();
    results = null;
    await loadResults();
  });

  function patterned() {
    if (!patterns) return waiting();
    const cloud = (title, found) => (found.length ? h("section", {}, h("h3", {}, title), h("p", { class: "tags" }, found.map((one) => h("a", { class: "chip", href: `${pathOf("memories")}?q=${encodeURIComponent(one.word)}` }, one.word, h("span", { class: "count" }, one.memories))))) : null);
    const shown = [cloud(t("pattern_words"), patterns.words), cloud(t("pattern_tags"), patterns.tags), cloud(t("pattern_domains"), patterns.domains)].filter(Boolean);
    return shown.length ? shown : h("p", { class: "hint" }, t("patterns_none"));
  }

  return { element, show, look };
}
