"""What one machine's journal says of a note, and how machines are summed up.

    {"id": …, "t": 3.3, "u": "…", "s": 17, "b": 7, "f": 12, "o": 2.3}

See docs/decisions/0004-activation-journal.md; `journal` says what the names mean.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from vaultd.core.properties import parse_moment

FUTURE_TOLERANCE: Final = timedelta(hours=24)  # clocks and zones differ; a last use beyond is no valid one
_DIGITS: Final = 6
_LEAST: Final = 10**-_DIGITS
_JSON: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class Tally(NamedTuple):
    """Where one note stands for one machine; the names are those of the file.

    `more`: it was counted without a look at the machine's journal, and is to be added to what that says.
    """

    t: float = 0.0
    u: datetime | None = None
    s: int = 0
    b: float = 0.0
    f: float | None = None
    o: float = 0.0
    more: bool = False


class Total(NamedTuple):
    """What all journals together say of a note. Time is aware."""

    activations: float
    last_use: datetime | None


NOTHING: Final = Total(0.0, None)


def combined_count(floor: float, total: Total) -> float:
    """A note's activation count: what its frontmatter says or what the journals say, whichever is higher."""
    return max(floor, total.activations)


def combined_last_use(last_active: datetime, total: Total, *, now: datetime) -> datetime:
    """The latest of a note's own `last_active` and the journals' last use; one more than a day ahead does not count."""
    moments = [moment for moment in (last_active, total.last_use) if moment and moment <= now + FUTURE_TOLERANCE]
    return max(moments, default=last_active)


def total_of(tallies: Iterable[Tally]) -> Total:
    """One note's tallies, one a machine, as one count and one last use."""
    found = tuple(tallies)
    return Total(*_summed(found)) if found else NOTHING


def _summed(tallies: tuple[Tally, ...]) -> tuple[float, datetime | None]:
    """The same of at least one tally, as plain values: it runs twice for every note that an answer stirs."""
    if len(tallies) == 1:
        t, u, _, b, f, o, _ = tallies[0]
        count = b + t
        if f is not None and f + t - o > count:
            count = f + t - o
        return round(count, _DIGITS), u
    least, seen, last_use = math.inf, 0.0, None
    for tally in tallies:
        least = min(least, tally.b)
        if tally.f is not None:
            seen = max(seen, tally.f + tally.t - tally.o)
        if tally.u is not None and (last_use is None or tally.u > last_use):
            last_use = tally.u
    return round(max(least + math.fsum(tally.t for tally in tallies), seen), _DIGITS), last_use


def counted(
    own: Tally, others: Sequence[Tally], amount: float, when: datetime | None, floor: float
) -> tuple[Tally, Total]:
    """`amount` more activations by this machine, and the new total; `others` are the other machines' tallies.

    `when` None leaves the last use. `floor` is the activation count in the note's frontmatter.
    """
    was, last_use, sequence, b, f, o, more = own
    t, u = round(was + amount, _DIGITS), last_use if when is None else _later(last_use, when)
    new = Tally(t, u, sequence + 1, b, f, o, more)
    if not others and f is None and floor <= b + was:  # the usual case: there is nothing to reconcile
        return new, Total(round(b + t, _DIGITS), u)
    before = max(floor, _summed((own, *others))[0])
    count, last_use = _summed((new, *others))
    if count < before + amount - _LEAST:
        new = new._replace(f=before, o=was)
        count, last_use = _summed((new, *others))
    return new, Total(count, last_use)


def raised(total: Total, amount: float, when: datetime | None, floor: float) -> Total:
    """What `counted` makes of a total where its tallies are those it was made of."""
    return Total(round(max(total.activations, floor) + amount, _DIGITS), _later(total.last_use, when))


def added(base: Tally, more: Tally, others: Sequence[Tally]) -> Tally:
    """A tally of the journal, and on top of it what was counted without a look at it."""
    floor = more.b if more.f is None else more.f - more.o
    return counted(base, others, more.t, more.u, floor)[0]


def newest(one: Tally, other: Tally) -> Tally:
    """Which of two tallies of one machine counts: they are absolute, and only grow."""
    return max(one, other, key=lambda tally: (tally.t, tally.s))._replace(u=_later(one.u, other.u))


def _later(one: datetime | None, other: datetime | None) -> datetime | None:
    moments = [moment for moment in (one, other) if moment is not None]
    return max(moments, default=None)


def line_of(note_id: str, tally: Tally) -> bytes:
    """A line of a journal, with its end."""
    line: dict[str, object] = {"id": note_id, "t": tally.t, "s": tally.s}
    if tally.u is not None:
        line["u"] = tally.u.astimezone(UTC).isoformat(timespec="milliseconds")
    if tally.b:
        line["b"] = tally.b
    if tally.f is not None:
        line["f"] = tally.f
        line["o"] = tally.o
    if tally.more:
        line["more"] = True
    return _JSON.encode(line).encode("utf-8", "replace") + b"\n"


def read_into(tallies: dict[str, Tally], raw: bytes) -> int:
    """Add a journal's lines to what is known of its machine; how many lines it has. Broken lines are passed over."""
    lines = raw.split(b"\n")
    for text in lines:
        with contextlib.suppress(ValueError, TypeError, AttributeError, KeyError):
            note_id, tally = parse_line(json.loads(text))
            known = tallies.get(note_id)
            tallies[note_id] = tally if known is None else newest(known, tally)
    return len(lines) - 1


def parse_line(line: Mapping[str, object]) -> tuple[str, Tally]:
    """A line of a journal. Raises KeyError, TypeError, ValueError where it is none."""
    note_id, sequence, moment = line["id"], line.get("s", 0), line.get("u")
    if not isinstance(note_id, str) or not isinstance(sequence, int):
        raise TypeError("a journal line's id and sequence")
    floor = line.get("f")
    return note_id, Tally(
        t=_number(line["t"]),
        u=parse_moment(moment) if isinstance(moment, str) else None,
        s=sequence,
        b=_number(line.get("b", 0.0)),
        f=None if floor is None else _number(floor),
        o=_number(line.get("o", 0.0)),
        more=line.get("more") is True,
    )


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ValueError(f"{value!r} is no count")
    return float(value)
