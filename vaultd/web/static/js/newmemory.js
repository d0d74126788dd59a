// A new memory, typed by a person.

import { post } from "./api.js";
import { field } from "./bits.js";
import { h } from "./dom.js";
import { t } from "./i18n.js";
import { outcome } from "./memory.js";
import { complain, say } from "./say.js";

/** A dialog for a new memory; `kept` gets its id. */
export function compose(kept) {
  const text = h("textarea", { rows: "8", required: true });
  const name = h("input", { maxlength: "80", autocomplete: "off" });
  const domain = h("input", { autocomplete: "off" });
  const tags = h("input", { autocomplete: "off" });
  const importance = h("input", { type: "number", min: "1", max: "10", value: "5" });
  const pinned = h("input", { type: "checkbox" });
  const save = h("button", { class: "primary", type: "submit" }, t("keep"));
  const close = () => { dialog.close(); dialog.remove(); };
  const form = h("form", {}, field(t("text"), text),
    field(t("name"), name, { hint: t("name_hint") }),
    h("div", { class: "two" }, field(t("domains"), domain, { hint: t("list_hint") }), field(t("tags"), tags, { hint: t("list_hint") })),
    h("div", { class: "two" }, field(t("importance"), importance), h("label", { class: "check" }, pinned, t("pin_it"))),
    h("div", { class: "actions" }, h("button", { type: "button", onclick: close }, t("cancel")), save));
  const dialog = h("dialog", { class: "dialog wide", "aria-label": t("new_memory") }, h("h2", {}, t("new_memory")), form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    save.disabled = true;
    try {
      const done = await post("/api/buckets", { text: text.value, name: name.value, domain: domain.value, tags: tags.value, importance: Number(importance.value) || 5, pinned: pinned.checked });
      close();
      say(outcome(done));
      kept(done.id);
    } catch (error) {
      save.disabled = false;
      complain(error);
    }
  });
  dialog.addEventListener("cancel", close);
  document.body.append(dialog);
  dialog.showModal();
  text.focus();
}
