// Chat: a conversation over the gateway, with the cards that were put in.

import { Refused, get } from "../api.js";
import { field, nothing } from "../bits.js";
import { fill, h, icon } from "../dom.js";
import { t } from "../i18n.js";
import { pathOf } from "../main.js";
import { note } from "../markdown.js";
import { complain } from "../say.js";

const remembered = { messages: [], conversation: "" };

export default function chat(main) {
  const { messages } = remembered;
  let running = null;
  let without = false; // whether no model is set
  const log = h("div", { class: "chat-log", role: "log", "aria-live": "polite", "aria-label": t("chat") });
  const text = h("textarea", { rows: "2", placeholder: t("message"), "aria-label": t("message") });
  const most = h("input", { type: "range", min: "0", max: "10", step: "1", value: localStorage.getItem("vaultd.cards") ?? "3" });
  const mostShown = h("output", {}, most.value);
  const send = h("button", { class: "primary", type: "submit", "aria-label": t("send") }, icon("send"), h("span", {}, t("send")));
  const form = h("form", { class: "chat-form", onsubmit: (event) => { event.preventDefault(); running ? running.abort() : ask(); } }, text, send);
  const fresh = h("button", { type: "button", class: "small", onclick: begin }, t("new_chat"));
  main.append(h("header", { class: "chat-head" }, h("div", {}, h("h1", {}, t("chat")), h("p", { class: "about" }, t("chat_about"))), h("div", { class: "chat-tools" }, field(t("most_cards"), h("span", { class: "slider" })), fresh)), log, form);
  main.querySelector(".slider").replaceWith(h("span", { class: "slider" }, most, mostShown));
  most.id = main.querySelector(".chat-tools label").htmlFor;
  most.addEventListener("input", () => { fill(mostShown, most.value); localStorage.setItem("vaultd.cards", most.value); });
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); if (!running) ask(); }
  });

  function begin() {
    running?.abort();
    messages.length = 0;
    remembered.conversation = "";
    show();
    text.focus();
  }

  function bubble(message) {
    const body = message.role === "user" ? h("div", { class: "said" }, message.content) : h("div", { class: "said" }, message.content ? note(message.content) : h("span", { class: "typing" }, "…"));
    const cards = message.topics?.length ? h("details", { class: "given" }, h("summary", { title: t("injected", { count: message.topics.length }) }, "🤖 ", t("injected", { count: message.topics.length })), h("ul", {}, message.topics.map(({ id, topic }) => h("li", {}, h("a", { href: `/memory/edit?id=${encodeURIComponent(id)}` }, topic || id))))) : null;
    return h("article", { class: `bubble ${message.role}` }, h("span", { class: "who" }, t(message.role === "user" ? "you" : "model")), body, cards);
  }

  function show() {
    fill(log, messages.length ? messages.map(bubble) : without ? nothing("chat", t("chat_no_model"), t("chat_no_model_next"), h("a", { class: "button", href: pathOf("settings", "llm") }, t("settings"))) : nothing("chat", t("chat_empty"), t("chat_empty_next")));
    log.scrollTop = log.scrollHeight;
  }

  function busy(now) {
    fill(send, icon(now ? "pause" : "send"), h("span", {}, t(now ? "stop" : "send")));
    send.setAttribute("aria-label", t(now ? "stop" : "send"));
  }

  async function ask() {
    const content = text.value.trim();
    if (!content) return;
    messages.push({ role: "user", content });
    const answer = { role: "assistant", content: "" };
    text.value = "";
    running = new AbortController();
    busy(true);
    const sent = messages.map(({ role, content: said }) => ({ role, content: said }));
    messages.push(answer);
    show();
    try {
      await stream(sent, answer, running.signal);
    } catch (error) {
      if (error.name !== "AbortError") {
        messages.splice(messages.indexOf(answer), 1);
        messages.pop();
        text.value = content;
        complain(error.code === "no_model" || error.status === 503 ? new Refused(503, { code: "no_model", message: `${t("chat_no_model")}. ${t("chat_no_model_next")}` }) : error);
      }
    }
    if (!answer.content) { const at = messages.indexOf(answer); if (at >= 0) messages.splice(at, 1); }
    running = null;
    busy(false);
    show();
    text.focus();
  }

  async function stream(sent, answer, signal) {
    const headers = { "Content-Type": "application/json", "X-Vaultd-Max-Memories": most.value };
    if (remembered.conversation) headers["X-Vaultd-Conversation"] = remembered.conversation;
    const response = await fetch("/v1/chat/completions", { method: "POST", signal, headers, body: JSON.stringify({ messages: sent, stream: true }) });
    if (!response.ok) {
      const said = await response.json().catch(() => null);
      throw new Refused(response.status, said?.error);
    }
    remembered.conversation = response.headers.get("X-Vaultd-Conversation") ?? remembered.conversation;
    const ids = (response.headers.get("X-Vaultd-Memories") ?? "").split(",").filter(Boolean);
    const topics = (response.headers.get("X-Vaultd-Topics") ?? "").split(",").map(decodeURIComponent);
    answer.topics = ids.map((id, i) => ({ id: id.trim(), topic: topics[i] ?? "" }));
    let left = "";
    let drawn = 0;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const lines = (left + value).split("\n");
      left = lines.pop();
      for (const line of lines) {
        if (!line.startsWith("data:")) continue;
        const data = line.slice(5).trim();
        if (data === "[DONE]") continue;
        answer.content += JSON.parse(data).choices?.[0]?.delta?.content ?? "";
      }
      if (performance.now() - drawn > 60) { show(); drawn = performance.now(); }
    }
  }

  show();
  get("/api/health").then(({ chat_problem: problem }) => { without = Boolean(problem); show(); }, complain);
  return { leave: () => running?.abort() };
}
