// The network: nodes push each other away, edges pull, until it rests; a click opens the memory beside it.
"use strict";
const canvas = document.getElementById("network");
const card = document.getElementById("card");
const list = document.getElementById("list");
const MOST_NAMES = 30; // of the first, which matter most, those that hide no other
let nodes = [];
let edges = [];
let chosen = -1;

function settle() {
  const size = 60 * Math.sqrt(nodes.length + 1);
  nodes.forEach((node, i) => {
    const angle = i * 2.399963; // the golden angle spreads them evenly
    node.x = size * Math.sqrt((i + 0.5) / nodes.length) * Math.cos(angle);
    node.y = size * Math.sqrt((i + 0.5) / nodes.length) * Math.sin(angle);
  });
  for (let step = 0; step < 150; step += 1) move(1 - step / 150);
}

function move(heat) {
  for (const node of nodes) {
    node.dx = -node.x * 0.01;
    node.dy = -node.y * 0.01;
  }
  for (let i = 0; i < nodes.length; i += 1) {
    for (let j = i + 1; j < nodes.length; j += 1) {
      const x = nodes[i].x - nodes[j].x;
      const y = nodes[i].y - nodes[j].y;
      const push = 900 / (x * x + y * y + 40);
      nodes[i].dx += x * push * 0.1;
      nodes[i].dy += y * push * 0.1;
      nodes[j].dx -= x * push * 0.1;
      nodes[j].dy -= y * push * 0.1;
    }
  }
  for (const [i, j, alike] of edges) {
    const x = nodes[j].x - nodes[i].x;
    const y = nodes[j].y - nodes[i].y;
    const pull = 0.03 * alike;
    nodes[i].dx += x * pull;
    nodes[i].dy += y * pull;
    nodes[j].dx -= x * pull;
    nodes[j].dy -= y * pull;
  }
  for (const node of nodes) {
    const length = Math.hypot(node.dx, node.dy) || 1;
    const most = Math.min(length, 20 * heat);
    node.x += (node.dx / length) * most;
    node.y += (node.dy / length) * most;
  }
}

function hue(domain) {
  let sum = 0;
  for (const character of domain) sum = (sum * 31 + character.codePointAt(0)) % 360;
  return sum;
}

// fills the frame: wide frames are common, and only who is near whom matters
function place() {
  const width = canvas.clientWidth || 600;
  const height = canvas.clientHeight || 380;
  const reach = (axis) => nodes.reduce((most, node) => Math.max(most, Math.abs(node[axis])), 1);
  const across = (width / 2 - 16) / reach("x");
  const down = (height / 2 - 16) / reach("y");
  return { width, height, at: (node) => [width / 2 + node.x * across, height / 2 + node.y * down] };
}

function radius(node) {
  return 3 + Math.min(node.importance, 10) * 0.6;
}

function paint() {
  const pen = canvas.getContext && canvas.getContext("2d");
  if (!pen) return;
  const { width, height, at } = place();
  const density = window.devicePixelRatio || 1;
  canvas.width = width * density;
  canvas.height = height * density;
  pen.scale(density, density);
  const style = getComputedStyle(document.documentElement);
  pen.strokeStyle = style.getPropertyValue("--line");
  for (const [i, j] of edges) {
    pen.beginPath();
    pen.moveTo(...at(nodes[i]));
    pen.lineTo(...at(nodes[j]));
    pen.stroke();
  }
  nodes.forEach((node, i) => {
    const [x, y] = at(node);
    pen.globalAlpha = node.resolved ? 0.4 : 1;
    pen.fillStyle = `hsl(${hue(node.domain)} 55% 55%)`;
    pen.beginPath();
    pen.arc(x, y, radius(node) + (i === chosen ? 3 : 0), 0, 2 * Math.PI);
    pen.fill();
  });
  pen.globalAlpha = 1;
  pen.fillStyle = style.getPropertyValue("--text");
  pen.font = "12px system-ui, sans-serif";
  const taken = [];
  for (const node of nodes.slice(0, MOST_NAMES)) {
    const [x, y] = at(node);
    const name = node.name.length > 24 ? `${node.name.slice(0, 23)}…` : node.name;
    const wide = pen.measureText(name).width;
    const before = x + radius(node) + 3 + wide > width; // no room at its right
    const left = before ? x - radius(node) - 3 - wide : x + radius(node) + 3;
    if (taken.some((other) => Math.abs(other.y - y) < 15 && left < other.right && other.left < left + wide)) continue;
    taken.push({ left, right: left + wide, y });
    pen.fillText(name, left, y + 4);
  }
}

function open(i) {
  chosen = i;
  paint();
  Card.show(card, nodes[i].id);
}

canvas.addEventListener("click", (event) => {
  const { at } = place();
  let best = -1;
  let least = 20;
  nodes.forEach((node, i) => {
    const [x, y] = at(node);
    const away = Math.hypot(x - event.offsetX, y - event.offsetY);
    if (away < least) [least, best] = [away, i];
  });
  if (best >= 0) open(best);
});
addEventListener("resize", paint);
if (window.matchMedia) matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);

Host.start("vaultd-network", {
  dressed: paint,
  result: (result) => {
    const network = result._meta && result._meta["vaultd/network"];
    const said = ((result.content || [])[0] || {}).text || "";
    document.getElementById("summary").textContent = network ? network.summary : said;
    document.querySelector("details").hidden = canvas.hidden = !network;
    if (!network) return;
    document.getElementById("all").textContent = network.all;
    nodes = network.nodes;
    edges = network.edges;
    settle();
    paint();
    list.replaceChildren(
      ...nodes.map((node, i) => {
        const item = document.createElement("li");
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = node.name;
        button.addEventListener("click", () => open(i));
        item.append(button);
        return item;
      }),
    );
    Host.tellSize();
  },
});
