// Breath: what a question finds and why, step by step, and why the others fell out.

import { get, url } from "../api.js";
import { field, head, heat, mark, nothing, waiting } from "../bits.js";
import { fill, h } from "../dom.js";
import { number, t } from "../i18n.js";
import { pathOf } from "../main.js";
import { complain } from "../say.js";

const PARTS = ["topic", "emotion", "time", "importance"];
const SHOWN = ["kept", "semantic", "own", "core", "resolved", "beyond_limit", "below_threshold"];
const FOLDED = new Set(["resolved", "beyond_limit", "below_threshold"]);

export default function breath(main, { query }) {
  const q = h("input", { type: "search", value: query.get("q") ?? "", placeholder: t("breath_placeholder"), autocomplete: "off" });
  const domain = h("input", { value: query.get("domain") ?? "", autocomplete: "off" });
  const tags = h("input", { value: query.get("tags") ?? "", autocomplete: "off" });
  const from = h("input", { value: query.get("date_from") ?? "", placeholder: "2026-05", autocomplete: "off" });
  const to = h("input", { value: query.get("date_to") ?? "", placeholder: "2026-06-30", autocomplete: "off" });
  const limit = h("input", { type: "number", min: "1", max: "50", value: query.get("limit") ?? "20" });
  const mood = h("input", { type: "checkbox", checked: query.has("valence") });
  const valence = h("input", { type: "range", min: "0", max: "1", step: "0.05", value: query.get("valence") ?? "0.5" });
  const arousal = h("input", { type: "range", min: "0", max: "1", step: "0.05", value: query.get("arousal") ?? "0.3" });
  const moods = h("div", { class: "two", hidden: !mood.checked }, field(t("valence"), valence), field(t("arousal"), arousal));
  mood.addEventListener("change", () => { moods.hidden = !mood.checked; });
  const out = h("div", { class: "breath-out", "aria-live": "polite" });
  const form = h("form", { class: "breath-form", role: "search", onsubmit: (event) => { event.preventDefault(); run(); } },
    h("div", { class: "ask-row" }, field(t("question"), q, { class: "grow" }), h("button", { class: "primary", type: "submit" }, t("breathe"))),
    h("details", { class: "more-options", open: Boolean(domain.value || tags.value || from.value || to.value || mood.checked) }, h("summary", {}, t("more_options")),
      h("div", { class: "three" }, field(t("domains"), domain), field(t("tags"), tags), field(t("limit"), limit)),
      h("div", { class: "two" }, field(t("date_from"), from), field(t("date_to"), to)),
      h("label", { class: "check" }, mood, t("with_mood")), moods));
  main.append(head(t("breath"), t("breath_about")), form, out);

  let running = null;
  async function run() {
    running?.abort();
    running = new AbortController();
    const asked = { q: q.value.trim(), domain: domain.value.trim(), tags: tags.value.trim(), date_from: from.value.trim(), date_to: to.value.trim(), limit: limit.value === "20" ? "" : limit.value, valence: mood.checked ? valence.value : "", arousal: mood.checked ? arousal.value : "" };
    history.replaceState(null, "", url(pathOf("breath"), asked));
    if (!out.childElementCount) fill(out, waiting());
    try {
      show(await get(url("/api/breath-debug", asked), { signal: running.signal }));
    } catch (error) {
      complain(error);
    }
  }

  function show(data) {
    const surfacing = data.mode === "surface";
    fill(out, steps(data), surfacing ? null : legend(data), groups(data, surfacing));
  }

  function steps(data) {
    const kept = (data.by_fate.kept ?? 0) + (data.by_fate.semantic ?? 0);
    const step = (title, figure, text) => h("li", {}, h("span", { class: "step-title" }, title), h("strong", {}, figure), h("span", { class: "step-text" }, text));
    const list = data.mode === "surface"
      ? [
        step(t("step_question"), "–", t("step_no_question")),
        step(t("step_filter"), number(data.searched), t("step_filter_text", { total: number(data.memories) })),
        step(t("step_core"), number(data.by_fate.core ?? 0), t("step_core_text")),
        step(t("step_order"), number(data.searched - (data.by_fate.core ?? 0)), t("step_order_text")),
        step(t("step_choice"), number(data.by_fate.kept ?? 0), t("step_choice_surface")),
      ]
      : [
        step(t("step_question"), number(data.words.length), data.has_meaning ? t("step_words_meaning") : t("step_words_only", { why: data.meaning_problem })),
        step(t("step_filter"), number(data.searched), data.domain_dropped ? t("step_filter_dropped") : t("step_filter_text", { total: number(data.memories) })),
        step(t("step_candidates"), number(data.candidates.length), t("step_candidates_text", { words: number(data.by_evidence.words ?? 0), meaning: number(data.by_evidence.meaning ?? 0), fuzzy: number(data.by_evidence.fuzzy ?? 0) })),
        step(t("step_scores"), number(data.threshold), t("step_scores_text")),
        step(t("step_choice"), number(kept), t("step_choice_text", { kept: number(data.by_fate.kept ?? 0), semantic: number(data.by_fate.semantic ?? 0) })),
      ];
    return h("ol", { class: "steps", "aria-label": t("five_steps") }, list);
  }

  const legend = (data) => h("p", { class: "legend" }, PARTS.map((part) => h("span", { class: `part-${part}` }, `${t(`part_${part}`)} ≤ ${number(data.most[part])}`)));

  function groups(data, surfacing) {
    if (!data.candidates.length) return nothing("breath", t("breath_nothing"), t("breath_nothing_next"));
    return SHOWN.map((fate) => {
      const found = data.candidates.filter((one) => one.fate === fate);
      if (!found.length) return null;
      const rows = h("ol", { class: "candidates" }, found.slice(0, 60).map((one) => candidate(one, data, surfacing)));
      const title = `${t(`fate_${fate}`)} (${number(found.length)})`;
      if (FOLDED.has(fate)) return h("details", { class: "group" }, h("summary", {}, title), h("p", { class: "hint" }, t(`fate_${fate}_why`, { threshold: number(data.threshold) })), rows);
      return h("section", { class: "group" }, h("h2", {}, title), h("p", { class: "hint" }, t(`fate_${fate}_why`, { threshold: number(data.threshold) })), rows);
    });
  }

  function candidate(one, data, surfacing) {
    const name = h("a", { href: pathOf("memories", one.id) }, one.name || t("untitled"));
    if (surfacing || !one.parts) return h("li", {}, mark(one), name, heat(one.score), h("span", { class: "total" }, one.score >= 900 ? "∞" : number(one.score, 2)));
    const words = PARTS.map((part) => `${t(`part_${part}`)} ${number(one.parts[part], 1)}`).join(", ");
    const bar = h("span", { class: "parts", role: "img", "aria-label": words, title: words }, PARTS.map((part) => h("span", { class: `part-${part}`, style: { width: `${Math.max(0, one.parts[part])}%` } })), h("span", { class: "threshold", style: { left: `${data.threshold}%` } }));
    return h("li", {}, mark(one), name, h("span", { class: "evidence" }, evidence(one)), bar, h("span", { class: "total" }, number(one.parts.total, 1)));
  }

  function evidence({ parts }) {
    const shown = [["words", parts.words], ["meaning", parts.meaning], ["fuzzy", parts.fuzzy]].filter(([, value]) => value !== null);
    return shown.map(([name, value]) => h("span", { class: name === parts.evidence ? "best" : "" }, `${t(`evidence_${name}`)} ${number(value, 2)}`));
  }

  run();
  return { leave: () => running?.abort() };
}
