"""Compare how frontmatter is read with the npm package `yaml`, over vaults and over generated blocks.

python bench/yaml_reading.py --npm-yaml DIR [--generated 20000] [--seed 1] [VAULT ...]
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.npm_yaml import Answer, NpmYaml, comparable
from tests.torture import random_header
from vaultd.core.errors import UnreadableNote
from vaultd.vault import frontmatter, yamlcore


def headers_of(vault: Path) -> Iterator[str]:
    """The block of each note that has one."""
    for path in sorted(vault.rglob("*.md")):
        try:
            parts = frontmatter.part(path.read_bytes().decode("utf-8"))
        except (UnicodeDecodeError, UnreadableNote):
            continue
        if parts.has_block:
            yield parts.header


def _garbled(rng: random.Random) -> str:
    """A generated block with a few characters changed, to meet the edges of the grammar."""
    text = random_header(rng)
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice("-:#'\"[]{},&*!|>%@`? \t\n ax0.~") + text[at + rng.randrange(2) :]
    return text if text.endswith("\n") or not text else text + "\n"


def verdict(header: str, answer: Answer) -> str:
    """One word for how the two readings compare."""
    try:
        ours = comparable(yamlcore.load(header))
    except UnreadableNote:
        return "both refuse" if answer.error else "only we refuse"
    if answer.error:
        return "only the package refuses"
    return "same" if ours == answer.value else "different"


def main() -> None:
    """Print the counts, and the first cases that are not alike."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vaults", nargs="*", type=Path)
    parser.add_argument("--npm-yaml", type=Path, required=True)
    parser.add_argument("--generated", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=10)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    package = NpmYaml(arguments.npm_yaml)
    sources = {str(vault): list(headers_of(vault)) for vault in arguments.vaults}
    sources["generated"] = [_garbled(rng) for _ in range(arguments.generated)]
    for name, headers in sources.items():
        counts: Counter[str] = Counter()
        for header, answer in zip(headers, package.read(headers), strict=True):
            word = verdict(header, answer)
            counts[word] += 1
            if word not in ("same", "both refuse") and counts[word] <= arguments.show:
                print(f"  {word}: {header!r}\n    package: {answer.error or answer.value!r}")
        print(f"{name}: {len(headers)} blocks, " + ", ".join(f"{count} {word}" for word, count in counts.most_common()))


if __name__ == "__main__":
    main()
