"""Make a vault of N memories for the benchmarks: our own sample's sentences, recombined; the same for the same seed."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

SAMPLE = Path(__file__).parent.parent / "vaultd" / "data" / "sample_vault"
DOMAINS = ("日常", "工作", "学习", "健康", "旅行", "work", "reading", "家庭", "编程", "情感")
SENTENCES_A_NOTE = (3, 14)
END = datetime(2026, 11, 30, 12, tzinfo=UTC)


def sentences() -> list[str]:
    """All sentences of the sample vault's bodies."""
    out: list[str] = []
    for path in sorted(SAMPLE.rglob("*.md")):
        body = path.read_text(encoding="utf-8").split("\n---\n", 1)[-1]
        for line in body.splitlines():
            line = re.sub(r"\[\[[^\]]*\]\]|^[#>\-\d. ]+", "", line).strip()
            out += [s.strip() for s in re.findall(r"[^。！？.!?]+[。！？.!?]?", line) if len(s.strip()) > 5]
    return out


def word(rng: random.Random) -> str:
    """A word that stands in one note only."""
    return "".join(rng.choice("bcdfghklmnprstvz") + rng.choice("aeiou") for _ in range(5))


def id_of(path: str) -> str:
    """The id in the file name of a note that `make_vault` wrote."""
    return path[-15:-3]


def make_vault(root: Path, notes: int, *, seed: int = 7) -> list[tuple[str, str]]:
    """Write the vault; (path, the word that only this note has) of each note."""
    rng = random.Random(seed)
    pool = sentences()
    made: list[tuple[str, str]] = []
    folders: set[Path] = set()
    for i in range(notes):
        note_id = f"{rng.getrandbits(48):012x}"
        domain = rng.choice(DOMAINS)
        mark = f"{word(rng)}{i}"
        chosen = rng.sample(pool, rng.randint(*SENTENCES_A_NOTE))
        chosen.insert(rng.randrange(len(chosen)), f"The word of this note is {mark}.")
        name = chosen[0][:24].rstrip("。.,， ")
        created = END - timedelta(minutes=rng.randint(0, 60 * 24 * 365))
        active = created + (END - created) * rng.random()
        safe = re.sub(r'[\\/:*?"<>|#^\[\]]', "", name).strip() or "note"
        path = root / "dynamic" / domain / f"{safe}_{note_id}.md"
        if path.parent not in folders:
            path.parent.mkdir(parents=True, exist_ok=True)
            folders.add(path.parent)
        path.write_text(
            f"---\nid: '{note_id}'\nname: '{name.replace(chr(39), '’')}'\ntype: dynamic\ndomain:\n  - {domain}\n"
            f"tags:\n  - t{i % 97}\n  - {mark}\nvalence: {rng.random():.2f}\narousal: {rng.random():.2f}\n"
            f"importance: {rng.randint(1, 10)}\nactivation_count: {rng.randint(0, 9)}\nresolved: false\n"
            f"created: {created.isoformat(timespec='seconds')}\nlast_active: {active.isoformat(timespec='seconds')}\n"
            "---\n" + "\n".join(" ".join(chosen[j : j + 3]) for j in range(0, len(chosen), 3)) + "\n",
            encoding="utf-8",
        )
        made.append((path.relative_to(root).as_posix(), mark))
    return made


if __name__ == "__main__":
    import sys

    make_vault(Path(sys.argv[1]), int(sys.argv[2]))
