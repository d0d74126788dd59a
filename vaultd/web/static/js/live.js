// The daemon's events, for whoever listens: change, progress, decay, import, reset; and whether it is there at all.

const listeners = new Map();
let source = null;
let connected = null;

/** Hear of a kind of event; returns what ends it. `state` events carry true or false. */
export function listen(kind, call) {
  if (!listeners.has(kind)) listeners.set(kind, new Set());
  listeners.get(kind).add(call);
  if (kind === "state" && connected !== null) call(connected);
  return () => listeners.get(kind).delete(call);
}

function tell(kind, data) {
  for (const call of [...(listeners.get(kind) ?? [])]) call(data);
}

function setConnected(now) {
  if (connected === now) return;
  connected = now;
  tell("state", now);
}

/** Connect; the browser connects again by itself after a break. */
export function connect() {
  source = new EventSource("/api/events");
  source.addEventListener("open", () => setConnected(true));
  source.addEventListener("error", () => {
    setConnected(false);
    // a browser gives up after some kinds of failure; a new daemon deserves a new try
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, 3000);
  });
  for (const kind of ["change", "progress", "decay", "import", "reset"]) {
    source.addEventListener(kind, (event) => tell(kind, JSON.parse(event.data)));
  }
}
