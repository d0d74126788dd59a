// Who else may reach this memory: remote connectors that were let in, each with the way to shut it out.

import { get, remove } from "./api.js";
import { fill, h } from "./dom.js";
import { ago, day, t } from "./i18n.js";
import { ask, complain, say } from "./say.js";

/** A card of connectors. */
export function connectors() {
  const body = h("div", { class: "connectors" });
  const card = h("section", { class: "card", id: "section-connectors" }, h("h2", {}, t("connectors")), h("p", { class: "hint" }, t("connectors_about")), body);

  async function load() {
    try {
      const { address, connectors: all } = await get("/api/connectors");
      if (!address) fill(body, h("p", {}, t("connectors_off")));
      else fill(body, h("p", {}, t("connectors_address"), " ", h("code", {}, address)), all.length ? h("ul", { class: "problems" }, all.map(row)) : h("p", {}, t("connectors_none")));
    } catch (error) {
      complain(error);
    }
  }

  const row = (one) => h("li", { class: "connector" }, h("div", {}, h("strong", {}, one.name || one.client_id), h("span", {}, t("connector_since", { given: day(one.given), used: ago(one.used) }))),
    h("button", { type: "button", class: "small", onclick: () => end(one) }, t("shut_out")));

  async function end(one) {
    const name = one.name || one.client_id;
    const sure = await ask({ title: t("shut_out_title", { name }), content: h("p", {}, t("shut_out_text")), buttons: [{ label: t("cancel") }, { label: t("shut_out"), kind: "danger", value: true }] });
    if (!sure) return;
    try {
      await remove(`/api/connectors/${one.id}`);
      say(t("said_shut_out", { name }));
    } catch (error) {
      complain(error);
    }
    await load();
  }

  load();
  return card;
}
