// The network drawn on a canvas: pan, zoom, drag, point at, choose.

const LEAST_ZOOM = 0.08;
const MOST_ZOOM = 6;
const LABELS_FROM = 1.1; // zoom

/** A canvas that draws nodes and edges. `look(i)` gives {colour, radius, faded, ring}; `choose(i)` is called on a click. */
export class Graph {
  constructor(canvas, { look, choose, over, drag, drop }) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.look = look;
    this.choose = choose;
    this.over = over;
    this.drag = drag;
    this.drop = drop;
    this.places = new Float32Array(0);
    this.edges = [];
    this.names = [];
    this.zoom = 1;
    this.x = 0;
    this.y = 0;
    this.hovered = -1;
    this.chosen = -1;
    this.following = true; // fits the view until a person takes it over
    this.pointers = new Map();
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(canvas);
    this.listenToPointers();
    this.resize();
  }

  leave() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
  }

  set(names, edges) {
    this.names = names;
    this.edges = edges;
    this.neighbours = names.map(() => []);
    for (const [one, other] of edges) {
      this.neighbours[one].push(other);
      this.neighbours[other].push(one);
    }
    this.hovered = this.chosen = -1;
    this.following = true;
  }

  put(places) {
    this.places = places;
    if (this.following) this.fit();
    this.draw();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const ratio = devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.ratio = ratio;
    if (this.following) this.fit();
    this.draw();
  }

  /** Zoom so that all nodes are seen. */
  fit() {
    const { places } = this;
    if (!places.length || !this.width) return;
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < places.length; i += 2) {
      left = Math.min(left, places[i]); right = Math.max(right, places[i]);
      top = Math.min(top, places[i + 1]); bottom = Math.max(bottom, places[i + 1]);
    }
    const room = this.inset ?? 0;
    const across = Math.max(right - left, 60) + 60;
    const down = Math.max(bottom - top, 60) + 60;
    this.zoom = Math.min(Math.max(Math.min((this.width - room) / across, this.height / down), LEAST_ZOOM), 1.8);
    this.x = room / 2 - ((left + right) / 2) * this.zoom;
    this.y = -((top + bottom) / 2) * this.zoom;
  }

  /** Bring a node to the middle. */
  centre(i) {
    this.following = false;
    this.zoom = Math.max(this.zoom, 1.4);
    this.x = (this.inset ?? 0) / 2 - this.places[2 * i] * this.zoom;
    this.y = -this.places[2 * i + 1] * this.zoom;
    this.draw();
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.paint());
  }

  paint() {
    const { context, places, zoom } = this;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const looks = this.names.map((_, i) => this.look(i));
    const focus = this.hovered >= 0 ? this.hovered : this.chosen;
    const near = focus >= 0 ? new Set([focus, ...this.neighbours[focus]]) : null;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.translate(this.width / 2 + this.x, this.height / 2 + this.y);
    context.scale(zoom, zoom);
    if (places.length < 2 * this.names.length) return;

    context.lineWidth = 1 / zoom;
    for (const strong of [false, true]) {
      context.beginPath();
      for (const [one, other] of this.edges) {
        const touched = focus >= 0 && (one === focus || other === focus);
        if (touched !== strong || looks[one].faded || looks[other].faded) continue;
        context.moveTo(places[2 * one], places[2 * one + 1]);
        context.lineTo(places[2 * other], places[2 * other + 1]);
      }
      context.strokeStyle = colour(strong ? "--accent" : "--faint");
      context.globalAlpha = strong ? 0.9 : near ? 0.15 : 0.4;
      context.stroke();
    }
    // one path a colour: thousands of nodes in a handful of calls
    const groups = new Map();
    looks.forEach((look, i) => {
      const dim = look.faded || (near && !near.has(i));
      const key = `${look.colour}|${dim}`;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(i);
    });
    for (const [key, members] of groups) {
      const [name, dim] = key.split("|");
      context.globalAlpha = dim === "true" ? 0.18 : 1;
      context.fillStyle = name.startsWith("--") ? colour(name) : name;
      context.beginPath();
      for (const i of members) {
        const radius = looks[i].radius;
        context.moveTo(places[2 * i] + radius, places[2 * i + 1]);
        context.arc(places[2 * i], places[2 * i + 1], radius, 0, 2 * Math.PI);
      }
      context.fill();
    }
    context.globalAlpha = 1;
    if (this.chosen >= 0) {
      context.beginPath();
      context.arc(places[2 * this.chosen], places[2 * this.chosen + 1], looks[this.chosen].radius + 4 / zoom, 0, 2 * Math.PI);
      context.strokeStyle = colour("--text");
      context.lineWidth = 2 / zoom;
      context.stroke();
    }
    this.label(looks, near, colour("--text"), colour("--page"));
  }

  label(looks, near, text, halo) {
    const { context, places, zoom } = this;
    const few = this.names.length <= 150;
    if (!near && zoom < LABELS_FROM && !few) return;
    context.font = `${12 / zoom}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.lineJoin = "round";
    const taken = [];
    const order = this.names.map((_, i) => i).filter((i) => (near ? near.has(i) : !looks[i].faded)).sort((a, b) => looks[b].radius - looks[a].radius);
    for (const i of order) {
      const [x, y] = [places[2 * i], places[2 * i + 1]];
      const [sx, sy] = [x * zoom + this.x, y * zoom + this.y];
      if (Math.abs(sx) > this.width / 2 || Math.abs(sy) > this.height / 2) continue;
      const name = this.names[i].length > 24 ? `${this.names[i].slice(0, 23)}…` : this.names[i];
      const half = name.length * 4.2;
      // a name that would cover another stays away
      if (taken.some(([tx, ty, th]) => Math.abs(tx - sx) < half + th && Math.abs(ty - sy) < 16)) continue;
      taken.push([sx, sy, half]);
      if (taken.length > 120) break;
      const below = y + looks[i].radius + 13 / zoom;
      context.strokeStyle = halo;
      context.lineWidth = 3 / zoom;
      context.strokeText(name, x, below);
      context.fillStyle = text;
      context.fillText(name, x, below);
    }
  }

  /** The node at a place of the canvas, -1 where there is none. */
  at(px, py) {
    const x = (px - this.width / 2 - this.x) / this.zoom;
    const y = (py - this.height / 2 - this.y) / this.zoom;
    let best = -1;
    let nearest = Infinity;
    for (let i = 0; i < this.names.length; i++) {
      const look = this.look(i);
      if (look.faded) continue;
      const distance = Math.hypot(this.places[2 * i] - x, this.places[2 * i + 1] - y);
      if (distance < look.radius + 6 / this.zoom && distance < nearest) { best = i; nearest = distance; }
    }
    return best;
  }

  world(px, py) {
    return [(px - this.width / 2 - this.x) / this.zoom, (py - this.height / 2 - this.y) / this.zoom];
  }

  zoomBy(factor, px, py) {
    const zoom = Math.min(Math.max(this.zoom * factor, LEAST_ZOOM), MOST_ZOOM);
    const [cx, cy] = [px - this.width / 2, py - this.height / 2];
    this.x = cx - ((cx - this.x) * zoom) / this.zoom;
    this.y = cy - ((cy - this.y) * zoom) / this.zoom;
    this.zoom = zoom;
    this.following = false;
    this.draw();
  }

  listenToPointers() {
    const { canvas, pointers } = this;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY * 0.0016), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
      this.moved = 0;
      this.held = pointers.size === 1 ? this.at(event.offsetX, event.offsetY) : -1;
    });
    canvas.addEventListener("pointermove", (event) => this.pointerMoved(event));
    const up = (event) => {
      if (!pointers.delete(event.pointerId)) return;
      if (this.held >= 0 && this.moved >= 4) this.drop();
      else if (this.moved < 4 && event.type === "pointerup") {
        this.chosen = this.held;
        this.draw();
        this.choose(this.held);
      }
      this.held = -1;
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => { this.hovered = -1; this.over(-1); this.draw(); });
  }

  pointerMoved(event) {
    const { pointers } = this;
    const before = pointers.get(event.pointerId);
    if (!before) {
      const now = this.at(event.offsetX, event.offsetY);
      this.canvas.classList.toggle("over", now >= 0);
      if (now !== this.hovered) { this.hovered = now; this.draw(); }
      this.over(now, event.offsetX, event.offsetY);
      return;
    }
    const [dx, dy] = [event.offsetX - before[0], event.offsetY - before[1]];
    this.moved += Math.abs(dx) + Math.abs(dy);
    if (pointers.size === 2) {
      const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
      const spread = (place) => Math.hypot(place[0] - other[0], place[1] - other[1]);
      const now = [event.offsetX, event.offsetY];
      this.zoomBy(spread(now) / Math.max(spread(before), 1), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    } else if (this.held >= 0 && this.moved >= 4) {
      this.following = false;
      this.drag(this.held, ...this.world(event.offsetX, event.offsetY));
    } else if (this.held < 0) {
      this.following = false;
      this.x += dx;
      this.y += dy;
      this.draw();
    }
    pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
  }
}
