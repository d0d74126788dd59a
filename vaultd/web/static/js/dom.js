// Elements by calls. Text is always text: nothing here takes HTML.

const SVG = "http://www.w3.org/2000/svg";

/** An element: `h("button", {class: "plain", onclick: f, disabled: true}, "text", child, …)`. */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  assign(element, props);
  append(element, children);
  return element;
}

function assign(element, props) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, to] of Object.entries(value)) element.style.setProperty(key, to);
    else if (name === "value") element.value = value;
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
}

/** Put children into an element; lists are flattened, nothing and false left out. */
export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

/** Replace everything in an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  return append(element, children);
}

const PATHS = {
  memories: "M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h11M9 8h6",
  breath: "M3 9h10.5a2.5 2.5 0 1 0-2.4-3.2M3 13h15a3 3 0 1 1-2.9 3.8M3 17h7.5a2 2 0 1 1-1.9 2.6",
  network: "M6 8.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM18 12a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM9 20.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM8.3 6.8l7.3 2M6.6 8.4l1.8 7.2M11 16.6l5.3-5.2",
  cards: "M4 8h12a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V9a1 1 0 0 1 1-1zM7 4h13a1 1 0 0 1 1 1v11M7 12h6M7 16h4",
  chat: "M4 5h16a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1h-9l-5 4v-4H4a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1z",
  import: "M12 3v11m0 0 4-4m-4 4-4-4M4 16v3a1 1 0 0 0 1 1h14a1 1 0 0 0 1-1v-3",
  settings: "M4 7h9m5 0h2M4 17h2m5 0h9M15.5 9.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM8.5 19.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z",
  health: "M3 12h4l2.5-7 5 14L17 12h4",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5 20 20",
  pin: "M9 4h6l-1 6 3 3v2H7v-2l3-3zM12 15v6",
  check: "m5 12.5 4.5 4.5L19 7.5",
  archive: "M4 5h16v4H4zM5.5 9v10h13V9M10 13h4",
  restore: "M4 5v5h5M4.6 10a8 8 0 1 1-.6 4",
  edit: "m14.5 5.5 4 4L8 20H4v-4zM12.5 7.5l4 4",
  trash: "M5 7h14M9.5 7V4h5v3M7 7l1 13h8l1-13M10.5 11v5M13.5 11v5",
  open: "M14 4h6v6M20 4l-9 9M18 14v5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V7a1 1 0 0 1 1-1h5",
  plus: "M12 5v14M5 12h14",
  close: "M6 6l12 12M18 6 6 18",
  back: "M14.5 5.5 8 12l6.5 6.5",
  more: "M5.5 12h.01M12 12h.01M18.5 12h.01",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M18.7 5.3l-1.4 1.4M6.7 17.3l-1.4 1.4",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z",
  keyboard: "M3 7h18v11H3zM7 11h.01M11 11h.01M15 11h.01M8 14.5h8",
  send: "M4 12 20 5l-5 15-3.5-6.5z",
  pause: "M9 6v12M15 6v12",
  play: "M8 5.5v13l10-6.5z",
  sort: "M7 5v14m0 0-3-3m3 3 3-3M17 19V5m0 0-3 3m3-3 3 3",
  filter: "M4 6h16M7 12h10M10 18h4",
  alert: "M12 4.5 21 19.5H3zM12 10v4.5M12 17h.01",
  info: "M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16zM12 11v5M12 8h.01",
  clock: "M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16zM12 8v4.5l3 1.5",
  robot: "M6 9h12v10H6zM12 9V5M12 5h.01M9.5 13.5h.01M14.5 13.5h.01M3.5 13v2M20.5 13v2",
};

/** An icon; it says nothing to a screen reader. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", "icon");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name] ?? PATHS.more);
  svg.append(path);
  return svg;
}

/** An SVG element of its own. */
export function s(tag, props = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props)) element.setAttribute(name, value);
  return append(element, children);
}

/** Call once the calls have stopped for a while. */
export function calmly(wait, call) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...args), wait);
  };
}
