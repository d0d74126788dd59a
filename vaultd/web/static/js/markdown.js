// Notes → elements in which nothing can run: Markdown without HTML, then a sanitiser, then the page's own policy.

import MarkdownIt from "../vendor/markdown-it.js";
import purify from "../vendor/purify.js";
import { t } from "./i18n.js";

const md = new MarkdownIt({ html: false, linkify: true, breaks: true, typographer: false });

// [[target|shown]] and ![[embed]]
md.inline.ruler.before("link", "wikilink", (state, silent) => {
  const match = /^(!?)\[\[([^\[\]\n]+)\]\]/.exec(state.src.slice(state.pos));
  if (!match) return false;
  if (!silent) {
    const [target, shown] = match[2].split("|");
    const token = state.push("wikilink", "", 0);
    token.meta = { target: target.split("#")[0].trim(), shown: (shown ?? target).trim(), embed: match[1] === "!" };
  }
  state.pos += match[0].length;
  return true;
});

md.renderer.rules.wikilink = (tokens, i) => {
  const { target, shown, embed } = tokens[i].meta;
  const escape = md.utils.escapeHtml;
  if (embed) return `<span class="embed">${escape(shown)}</span>`;
  return `<a class="wikilink" href="/dashboard/memories?q=${encodeURIComponent(target)}">${escape(shown)}</a>`;
};

// pictures are not fetched: a note must not tell anybody that it was read
md.renderer.rules.image = (tokens, i) => {
  const source = tokens[i].attrGet("src") ?? "";
  const name = tokens[i].content || source;
  const label = md.utils.escapeHtml(`${t("picture")}: ${name}`);
  return /^https?:/i.test(source) ? `<a class="embed" href="${md.utils.escapeHtml(source)}">${label}</a>` : `<span class="embed">${label}</span>`;
};

const TAGS = ["p", "br", "hr", "em", "strong", "s", "del", "code", "pre", "blockquote", "ul", "ol", "li", "a", "span",
  "h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"];
const CLASSES = new Set(["wikilink", "embed"]);

const RULES = {
  ALLOWED_TAGS: TAGS,
  ALLOWED_ATTR: ["href", "title", "class", "start"],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|obsidian:|\/dashboard\/)/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

/** A note's text as an element. Headings begin below the page's own. */
export function note(text) {
  const fragment = purify.sanitize(md.render(text), RULES);
  const element = document.createElement("div");
  element.className = "note";
  element.append(fragment);
  for (const one of element.querySelectorAll("[class]")) if (!CLASSES.has(one.className)) one.removeAttribute("class");
  for (const heading of element.querySelectorAll("h1,h2,h3,h4,h5")) lower(heading);
  for (const link of element.querySelectorAll("a[href]")) {
    if (link.classList.contains("wikilink")) continue;
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
  }
  for (const wide of element.querySelectorAll("pre, table")) {
    wide.tabIndex = 0;
    if (wide.tagName === "TABLE") {
      const box = document.createElement("div");
      box.className = "wide";
      wide.replaceWith(box);
      wide.removeAttribute("tabindex");
      box.append(wide);
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", t("table"));
    }
  }
  return element;
}

function lower(heading) {
  const level = Math.min(Number(heading.tagName[1]) + 2, 6);
  const replacement = document.createElement(`h${level}`);
  replacement.append(...heading.childNodes);
  heading.replaceWith(replacement);
}
