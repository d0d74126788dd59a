// Settings: every value with its default and what it does. Hot ones are in force at once, others after a restart.

import { get, post } from "../api.js";
import { coded, head, waiting } from "../bits.js";
import { connectors } from "../connectors.js";
import { fill, h, icon } from "../dom.js";
import { has, language, t } from "../i18n.js";
import { complain, say } from "../say.js";

const FIRST = ["llm", "embedding", "decay", "matching", "memory", "journal", "cards", "gateway"];

export default function settings(main, { rest }) {
  const nav = h("nav", { class: "section-nav", "aria-label": t("sections") });
  const body = h("div", { class: "settings-body" }, waiting());
  const find = h("input", { type: "search", placeholder: t("find_setting"), "aria-label": t("find_setting") });
  main.append(head(t("settings"), t("settings_about")), h("div", { class: "settings" }, h("div", { class: "settings-side" }, find, nav), body));
  const letIn = connectors();
  let data = null;
  let words = {};
  find.addEventListener("input", () => show());

  async function load() {
    try {
      if (language === "zh") words = (await import("../text/settings-zh.js")).default;
      data = await get("/api/config");
      show();
      if (rest) document.getElementById(`section-${rest}`)?.scrollIntoView();
    } catch (error) {
      complain(error);
    }
  }

  const jump = (section, text) => h("a", { href: `#section-${section}`, onclick: (event) => { event.preventDefault(); document.getElementById(`section-${section}`).scrollIntoView(); } }, text);

  /** What has been written and is not in force yet. */
  function restart() {
    const waits = data.sections.flatMap((section) => section.settings).filter((one) => one.waits);
    return waits.length ? h("div", { class: "notice restart", role: "status" }, icon("clock"), h("div", {}, h("p", {}, t("restart_waits", { count: waits.length })), h("p", {}, waits.map((one) => h("code", {}, `${one.name}: ${shown(one.next)}`))))) : null;
  }

  const title = (name) => t(has(`section_${name || "general"}`) ? `section_${name || "general"}` : name);
  const order = (name) => (name === "" ? -1 : FIRST.includes(name.split(".")[0]) ? FIRST.indexOf(name.split(".")[0]) : FIRST.length);

  function show() {
    const wanted = find.value.trim().toLowerCase();
    const fits = (one) => !wanted || one.name.includes(wanted) || about(one).toLowerCase().includes(wanted);
    const sections = [...data.sections].sort((a, b) => order(a.name) - order(b.name)).map((section) => ({ ...section, settings: section.settings.filter(fits) })).filter((section) => section.settings.length);
    fill(nav, sections.map((section) => jump(section.name || "general", title(section.name))), wanted ? null : jump("connectors", t("connectors")));
    fill(body, data.file ? h("p", { class: "hint" }, t("settings_file"), " ", h("code", {}, data.file)) : null, restart(), sections.map(block), wanted ? null : letIn);
    if (!sections.length) fill(body, h("p", { class: "hint" }, t("no_setting")));
  }

  function block(section) {
    const trial = { llm: "chat", embedding: "embedding" }[section.name];
    return h("section", { class: "card", id: `section-${section.name || "general"}` }, h("h2", {}, title(section.name)), trial ? test(trial) : null, section.settings.map(row));
  }

  function test(what) {
    const out = h("span", { class: "test-result", role: "status" });
    const button = h("button", { type: "button", class: "small" }, t(`test_${what}`));
    button.addEventListener("click", async () => {
      button.disabled = true;
      fill(out, t("testing"));
      out.className = "test-result";
      try {
        const tried = await post("/api/config/test", { what });
        out.classList.add(tried.ok ? "ok" : "bad");
        fill(out, tried.ok ? `${tried.message} · ${tried.elapsed_ms} ms` : tried.message);
      } catch (error) {
        fill(out, "");
        complain(error);
      }
      button.disabled = false;
    });
    return h("p", { class: "test" }, button, out);
  }

  const about = (one) => words[one.name] ?? one.about;

  function row(one) {
    const id = `set-${one.name.replace(/\W/g, "-")}`;
    const control = controlOf(one, id);
    const notes = [];
    if (one.variable) notes.push(t(one.hot ? "variable_next" : "variable_wins", { variable: one.variable }));
    if (one.secret && !one.hot) notes.push(t("secret_restart", { variable: one.variables[0] ?? "" }));
    else if (one.secret) notes.push(t(one.is_set ? "secret_set" : "secret_unset", { variable: one.variables[0] ?? "" }));
    else notes.push(t("default_is", { value: shown(one.default) }));
    if (one.waits) notes.push(t("now_is", { value: shown(one.value) }));
    const reset = one.is_set && !one.secret && !fixed(one) ? h("button", { type: "button", class: "link", onclick: () => store(one, one.default) }, t("reset")) : null;
    return h("div", { class: `setting${one.is_set ? " changed" : ""}` },
      h("div", { class: "setting-text" }, h("div", { class: "setting-name" }, h("label", { for: id }, h("code", {}, one.name)), one.hot ? null : h("span", { class: `flag${one.waits ? " waits" : ""}` }, icon("clock"), t("after_restart"))), h("p", { id: `${id}-about` }, coded(about(one))), h("p", { class: "hint" }, notes.join(" · "), " ", reset)),
      h("div", { class: "setting-control" }, control));
  }

  /** What cannot be changed here: it would be lost, or has no effect. */
  const fixed = (one) => !one.hot && (one.secret || one.variable !== "" || !data.file);

  const shown = (value) => (value === "" || value === null || (Array.isArray(value) && !value.length) ? t("empty_value") : Array.isArray(value) ? value.join(", ") : value === true ? t("on") : value === false ? t("off") : String(value));

  function controlOf(one, id) {
    const common = { id, "aria-describedby": `${id}-about`, disabled: fixed(one) };
    const held = one.waits ? one.next : one.value;
    if (one.shape === "true or false") {
      return h("input", { ...common, type: "checkbox", class: "switch", role: "switch", checked: held === true, onchange: (event) => store(one, event.target.checked) });
    }
    if (one.choices.length) {
      return h("select", { ...common, onchange: (event) => store(one, event.target.value) }, one.choices.map((choice) => h("option", { value: choice, selected: choice === held }, choice)));
    }
    const numeric = one.shape === "number" || one.shape === "whole number";
    const value = one.secret ? "" : Array.isArray(held) ? held.join(", ") : held ?? "";
    const props = one.secret ? { type: "password", placeholder: one.is_set ? one.value : "", autocomplete: "off" } : numeric ? { type: "number", step: one.shape === "number" ? "any" : "1", min: one.low ?? undefined, max: one.high ?? undefined } : { type: "text", spellcheck: "false", autocomplete: "off" };
    const input = h("input", { ...common, ...props, value });
    input.addEventListener("change", () => {
      if (one.secret && !input.value) return;
      store(one, numeric && input.value !== "" ? Number(input.value) : input.value);
    });
    return input;
  }

  async function store(one, value) {
    try {
      data = await post("/api/config", { [one.name]: value });
      say(t(one.secret ? "said_secret" : one.hot ? "said_setting" : "said_later", { name: one.name }));
    } catch (error) {
      complain(error);
    }
    const at = main.scrollTop;
    show();
    main.scrollTop = at;
    document.getElementById(`set-${one.name.replace(/\W/g, "-")}`)?.focus();
  }

  load();
  return {};
}
