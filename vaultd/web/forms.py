"""Pages with a form and no script: one frame around each, filled with escaped values."""

from __future__ import annotations

import html
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Template
from typing import Final

_FOLDER: Final = Path(__file__).parent / "templates"
_ONWARD: Final = Template(
    '<!doctype html><html lang="$lang"><meta charset="utf-8"><title>vaultd</title>'
    '<meta http-equiv="refresh" content="0;url=$next"><a href="$next">$onward</a></html>'
)


@cache
def framed(name: str) -> Template:
    """The frame around the template of this name."""
    frame, main = ((_FOLDER / f"{part}.html").read_text(encoding="utf-8") for part in ("frame", name))
    return Template(Template(frame).safe_substitute(main=main))


def filled(template: Template, values: Mapping[str, str]) -> str:
    """The page with these values, escaped. Raises KeyError where one is lacking."""
    return template.substitute({name: html.escape(value) for name, value in values.items()})


def onward(texts: Mapping[str, str], target: str) -> str:
    """A page of ours that goes on by itself: a strict cookie is not sent along a redirect that began on another site."""
    return filled(_ONWARD, {**texts, "next": target})
