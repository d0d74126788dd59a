// Speaks to the program that shows this view: JSON-RPC messages to the frame around it (MCP Apps, 2026-01-26).
"use strict";
const Host = (() => {
  let last = 0;
  const waiting = new Map();
  const listeners = { result: () => {}, dressed: () => {} };
  const post = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

  function request(method, params) {
    return new Promise((resolve, reject) => {
      last += 1;
      waiting.set(last, { resolve, reject });
      post({ id: last, method, params });
    });
  }

  function take(message) {
    if (message.method === undefined) {
      const asked = waiting.get(message.id);
      waiting.delete(message.id);
      if (asked) message.error ? asked.reject(new Error(message.error.message)) : asked.resolve(message.result);
      return;
    }
    if (message.method === "ui/notifications/tool-result") listeners.result(message.params);
    if (message.method === "ui/notifications/host-context-changed") dress(message.params);
    if (message.id !== undefined) post({ id: message.id, result: {} });
  }

  function dress(context) {
    if (!context || !context.theme) return;
    document.documentElement.dataset.theme = context.theme;
    listeners.dressed();
  }

  function tellSize() {
    const { width, height } = document.documentElement.getBoundingClientRect();
    post({ method: "ui/notifications/size-changed", params: { width: Math.ceil(width), height: Math.ceil(height) } });
  }

  async function start(name, heard) {
    Object.assign(listeners, heard);
    addEventListener("message", (event) => {
      // only the frame around us may tell us anything
      if (event.source === parent && event.data && event.data.jsonrpc === "2.0") take(event.data);
    });
    const answer = await request("ui/initialize", {
      protocolVersion: "2026-01-26",
      appInfo: { name, version: "1" },
      appCapabilities: {},
    });
    dress(answer.hostContext);
    post({ method: "ui/notifications/initialized", params: {} });
    if (window.ResizeObserver) new ResizeObserver(tellSize).observe(document.documentElement);
    tellSize();
  }

  return { start, call: (name, args) => request("tools/call", { name, arguments: args }), tellSize };
})();
