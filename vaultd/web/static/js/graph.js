// The network on a canvas: pan, zoom, drag, point at, choose. A worker paints; this shows its pictures.

const LEAST_ZOOM = 0.08;
const MOST_ZOOM = 6;
const ROOM_ACROSS = 60; // pixels at each side, where half a name stands
const ROOM_DOWN = 30;

/** A canvas with nodes and edges. `look(i)` gives {colour, radius, faded}; `choose(i)` is called on a click. */
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
    this.names = [];
    this.zoom = 1;
    this.x = 0;
    this.y = 0;
    this.hovered = -1;
    this.chosen = -1;
    this.inset = { left: 0, top: 0 }; // what lies over the canvas, in pixels
    this.following = true; // fits the view until a person takes it over
    this.pointers = new Map();
    this.looks = [];
    this.picture = null; // {bitmap, view, complete}
    this.painting = false;
    this.painter = new Worker("/static/js/network-painter.js");
    this.painter.onmessage = ({ data }) => this.painted(data);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(canvas);
    this.listenToPointers();
    this.resize();
  }

  leave() {
    this.observer.disconnect();
    this.painter.terminate();
    this.picture?.bitmap.close();
    cancelAnimationFrame(this.frame);
  }

  set(names, edges) {
    this.names = names;
    this.painter.postMessage({ net: { names, edges } });
    this.hovered = this.chosen = -1;
    this.following = true;
    this.put(new Float32Array(0));
    this.restyle();
  }

  /** New places; `resting` when they are the last ones. The canvas says `drawn` and `settled` once they are seen. */
  put(places, resting = false) {
    this.places = this.news = places;
    this.resting = resting;
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
    const { left: beside, top: above } = this.inset;
    const across = this.width - beside - 2 * ROOM_ACROSS;
    const down = this.height - above - 2 * ROOM_DOWN;
    this.zoom = Math.min(Math.max(Math.min(across / Math.max(right - left, 60), down / Math.max(bottom - top, 60)), LEAST_ZOOM), 1.8);
    this.x = beside / 2 - ((left + right) / 2) * this.zoom;
    this.y = above / 2 - ((top + bottom) / 2) * this.zoom;
  }

  /** Bring a node to the middle. */
  centre(i) {
    this.following = false;
    this.zoom = Math.max(this.zoom, 1.4);
    this.x = this.inset.left / 2 - this.places[2 * i] * this.zoom;
    this.y = this.inset.top / 2 - this.places[2 * i + 1] * this.zoom;
    this.draw();
  }

  /** Show the newest picture where it belongs now, and ask for the next one. */
  draw() {
    this.stale = true;
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.show());
  }

  show() {
    this.blit();
    this.ask();
    if (this.picture?.complete) this.canvas.dataset.drawn = "true";
    if (this.resting && !this.painting) this.canvas.dataset.settled = "true";
  }

  /** A picture that was painted for another view is moved and stretched until its successor is there. */
  blit() {
    const { context, picture, ratio } = this;
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    if (!picture) return;
    const { bitmap, view } = picture;
    const scale = this.zoom / view.zoom;
    const left = this.width / 2 + this.x - (view.width / 2 + view.x) * scale;
    const top = this.height / 2 + this.y - (view.height / 2 + view.y) * scale;
    context.drawImage(bitmap, left * ratio, top * ratio, bitmap.width * scale * (ratio / view.ratio), bitmap.height * scale * (ratio / view.ratio));
  }

  ask() {
    if (!this.stale || this.painting || !this.width) return;
    this.stale = false;
    this.painting = true;
    const { width, height, ratio, zoom, x, y, hovered, chosen } = this;
    this.painter.postMessage({ view: { width, height, ratio, zoom, x, y, hovered, chosen }, places: this.news });
    this.news = undefined;
  }

  painted({ bitmap, view }) {
    this.picture?.bitmap.close();
    this.picture = { bitmap, view, complete: this.places.length > 0 };
    this.painting = false;
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.show());
  }

  /** Work out anew how every node looks: after a filter, another way of colouring, another theme. */
  restyle() {
    const style = getComputedStyle(document.documentElement);
    const named = (name) => (name.startsWith("--") ? style.getPropertyValue(name).trim() : name);
    this.looks = this.names.map((_, i) => this.look(i));
    const colours = [...new Set(this.looks.map((look) => look.colour))];
    const number = new Map(colours.map((name, i) => [name, i]));
    this.painter.postMessage({ looks: {
      colours: colours.map(named),
      colour: Uint16Array.from(this.looks, (look) => number.get(look.colour)),
      radius: Float32Array.from(this.looks, (look) => look.radius),
      faded: Uint8Array.from(this.looks, (look) => (look.faded ? 1 : 0)),
      text: named("--text"), halo: named("--page"), line: named("--faint"), strong: named("--accent"),
    } });
    this.draw();
  }

  /** The node at a place of the canvas, -1 where there is none. */
  at(px, py) {
    const x = (px - this.width / 2 - this.x) / this.zoom;
    const y = (py - this.height / 2 - this.y) / this.zoom;
    let best = -1;
    let nearest = Infinity;
    for (let i = 0; 2 * i < this.places.length; i++) {
      const look = this.looks[i];
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
