"""What two changed versions of one property come to, given the version that both began with.

Every rule is symmetric: it never looks at which side is ours, so that a merge and a rebase give the same bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from vaultd.core.bucket import Kind
from vaultd.core.note import PropertyValue
from vaultd.core.properties import (
    ACTIVATION_COUNT,
    BUCKET_KEYS,
    CARD_KEYS,
    CREATED,
    CREATED_AT,
    ID,
    IMPORTANCE,
    LAST_ACTIVE,
    LAST_USED_AT,
    PINNED,
    PROTECTED,
    TYPE,
    UPDATED_AT,
    USE_COUNT,
    PropertyReader,
    Shape,
    parse_moment,
    spec_of,
)
from vaultd.vault.yamlscalar import same, source

_OWNED: Final = frozenset((*BUCKET_KEYS, *CARD_KEYS))
_SETS: Final = frozenset(
    # Obsidian's own list properties, where order says nothing, beside ours
    {"aliases", "cssclasses"} | {key for key in _OWNED if spec_of(key).shape is Shape.LIST}
)
_LATER: Final = frozenset((LAST_ACTIVE, UPDATED_AT, LAST_USED_AT))
_EARLIER: Final = frozenset((CREATED, CREATED_AT))
_HIGHER: Final = frozenset((ACTIVATION_COUNT, USE_COUNT))
_COMMENT = re.compile(r"(?:^|[ \t])#[^\r\n]*", re.MULTILINE)
# A merge must not forget what one machine chose to keep.
_KINDS_BY_CARE: Final = (Kind.PERMANENT, Kind.FEEL, Kind.DYNAMIC, Kind.ARCHIVED)


@dataclass(frozen=True, slots=True)
class Version:
    """One side's property: what it says, and its lines."""

    value: PropertyValue
    lines: str


@dataclass(frozen=True, slots=True)
class Union:
    """A list to be written: no side has it as it should be."""

    items: list[PropertyValue]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A person's property that was changed on both sides, each its own way."""


Outcome = Version | Union | Disagreement | None
"""A version to take; a list to write; a clash; None: the property is gone."""


class Judge:
    """Decides property by property, and knows which whole note was used later."""

    def __init__(
        self,
        base: Mapping[str, Version],
        ours: Mapping[str, Version],
        theirs: Mapping[str, Version],
    ) -> None:
        self._base = base
        self._ours = ours
        self._theirs = theirs

    def outcome(self, key: str) -> Outcome:
        """What the property comes to."""
        base, ours, theirs = self._base.get(key), self._ours.get(key), self._theirs.get(key)
        if ours == theirs or theirs == base:
            return ours
        if ours == base:
            return theirs
        if ours is not None and theirs is not None and same(ours.value, theirs.value):
            return _of_one_value(key, ours, theirs)
        for one, other in ((ours, theirs), (theirs, ours)):
            if base is not None and one is not None and _respelled(base, one):
                return other if other is not None or key in _OWNED else Disagreement()
        return self._both_changed(key, base, ours, theirs)

    def _both_changed(self, key: str, base: Version | None, ours: Version | None, theirs: Version | None) -> Outcome:
        if key in _SETS and (united := _united(key, base, ours, theirs)) is not None:
            return united
        if key not in _OWNED:
            return Disagreement()
        if ours is None or theirs is None:
            return ours or theirs  # the change is kept, not the deletion
        return self._better(key, ours, theirs)

    def _better(self, key: str, ours: Version, theirs: Version) -> Outcome:
        """The version that our property's rule prefers."""
        if isinstance(ours.value, list | dict) or isinstance(theirs.value, list | dict):
            return Disagreement()  # nothing of ours is written so: a person is at it
        measure = _MEASURES.get(key)
        if key == TYPE and ours.value in _KINDS_BY_CARE and theirs.value in _KINDS_BY_CARE:
            measure = _care
        elif key == IMPORTANCE and self._is_core():
            measure = _number
        elif measure is None and spec_of(key).shape is Shape.CHECKBOX:
            measure = _checked
        if measure is None:
            return self._of_the_later_note(key, ours, theirs)
        one, other = measure(key, ours.value), measure(key, theirs.value)
        if one == other:
            return Disagreement() if one == -math.inf else _first(ours, theirs)
        return ours if one > other else theirs

    def _of_the_later_note(self, key: str, ours: Version, theirs: Version) -> Outcome:
        if ID not in self._ours and ID not in self._theirs:
            return Disagreement()  # a note of the person's own, whose words happen to be ours
        one, other = _last_use(self._ours), _last_use(self._theirs)
        if one != other:
            return ours if one > other else theirs
        if key == IMPORTANCE and _number(key, ours.value) != _number(key, theirs.value):
            return max(ours, theirs, key=lambda version: _number(key, version.value))
        return _first(ours, theirs)

    def _is_core(self) -> bool:
        """Whether the merged note is pinned or protected, so that the importance of 10 belongs to it."""
        outcomes = [self.outcome(key) for key in (PINNED, PROTECTED)]
        return any(isinstance(outcome, Version) and outcome.value is True for outcome in outcomes)


def _comments(version: Version) -> list[str]:
    return _COMMENT.findall(version.lines)


def _respelled(base: Version, version: Version) -> bool:
    """Whether only quotes, spacing or style were changed, and no comment."""
    return same(base.value, version.value) and _comments(base) == _comments(version)


def _of_one_value(key: str, ours: Version, theirs: Version) -> Outcome:
    """The version with a comment; where both have one, and not the same, the person has to choose."""
    one, other = _comments(ours), _comments(theirs)
    if one and other and one != other and key not in _OWNED:
        return Disagreement()
    if bool(one) != bool(other):
        return ours if one else theirs
    return _first(ours, theirs)


def _first(one: Version, other: Version) -> Version:
    """Either of two that are equally good, always the same one."""
    return min(one, other, key=lambda version: version.lines)


def _last_use(note: Mapping[str, Version]) -> float:
    times = (_instant(key, note[key].value) for key in _LATER if key in note)
    return max(times, default=-math.inf)


def _instant(key: str, value: PropertyValue) -> float:
    moment: datetime | None = parse_moment(value) if isinstance(value, str) else None
    return -math.inf if moment is None else moment.timestamp()


def _earliness(key: str, value: PropertyValue) -> float:
    instant = _instant(key, value)
    return instant if instant == -math.inf else -instant


def _number(key: str, value: PropertyValue) -> float:
    number = PropertyReader({key: value}).number(key, None)
    return -math.inf if number is None else number


def _checked(key: str, value: PropertyValue) -> float:
    """A box is unchecked unless somebody checks it, so the checked one is the changed one."""
    reader = PropertyReader({key: value})
    checked = reader.checkbox(key)
    return -math.inf if reader.findings else float(checked)


def _care(key: str, value: PropertyValue) -> float:
    return -float(_KINDS_BY_CARE.index(Kind(str(value))))


def _indifferent(key: str, value: PropertyValue) -> float:
    return 0.0


_MEASURES: Final[Mapping[str, Callable[[str, PropertyValue], float]]] = {
    **dict.fromkeys(_LATER, _instant),
    **dict.fromkeys(_EARLIER, _earliness),
    **dict.fromkeys(_HIGHER, _number),
    ID: _indifferent,  # two machines adopted one note: any id will do, if it is the same everywhere
}


def _united(key: str, base: Version | None, ours: Version | None, theirs: Version | None) -> Outcome:
    """Three-way union of lists of scalars; None where a side is something else."""
    lists = [_items(key, version) for version in (base, ours, theirs)]
    if lists[0] is None or lists[1] is None or lists[2] is None:
        return None
    items = union(lists[0], lists[1], lists[2])
    for version, own in ((ours, lists[1]), (theirs, lists[2])):
        if version is not None and isinstance(version.value, list) and same(own, items):
            return version
    return Union(items)


def _items(key: str, version: Version | None) -> list[PropertyValue] | None:
    if version is None or version.value is None:
        return []
    if isinstance(version.value, str) and key in _OWNED:
        words = (word.strip().lstrip("#") for word in version.value.split(","))
        return [word for word in words if word]
    if not isinstance(version.value, list) or any(isinstance(item, list | dict) for item in version.value):
        return None
    return version.value


def union(
    base: Sequence[PropertyValue], ours: Sequence[PropertyValue], theirs: Sequence[PropertyValue]
) -> list[PropertyValue]:
    """The items that neither side took out, then those that either side put in; each once."""
    named = {source(item, in_flow=True): item for item in (*base, *ours, *theirs)}
    old, mine, yours = ([*dict.fromkeys(source(item, in_flow=True) for item in side)] for side in (base, ours, theirs))
    kept = [name for name in old if name in mine and name in yours]
    order = [name for name in mine if name in kept]
    if order == kept:
        order = [name for name in yours if name in kept]
    elif [name for name in yours if name in kept] != kept:
        order = kept
    added = [[name for name in side if name not in old] for side in (mine, yours)]
    places: dict[str, int] = {}
    for side in added:
        for place, name in enumerate(side):
            places[name] = min(place, places.get(name, place))
    return [named[name] for name in (*order, *sorted(places, key=lambda name: (places[name], name)))]
