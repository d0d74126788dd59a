// What is wrong, where, and how to mend it: conflicts, notes, and the house around them.

import { get, post } from "./api.js";
import { coded, nothing, obsidian, waiting } from "./bits.js";
import { fill, h, icon } from "./dom.js";
import { language, t } from "./i18n.js";
import { complain, say, trying } from "./say.js";

const GROUPS = ["conflict", "note", "house"];
const MOST = 50; // of one group
const ICONS = { error: "alert", warning: "alert", hint: "info" };

/** A card of findings; `look(vault)` asks anew. */
export class Findings {
  constructor() {
    this.body = h("div", { class: "findings", "aria-live": "polite" }, waiting());
    this.again = h("button", { type: "button", class: "small", onclick: () => this.look(this.vault) }, t("look_again"));
    this.element = h("section", { class: "card wide", id: "findings" }, h("div", { class: "card-head" }, h("h2", {}, t("findings")), this.again), this.body);
    this.vault = "";
    this.say = (text) => text;
  }

  async look(vault) {
    this.vault = vault;
    this.again.disabled = true;
    try {
      if (language === "zh") this.say = (await import("./text/findings-zh.js")).said;
      this.show((await get("/api/doctor")).findings);
    } catch (error) {
      fill(this.body, h("p", { class: "notice bad" }, error.message));
    }
    this.again.disabled = false;
  }

  show(findings) {
    const groups = GROUPS.map((about) => [about, findings.filter((one) => one.about === about)]).filter(([, members]) => members.length);
    const ours = findings.filter((one) => one.fixable).length;
    fill(this.body,
      groups.length ? groups.map(([about, members]) => this.group(about, members)) : nothing("check", t("findings_none"), t("findings_none_next")),
      ours ? h("div", { class: "actions" }, h("button", { type: "button", onclick: () => this.fix() }, t("mend_ours", { count: ours })), h("span", { class: "hint" }, t("mend_ours_about"))) : null);
  }

  group(about, members) {
    return h("div", { class: "finding-group" }, h("h3", {}, t(`findings_${about}`), " ", h("span", { class: "count" }, members.length)),
      h("ul", {}, members.slice(0, MOST).map((one) => this.finding(one))),
      members.length > MOST ? h("p", { class: "hint" }, t("and_more", { count: members.length - MOST })) : null);
  }

  finding(one) {
    const place = one.line ? `${one.where}:${one.line}` : one.where;
    const where = one.about === "house" ? h("span", { class: "where" }, this.say(one.where)) : h("a", { class: "where", href: obsidian(this.vault, one.where), title: t("open_obsidian") }, h("code", {}, place));
    return h("li", { class: `finding ${one.level}` }, h("span", { class: "level", title: t(`level_${one.level}`), role: "img", "aria-label": t(`level_${one.level}`) }, icon(ICONS[one.level])),
      h("div", {}, h("p", { class: /^[a-z_]+: /.test(one.what) ? "what key" : "what" }, coded(this.say(one.what))), where, h("p", { class: "hint" }, coded(this.say(one.mend)))),
      one.about === "conflict" && one.fixable ? h("button", { type: "button", class: "small", onclick: () => this.solve(one) }, t("solve_conflict")) : null);
  }

  solve(one) {
    return trying(async () => {
      await post("/api/conflicts/solve", { path: one.where });
      say(t("said_solved", { path: one.where }));
      await this.look(this.vault);
    });
  }

  async fix() {
    try {
      const { done, findings } = await post("/api/doctor/fix");
      say(t("said_mended", { count: done.length }));
      this.show(findings);
    } catch (error) {
      complain(error);
    }
  }
}
