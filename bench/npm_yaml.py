"""The npm package `yaml`, which Obsidian reads frontmatter with, asked from Python.

Needs node, and the package installed somewhere: `npm install --prefix DIR yaml`.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vaultd.core.note import PropertyValue

_SCRIPT = r"""
const YAML = require(process.argv[1]);
process.on('warning', () => {});
const encode = (value) => {
  if (typeof value === 'number' && !Number.isFinite(value)) return {$number: String(value)};
  if (Array.isArray(value)) return value.map(encode);
  if (value instanceof Date || value instanceof Uint8Array) return {$other: true};
  if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, encode(v)]));
  return value === undefined ? null : value;
};
const read = (text) => {
  try {
    const document = YAML.parseDocument(text, {logLevel: 'silent'});
    if (document.errors.length) return {error: document.errors[0].message.split('\n')[0]};
    return {value: encode(document.toJS())};
  } catch (error) { return {error: String(error.message)}; }
};
const texts = JSON.parse(require('fs').readFileSync(0, 'utf8'));
console.log(JSON.stringify(texts.map(read).map((answer) => {
  try { JSON.stringify(answer); return answer; } catch (error) { return {error: 'circular'}; }
})));
"""


@dataclass(frozen=True)
class Answer:
    """What the package made of a text: a value, or an error."""

    value: object = None
    error: str | None = None


class NpmYaml:
    """The package installed below a folder."""

    def __init__(self, folder: Path) -> None:
        self._package = (folder / "node_modules" / "yaml").resolve(strict=True)

    def read(self, texts: Sequence[str]) -> list[Answer]:
        """Parse each text as one document of YAML 1.2 core."""
        done = subprocess.run(
            ["node", "--no-warnings", "-e", _SCRIPT, str(self._package)],
            input=json.dumps(list(texts)),
            capture_output=True,
            text=True,
            check=True,
        )
        return [Answer(answer.get("value"), answer.get("error")) for answer in json.loads(done.stdout)]


def comparable(value: PropertyValue) -> object:
    """Our value in the shape of the package's answers, where every number is a double."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return [comparable(item) for item in value]
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items()}
    number = float(value)
    if math.isnan(number):
        return {"$number": "NaN"}
    return number if math.isfinite(number) else {"$number": "Infinity" if number > 0 else "-Infinity"}
