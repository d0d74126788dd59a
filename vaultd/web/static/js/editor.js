// Editing a memory. What somebody else changed meanwhile is shown beside one's own, and nothing is lost.

import { patch } from "./api.js";
import { field } from "./bits.js";
import { fill, h } from "./dom.js";
import { t } from "./i18n.js";
import { ask, complain } from "./say.js";

const list = (text) => text.split(/[,，、;；]/).map((word) => word.trim()).filter(Boolean);
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** The fields of a memory that can be typed into. */
function fieldsOf(memory) {
  return {
    name: h("input", { value: memory.name, maxlength: "80", autocomplete: "off" }),
    text: h("textarea", { rows: "14", value: memory.text, spellcheck: "true" }),
    domain: h("input", { value: memory.domain.join(", "), autocomplete: "off" }),
    tags: h("input", { value: memory.tags.join(", "), autocomplete: "off" }),
    importance: h("input", { type: "number", min: "1", max: "10", step: "1", value: memory.importance, disabled: memory.pinned || memory.protected }),
    valence: h("input", { type: "range", min: "0", max: "1", step: "0.05", value: memory.valence }),
    arousal: h("input", { type: "range", min: "0", max: "1", step: "0.05", value: memory.arousal }),
  };
}

/** An editor in `side`; `saved` gets the memory as it then is, `close` is called where nothing is to be saved. */
export function edit(side, memory, { saved, close }) {
  let base = memory;
  const fields = fieldsOf(memory);
  const start = { valence: fields.valence.value, arousal: fields.arousal.value };
  const notice = h("p", { class: "notice", hidden: true, role: "status" });
  const save = h("button", { class: "primary", type: "submit" }, t("save"));
  const form = h("form", { class: "editor", onsubmit: (event) => { event.preventDefault(); store(); } },
    h("h2", {}, t("edit_memory")), notice,
    field(t("name"), fields.name), field(t("text"), fields.text),
    h("div", { class: "two" }, field(t("domains"), fields.domain, { hint: t("list_hint") }), field(t("tags"), fields.tags, { hint: t("list_hint") })),
    h("div", { class: "three" }, field(t("importance"), fields.importance), field(t("valence"), fields.valence), field(t("arousal"), fields.arousal)),
    h("div", { class: "actions" }, h("button", { type: "button", onclick: leave }, t("cancel")), save));
  fill(side, form);
  fields.text.focus();
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); store(); }
    if (event.key === "Escape") { event.stopPropagation(); leave(); }
  });

  /** What differs from what was opened. */
  function changes() {
    const out = {};
    if (fields.name.value.trim() !== memory.name) out.name = fields.name.value.trim();
    if (fields.text.value !== memory.text) out.text = fields.text.value;
    if (!same(list(fields.domain.value), memory.domain)) out.domain = list(fields.domain.value);
    if (!same(list(fields.tags.value), memory.tags)) out.tags = list(fields.tags.value);
    if (Number(fields.importance.value) !== memory.importance) out.importance = Number(fields.importance.value);
    for (const name of ["valence", "arousal"]) if (fields[name].value !== start[name]) out[name] = Number(fields[name].value);
    return out;
  }

  async function leave() {
    if (Object.keys(changes()).length) {
      const sure = await ask({ title: t("discard_title"), content: h("p", {}, t("discard_text")), buttons: [{ label: t("keep_editing") }, { label: t("discard"), kind: "danger", value: true }] });
      if (!sure) return;
    }
    close();
  }

  async function store() {
    const wanted = changes();
    if (!Object.keys(wanted).length) { close(); return; }
    save.disabled = true;
    try {
      saved(await patch(`/api/bucket/${encodeURIComponent(memory.id)}`, wanted, { headers: { "If-Match": base.etag } }));
    } catch (error) {
      save.disabled = false;
      if (error.status === 409 && error.error.theirs) await settle(error.error.theirs, wanted);
      else complain(error);
    }
  }

  /** Both versions side by side; a person decides. */
  async function settle(theirs, wanted) {
    const column = (title, text) => h("section", {}, h("h3", {}, title), h("pre", { tabindex: "0" }, text));
    const mine = Object.entries(wanted).filter(([key]) => key !== "text").map(([key, value]) => `${key}: ${Array.isArray(value) ? value.join(", ") : value}`).join("\n");
    const choice = await ask({
      title: t("conflict_title"), wide: true,
      content: [h("p", {}, t("conflict_text")), h("div", { class: "columns" }, column(t("conflict_theirs"), theirs.raw), column(t("conflict_mine"), [mine, wanted.text ?? fields.text.value].filter(Boolean).join("\n\n")))],
      buttons: [{ label: t("keep_editing") }, { label: t("take_theirs"), value: "theirs" }, { label: t("take_mine"), kind: "primary", value: "mine" }],
    });
    base = theirs;
    if (choice === "mine") await store();
    else if (choice === "theirs") close();
    else { notice.hidden = false; fill(notice, t("conflict_kept")); }
  }

  return {
    changedOutside() {
      notice.hidden = false;
      fill(notice, t("changed_outside"));
    },
  };
}
