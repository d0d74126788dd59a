"""What a person without an index would do: search the files for a word, with ripgrep or, where it is missing, grep."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path


def tool() -> str:
    """The program that scans: `rg`, or `grep`. Raises SystemExit where there is neither."""
    for name in ("rg", "grep"):
        if shutil.which(name):
            return name
    raise SystemExit("neither ripgrep nor grep is installed: install ripgrep to have a file scan measured")


def scans(vault: Path, words: Sequence[str]) -> list[float]:
    """Seconds that the scan for each word takes. Raises SystemExit where a word is not found in exactly one file."""
    name = tool()
    options = ["--files-with-matches", "--fixed-strings", "--ignore-case"]
    command = [name, *options] if name == "rg" else [name, "--recursive", *options]
    out: list[float] = []
    for word in words:
        begun = time.perf_counter()
        found = subprocess.run([*command, "--", word, str(vault)], capture_output=True, text=True, check=False).stdout
        out.append(time.perf_counter() - begun)
        if len(found.splitlines()) != 1:
            raise SystemExit(f"{name} found {word!r} in {len(found.splitlines())} files, not in one")
    return out
