// Health: whether everything runs, what cannot be read, what is going to be forgotten, what it cost.

import { get, patch, post } from "../api.js";
import { head, heat, nothing, waiting } from "../bits.js";
import { calmly, fill, h, icon } from "../dom.js";
import { Findings } from "../findings.js";
import { ago, bytes, moment, number, t } from "../i18n.js";
import { listen } from "../live.js";
import { pathOf } from "../main.js";
import { ask, complain, say, trying } from "../say.js";

const FORECAST_SHOWN = 30;

export default function health(main) {
  const body = h("div", { class: "cards-grid" }, waiting());
  const compare = h("button", { type: "button", onclick: () => trying(async () => { await post("/api/reconcile"); say(t("said_reconcile")); }) }, t("reconcile"));
  main.append(head(t("health"), t("health_about"), compare), body);
  const findings = new Findings();
  let problems = null; // how many notes had one when it was last looked
  let left = false;

  async function load() {
    try {
      const data = await get("/api/health");
      if (!left) show(data);
    } catch (error) {
      complain(error);
    }
  }

  const card = (title, content, { wide = false, tone = "" } = {}) => h("section", { class: `card${wide ? " wide" : ""}${tone ? ` ${tone}` : ""}` }, h("h2", {}, title), content);
  const figures = (rows) => h("dl", { class: "figures" }, rows.filter(Boolean).map(([name, value, tone]) => h("div", { class: tone ?? "" }, h("dt", {}, name), h("dd", {}, value))));

  function show(data) {
    const focused = document.activeElement?.closest?.("details")?.id;
    const open = new Set([...body.querySelectorAll("details[open]")].map((one) => one.id));
    fill(body, index(data), memories(data), models(data), findings.element, forecast(data), data.waiting.length ? queue(data) : null, machines(data), log(data));
    for (const one of body.querySelectorAll("details")) if (open.has(one.id)) one.open = true;
    // a look at every note takes its time: only when there may be something new
    if (problems !== data.status.problems) findings.look(data.status.vault);
    problems = data.status.problems;
    if (focused) document.getElementById(focused)?.querySelector("summary")?.focus();
  }

  function index({ status }) {
    const trouble = !status.vault_available ? t("vault_gone_long") : status.index_problem || status.embedding.problem;
    return card(t("index"), [
      h("p", { class: `verdict ${status.ready && status.vault_available ? "ok" : "busy"}` }, icon(status.ready ? "check" : "clock"), !status.vault_available ? t("vault_gone") : status.ready ? t("index_ready") : t("indexing", { done: status.notes, total: status.total })),
      trouble ? h("p", { class: "notice bad" }, trouble) : null,
      status.held_deletions ? h("div", { class: "notice" }, h("p", {}, t("held_deletions", { count: status.held_deletions })), h("button", { type: "button", onclick: confirmDeletions }, t("confirm_deletions"))) : null,
      figures([
        [t("notes"), number(status.notes)],
        [t("lag"), t("seconds", { value: number(status.lag_s, 1) })],
        [t("pending"), number(status.pending)],
        [t("failed"), number(status.failed), status.failed ? "bad" : ""],
        [t("missed"), number(status.missed)],
        [t("last_reconcile"), status.last_reconcile ? ago(status.last_reconcile) : "–"],
        [t("running_since"), moment(status.started)],
      ]),
    ]);
  }

  const confirmDeletions = () => trying(async () => { await post("/api/confirm-deletions"); await load(); });

  function memories(data) {
    return card(t("memories"), figures([
      [t("kind_dynamic"), number(data.kinds.dynamic)], [t("kind_permanent"), number(data.kinds.permanent)], [t("kind_feel"), number(data.kinds.feel)], [t("kind_archived"), number(data.kinds.archived)],
      [t("cards"), number(data.cards)], [t("kind_own"), number(data.own)], [t("size"), bytes(data.size_bytes)],
    ]));
  }

  function models({ spend, status }) {
    const used = spend.cap ? `${number(spend.used_today)} / ${number(spend.cap)}` : number(spend.used_today);
    return card(t("models"), [figures([
      [t("chat_model"), spend.chat_available ? spend.chat_model : t("not_configured")],
      [t("embedding_model"), status.embedding.model === "none" ? t("words_only") : status.embedding.model],
      [t("requests_today"), used],
    ]), spend.embedding_problem ? h("p", { class: "notice bad" }, spend.embedding_problem) : null, h("p", {}, h("a", { href: pathOf("settings") }, t("go_settings")))]);
  }

  function forecast({ forecast: coming, last_cycle_at: last }) {
    const now = coming.filter((one) => one.days <= 0 && !one.held).length;
    const row = (one) => h("li", {}, h("a", { href: pathOf("memories", one.id) }, one.name || t("untitled")), heat(one.score), h("span", { class: "when" }, one.held ? t("held") : one.days <= 0 ? t("next_cycle") : t("in_days", { count: number(Math.ceil(one.days)) })), h("button", { type: "button", class: "small", onclick: () => keep(one) }, t("keep_it")));
    return card(t("forecast"), [
      h("p", { class: "hint" }, t("forecast_about"), last ? ` ${t("last_cycle", { when: ago(last) })}` : ""),
      coming.length ? h("ul", { class: "forecast" }, coming.slice(0, FORECAST_SHOWN).map(row)) : nothing("check", t("forecast_empty"), ""),
      coming.length > FORECAST_SHOWN ? h("p", { class: "hint" }, t("and_more", { count: coming.length - FORECAST_SHOWN })) : null,
      h("div", { class: "actions" }, h("button", { type: "button", onclick: () => runCycle(now) }, t("run_cycle"))),
    ], { wide: true });
  }

  /** Protected: it never fades, and stays where it is. */
  const keep = (one) => trying(async () => {
    const fresh = await patch(`/api/bucket/${one.id}`, { protected: true });
    say(t("said_kept", { name: one.name }), { action: fresh.undo ? { label: t("undo"), run: () => trying(async () => { await post("/api/undo", { entry: fresh.undo }); await load(); }) } : undefined });
    await load();
  });

  async function runCycle() {
    await trying(async () => {
      const plan = await post("/api/decay/run?dry_run=1");
      const sure = await ask({ title: t("run_cycle"), content: h("p", {}, t("run_cycle_text", { archived: plan.archived, resolved: plan.auto_resolved })), buttons: [{ label: t("cancel") }, { label: t("run_cycle_now"), kind: "primary", value: true }] });
      if (!sure) return;
      const done = await post("/api/decay/run");
      say(done.reason || t("said_cycle", { archived: done.archived, resolved: done.auto_resolved }));
      await load();
    });
  }

  const queue = (data) => card(t("waiting_texts"), h("ul", { class: "problems" }, data.waiting.map((one) => h("li", {}, h("code", {}, one.path), h("span", {}, t("waiting_text", { reason: one.reason, attempts: one.attempts, when: one.next_try ? ago(one.next_try) : "–" }))))), { wide: true });

  const machines = (data) => card(t("machines"), data.machines.length
    ? h("ul", { class: "problems" }, data.machines.map((one) => h("li", {}, h("code", {}, one.id), h("span", {}, `${one.here ? `${t("this_machine")} · ` : ""}${one.seen ? ago(one.seen) : "–"} · ${bytes(one.size)}`))))
    : h("p", { class: "hint" }, t("machines_none")));

  const log = (data) => card(t("log"), h("details", { id: "log-tail" }, h("summary", {}, t("log_lines", { count: data.log.length })), h("div", { class: "log", tabindex: "0", role: "region", "aria-label": t("log") }, data.log.map((one) => h("div", { class: `log-line ${one.level.toLowerCase()}` }, h("time", {}, new Date(one.at).toLocaleTimeString()), h("span", {}, one.level), h("span", {}, one.text))))), { wide: true });

  const reload = calmly(250, load);
  const ends = ["change", "decay", "progress", "reset"].map((kind) => listen(kind, reload));
  const timer = setInterval(load, 10_000);
  load();
  return { leave() { left = true; clearInterval(timer); for (const end of ends) end(); } };
}
