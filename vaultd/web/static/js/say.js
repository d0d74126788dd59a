// Short messages at the edge of the page, and questions in the middle of it.

import { Refused } from "./api.js";
import { append, h, icon } from "./dom.js";
import { t } from "./i18n.js";

let box = null;

function place() {
  if (!box) {
    box = h("div", { class: "toasts", role: "status", "aria-live": "polite" });
    document.body.append(box);
  }
  return box;
}

/** Say something; `action` is {label, run}. */
export function say(text, { action, bad = false, seconds = action ? 10 : 5 } = {}) {
  const close = () => toast.remove();
  const toast = h("div", { class: bad ? "toast bad" : "toast" }, h("span", {}, text));
  if (action) {
    toast.append(
      h("button", { class: "link", onclick: () => { close(); action.run(); } }, action.label),
    );
  }
  toast.append(h("button", { class: "plain small", "aria-label": t("close"), onclick: close }, icon("close")));
  place().append(toast);
  setTimeout(close, seconds * 1000);
}

/** Say what went wrong. */
export function complain(error) {
  if (error.name === "AbortError" || error.code === "logged_out") return;
  if (!(error instanceof Refused)) console.error(error);
  say(error.code === "offline" ? t("offline_long") : error.message, { bad: true, seconds: 9 });
}

/** Run something and say what went wrong; true where it went well. */
export async function trying(work) {
  try {
    await work();
    return true;
  } catch (error) {
    complain(error);
    return false;
  }
}

/** A dialog with a title, content and buttons {label, kind, value}; resolves to the value of the one pressed. */
export function ask({ title, content, buttons, wide = false }) {
  return new Promise((resolve) => {
    const heading = h("h2", { id: "dialog-title" }, title);
    const dialog = h("dialog", { class: wide ? "dialog wide" : "dialog", "aria-labelledby": "dialog-title" }, heading);
    append(dialog, [content]);
    const row = h("div", { class: "actions" });
    for (const { label, kind = "", value } of buttons) {
      row.append(h("button", { class: kind, type: "button", onclick: () => { dialog.returnValue = ""; done(value); } }, label));
    }
    dialog.append(row);
    const done = (value) => { dialog.close(); dialog.remove(); resolve(value); };
    dialog.addEventListener("cancel", (event) => { event.preventDefault(); done(null); });
    document.body.append(dialog);
    dialog.showModal();
  });
}
