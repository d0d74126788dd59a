// Where the nodes of the network come to rest, away from the page's own thread.
/* global importScripts, d3 */
importScripts("../vendor/d3-dispatch.js", "../vendor/d3-quadtree.js", "../vendor/d3-timer.js", "../vendor/d3-force.js");

const TURN_MS = 30; // between two pictures
const MANY = 2_000; // nodes from which the layout is coarser: fewer steps, and nodes may touch

let simulation = null;
let nodes = [];
let held = null;

function send(done) {
  const places = new Float32Array(nodes.length * 2);
  nodes.forEach((node, i) => { places[2 * i] = node.x; places[2 * i + 1] = node.y; });
  postMessage({ places, done }, [places.buffer]);
}

function run() {
  clearTimeout(run.timer);
  // in turns, so that a message that comes in meanwhile is heard
  const turn = () => {
    const end = performance.now() + TURN_MS;
    do simulation.tick(); while (performance.now() < end && simulation.alpha() > simulation.alphaMin());
    const done = simulation.alpha() <= simulation.alphaMin();
    send(done);
    if (!done) run.timer = setTimeout(turn, 4);
  };
  turn();
}

onmessage = ({ data }) => {
  if (data.start) {
    const count = data.start.count;
    // the same start each time: a network that looks different at every visit cannot be learned
    nodes = Array.from({ length: count }, (_, i) => {
      const radius = 9 * Math.sqrt(i + 0.5);
      const angle = i * 2.399963;
      return { index: i, x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
    });
    const links = data.start.edges.map(([source, target, similarity]) => ({ source, target, similarity }));
    const many = count > MANY;
    simulation = d3.forceSimulation(nodes)
      .force("link", d3.forceLink(links).distance((link) => 26 + 60 * (1 - link.similarity)).strength((link) => 0.12 + 0.5 * link.similarity ** 2))
      .force("charge", d3.forceManyBody().strength(-42).distanceMax(many ? Infinity : 420).theta(many ? 0.9 : 1))
      .force("x", d3.forceX().strength(0.045))
      .force("y", d3.forceY().strength(0.045))
      .force("collide", many ? null : d3.forceCollide(9).iterations(1))
      .alphaDecay(many ? 0.05 : 0.025)
      .alphaMin(many ? 0.01 : 0.001)
      .stop();
    run();
  } else if (data.drag && simulation) {
    held = nodes[data.drag.node];
    held.fx = data.drag.x;
    held.fy = data.drag.y;
    if (simulation.alpha() < 0.15) simulation.alpha(0.2);
    run();
  } else if (data.drop && held) {
    held.fx = held.fy = null;
    held = null;
  }
};
