// Paints the network away from the page's own thread, so that panning and zooming stay fluid while thousands are drawn.
//
// Messages: {net: {names, edges}}, {looks: {colours, colour, radius, faded, text, halo, line, strong}}, {places}, and
// {view} which is answered by {bitmap, view}. Places are in the network's own units; a view says how they lie on the canvas.

const LABELS_FROM = 1.1; // zoom
const FEW = 150; // nodes whose names are always shown
const MOST_LABELS = 120;
const LONGEST_NAME = 24;
const LINES_A_PATH = 100; // a path of thousands of lines costs twice as much
const DOTS_A_PATH = 100;
const FAINTER_FROM = 2_500; // lines: more of them would hide the dots
const TINY = 2; // device pixels; smaller dots are squares

const canvas = new OffscreenCanvas(1, 1);
const context = canvas.getContext("2d");
let net = { names: [], edges: [] };
let neighbours = [];
let looks = null;
let places = new Float32Array(0);

function setNet(fresh) {
  net = fresh;
  neighbours = net.names.map(() => []);
  for (const [one, other] of net.edges) {
    neighbours[one].push(other);
    neighbours[other].push(one);
  }
}

/** Where every node lies on the canvas, in device pixels. */
function onCanvas(view) {
  const at = new Float32Array(places.length);
  for (let i = 0; i < at.length; i += 2) {
    at[i] = (view.width / 2 + view.x + places[i] * view.zoom) * view.ratio;
    at[i + 1] = (view.height / 2 + view.y + places[i + 1] * view.zoom) * view.ratio;
  }
  return at;
}

function paint(view) {
  const [width, height] = [Math.max(1, Math.round(view.width * view.ratio)), Math.max(1, Math.round(view.height * view.ratio))];
  if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
  context.clearRect(0, 0, width, height);
  if (!looks || places.length < 2 * net.names.length) return;
  const at = onCanvas(view);
  const focus = view.hovered >= 0 ? view.hovered : view.chosen;
  const near = focus >= 0 ? new Set([focus, ...neighbours[focus]]) : null;
  lines(at, focus, near);
  dots(at, view, near);
  if (view.chosen >= 0) ring(at, view);
  if (near || view.zoom >= LABELS_FROM || net.names.length <= FEW) labels(at, view, near);
}

function lines(at, focus, near) {
  const { width, height } = canvas;
  const thin = 0.4 * Math.min(1, Math.sqrt(FAINTER_FROM / Math.max(net.edges.length, 1)));
  context.lineWidth = 1; // one device pixel: wider lines cost many times as much
  for (const strong of near ? [false, true] : [false]) {
    context.strokeStyle = strong ? looks.strong : looks.line;
    context.globalAlpha = strong ? 0.9 : near ? 0.4 * thin : thin;
    let drawn = 0;
    context.beginPath();
    for (const [one, other] of net.edges) {
      if ((one === focus || other === focus) !== strong || looks.faded[one] || looks.faded[other]) continue;
      const [x, y, u, v] = [at[2 * one], at[2 * one + 1], at[2 * other], at[2 * other + 1]];
      if ((x < 0 && u < 0) || (y < 0 && v < 0) || (x > width && u > width) || (y > height && v > height)) continue;
      context.moveTo(x, y);
      context.lineTo(u, v);
      if (++drawn % LINES_A_PATH === 0) { context.stroke(); context.beginPath(); }
    }
    context.stroke();
  }
}

/** One colour after the other: setting a colour costs more than a dot. */
function dots(at, view, near) {
  const groups = new Map();
  const scale = view.zoom * view.ratio;
  for (let i = 0; i < net.names.length; i++) {
    const radius = looks.radius[i] * scale;
    if (at[2 * i] < -radius || at[2 * i + 1] < -radius || at[2 * i] > canvas.width + radius || at[2 * i + 1] > canvas.height + radius) continue;
    const key = looks.colour[i] * 2 + (looks.faded[i] || (near && !near.has(i)) ? 1 : 0);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(i);
  }
  for (const [key, members] of groups) {
    context.globalAlpha = key % 2 ? 0.18 : 1;
    context.fillStyle = looks.colours[key >> 1];
    context.beginPath();
    members.forEach((i, turn) => {
      const [x, y, radius] = [at[2 * i], at[2 * i + 1], looks.radius[i] * scale];
      if (radius < TINY) { context.fillRect(x - radius, y - radius, 2 * radius, 2 * radius); return; }
      context.moveTo(x + radius, y);
      context.arc(x, y, radius, 0, 2 * Math.PI);
      if (turn % DOTS_A_PATH === DOTS_A_PATH - 1) { context.fill(); context.beginPath(); }
    });
    context.fill();
  }
  context.globalAlpha = 1;
}

function ring(at, view) {
  context.beginPath();
  context.arc(at[2 * view.chosen], at[2 * view.chosen + 1], (looks.radius[view.chosen] * view.zoom + 4) * view.ratio, 0, 2 * Math.PI);
  context.strokeStyle = looks.text;
  context.lineWidth = 2 * view.ratio;
  context.stroke();
}

function labels(at, view, near) {
  const { ratio } = view;
  context.font = `${12 * ratio}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.lineJoin = "round";
  context.lineWidth = 3 * ratio;
  context.strokeStyle = looks.halo;
  context.fillStyle = looks.text;
  const inside = (i) => at[2 * i] >= 0 && at[2 * i + 1] >= 0 && at[2 * i] <= canvas.width && at[2 * i + 1] <= canvas.height;
  const candidates = net.names.map((_, i) => i).filter((i) => (near ? near.has(i) : !looks.faded[i]) && inside(i)).sort((a, b) => looks.radius[b] - looks.radius[a]);
  const taken = [];
  for (const i of candidates) {
    const [x, y] = [at[2 * i], at[2 * i + 1]];
    const name = net.names[i].length > LONGEST_NAME ? `${net.names[i].slice(0, LONGEST_NAME - 1)}…` : net.names[i];
    const half = context.measureText(name).width / 2 + 2 * ratio;
    // a name that would cover another stays away
    if (taken.some(([u, v, room]) => Math.abs(u - x) < half + room && Math.abs(v - y) < 16 * ratio)) continue;
    taken.push([x, y, half]);
    if (taken.length > MOST_LABELS) break;
    const below = y + (looks.radius[i] * view.zoom + 13) * ratio;
    context.strokeText(name, x, below);
    context.fillText(name, x, below);
  }
}

onmessage = ({ data }) => {
  if (data.net) setNet(data.net);
  if (data.looks) looks = data.looks;
  if (data.places) places = data.places;
  if (!data.view) return;
  paint(data.view);
  const bitmap = canvas.transferToImageBitmap();
  postMessage({ bitmap, view: data.view }, [bitmap]);
};
