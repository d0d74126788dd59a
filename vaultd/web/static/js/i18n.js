// Chinese and English. The browser's wish counts until a person chooses.

import en from "./text/en.js";

let words = en;
export let language = "en";

function wish() {
  try {
    const chosen = localStorage.getItem("vaultd.language");
    if (chosen === "zh" || chosen === "en") return chosen;
  } catch {
    // storage is switched off
  }
  for (const tag of navigator.languages ?? [navigator.language]) {
    if (tag.toLowerCase().startsWith("zh")) return "zh";
    if (tag.toLowerCase().startsWith("en")) return "en";
  }
  return "en";
}

/** Load the words; call once before the first page. */
export async function ready() {
  language = wish();
  if (language === "zh") words = { ...en, ...(await import("./text/zh.js")).default };
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
}

/** Remember the other language and load the page anew. */
export function switchLanguage() {
  localStorage.setItem("vaultd.language", language === "zh" ? "en" : "zh");
  location.reload();
}

/** The words for a key, with `{name}` filled in; a key without words is shown itself. */
export function t(key, values = {}) {
  let text = words[key] ?? key;
  if (typeof text === "object") text = Number(values.count) === 1 ? text.one : text.many;
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

/** Whether there are words for a key. */
export const has = (key) => key in words;

const locale = () => (language === "zh" ? "zh-CN" : "en-GB");

export const number = (value, digits = 0) =>
  value.toLocaleString(locale(), { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** A date, with the year where it is not this one. */
export function day(text) {
  const when = new Date(text);
  const options = { month: "short", day: "numeric" };
  if (when.getFullYear() !== new Date().getFullYear()) options.year = "numeric";
  return when.toLocaleDateString(locale(), options);
}

export const moment = (text) =>
  new Date(text).toLocaleString(locale(), { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });

const UNITS = [["year", 31_557_600], ["month", 2_629_800], ["week", 604_800], ["day", 86_400], ["hour", 3_600], ["minute", 60]];

/** How long ago, in words. */
export function ago(text) {
  const seconds = (new Date(text) - Date.now()) / 1000;
  const format = new Intl.RelativeTimeFormat(locale(), { numeric: "auto", style: "short" });
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return format.format(Math.round(seconds / size), unit);
  }
  return t("just_now");
}

export function bytes(size) {
  return size < 1024 * 1024 ? `${number(size / 1024, size < 10240 ? 1 : 0)} KB` : `${number(size / 1024 / 1024, 1)} MB`;
}
