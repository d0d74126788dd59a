"""The file config.example.yaml: every setting with its default, its meaning and its range.

`python -m vaultd.config.example > config.example.yaml` writes it.
"""

from __future__ import annotations

import sys
from typing import Final

from vaultd.config.yamltext import as_yaml
from vaultd.settings import SECTIONS, Key, Section

_HEAD: Final = """\
# Settings of vaultd. Copy this file to the place that `vaultd config path` names and keep what you change.
# In brackets: what is allowed; "live" where a change on the settings page takes effect at once; the variable that wins
# over the file. Every setting also has a variable of the form VAULTD_SECTION__KEY, as in VAULTD_MATCHING__TOPIC=fuzzy.
# Keep keys and tokens in variables: vaultd itself never writes them to a file.
"""


def example() -> str:
    """The whole text, with the defaults as values: loading it changes nothing."""
    return _HEAD + "".join(_section(section) for section in SECTIONS)


def _section(section: Section) -> str:
    depth = len(section.name.split(".")) if section.name else 0
    outer, inner = "  " * max(0, depth - 1), "  " * depth
    lines = [""]
    if section.name:
        if depth == 1:
            lines.append(f"# {section.about}")
        lines.append(f"{outer}{section.name.rpartition('.')[2]}:" + (f"  # {section.about}" if depth > 1 else ""))
    for key in section.keys:
        lines += _key(key, inner)
    text = "\n".join(lines) + "\n"
    return text if depth < 2 else text.removeprefix("\n")


def _key(key: Key, indent: str) -> list[str]:
    notes = [key.allowed, *(["live"] if key.hot else []), *([" or ".join(key.env)] if key.env else [])]
    comment = f"{indent}# {key.about} ({'; '.join(notes)})"
    name = key.name.rpartition(".")[2]
    if key.secret:
        return [comment, f'{indent}# {name}: ""']
    return [comment, f"{indent}{name}: {as_yaml(key, key.default)}"]


if __name__ == "__main__":
    sys.stdout.write(example())
