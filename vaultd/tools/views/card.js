// One memory as a card. Everything that a memory says is put in as text, never as markup.
"use strict";
const Card = (() => {
  function element(tag, text, className) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function bar(label, value) {
    const row = element("p", undefined, "bar");
    row.append(element("span", label));
    const meter = element("meter");
    meter.value = value;
    meter.setAttribute("aria-label", label);
    row.append(meter, element("span", value.toFixed(2)));
    return row;
  }

  function draw(place, memory, open) {
    place.replaceChildren();
    place.dataset.id = memory.id;
    const head = element("header");
    head.append(element("h1", (memory.pinned ? "📌 " : "") + memory.name));
    head.append(element("p", memory.domain.join(" · "), "faint"));
    place.append(head, element("div", memory.text, "text"));
    const facts = element("section");
    facts.append(...memory.mood.map(([label, value]) => bar(label, value)));
    facts.append(element("p", memory.facts.join(" · "), "faint"));
    if (memory.tags.length) facts.append(element("p", memory.tags.map((tag) => `#${tag}`).join(" ")));
    place.append(facts);
    if (memory.alike.length === 0) return;
    const list = element("ul");
    for (const other of memory.alike) {
      const button = element("button", other.name);
      button.type = "button";
      button.addEventListener("click", () => open(other.id));
      const item = element("li");
      item.append(button, element("span", ` ${Math.round(other.similarity * 100)} %`, "faint"));
      list.append(item);
    }
    place.append(element("h2", memory.alike_title), list);
  }

  async function show(place, id) {
    place.setAttribute("aria-busy", "true");
    try {
      const result = await Host.call("show_memory", { bucket_id: id });
      take(place, result);
    } catch (error) {
      place.replaceChildren(element("p", String(error.message)));
    } finally {
      place.removeAttribute("aria-busy");
    }
  }

  function take(place, result) {
    const memory = result._meta && result._meta["vaultd/memory"];
    if (memory) draw(place, memory, (id) => show(place, id));
    else place.replaceChildren(element("p", ((result.content || [])[0] || {}).text || ""));
    Host.tellSize();
  }

  return { show, take };
})();
