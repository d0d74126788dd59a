"""The cards of the index as columns, made once for all questions between two changes of a card."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import is_
from typing import Final

import numpy as np
import numpy.typing as npt

from vaultd.core.bucket import Role
from vaultd.core.card import Category
from vaultd.core.text import share_of_cjk
from vaultd.index.columns import ROLE_CODES
from vaultd.index.mirror import Mirror
from vaultd.index.rows import Row
from vaultd.scoring.final import CATEGORY_CODES
from vaultd.services.cards import sees

Places = npt.NDArray[np.intp]
HALF: Final = 0.5
_KNOWN: Final = frozenset(category.value for category in Category)


@dataclass(frozen=True, slots=True, eq=False)
class CardTable:
    """One place a card: its slot in the mirror, its row, whether its topic is CJK, its category's code."""

    slots: Places
    rows: Sequence[Row]
    cjk: npt.NDArray[np.bool_]
    category: npt.NDArray[np.uint8]
    _scope: _Names
    _type: _Names

    @classmethod
    def of(cls, slots: Places, rows: Sequence[Row]) -> CardTable:
        """The table of these cards, in their order."""
        types = [row.card.category if row.card else "" for row in rows]
        return cls(
            slots=slots,
            rows=rows,
            # topics are at hand, and in the language of their cards
            cjk=np.array([share_of_cjk(row.name) > HALF for row in rows], np.bool_),
            category=np.array([_code(name) for name in types], np.uint8),
            _scope=_Names.of([row.card.scope if row.card else "" for row in rows]),
            _type=_Names.of(types),
        )

    def seen(self, sight: str | None, scope: str | None, category: str) -> Places:
        """Places of the cards that a credential's `sight` leaves, of a scope and a category where they are asked for."""
        wanted = self._scope.where(lambda name: sees(sight, name) and (scope is None or name in ("", scope)))
        if category:
            wanted &= self._type.where(lambda name: name == category)
        return np.flatnonzero(wanted)


class CardTables:
    """The table as the mirror is now. Hold the mirror's lock."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._generation = -1
        self._table = CardTable.of(np.zeros(0, np.intp), ())

    def __call__(self) -> CardTable:
        """Made anew where a card has changed; other notes, the conversations above all, change far more often."""
        if self._generation != self._mirror.generation:
            slots = np.flatnonzero(self._mirror.columns.role == ROLE_CODES[Role.CARD])
            rows = list(map(self._mirror.at, slots.tolist()))
            before = self._table
            if not (np.array_equal(slots, before.slots) and all(map(is_, rows, before.rows))):
                self._table = CardTable.of(slots, rows)
            self._generation = self._mirror.generation
        return self._table


@dataclass(frozen=True, slots=True, eq=False)
class _Names:
    """A column of few distinct names."""

    names: Sequence[str]
    codes: npt.NDArray[np.intp]

    @classmethod
    def of(cls, values: Sequence[str]) -> _Names:
        number = {name: code for code, name in enumerate(dict.fromkeys(values))}
        return cls(tuple(number), np.array([number[value] for value in values], np.intp))

    def where(self, wanted: Callable[[str], bool]) -> npt.NDArray[np.bool_]:
        """Which places hold a name that is wanted."""
        flags: npt.NDArray[np.bool_] = np.array([wanted(name) for name in self.names], np.bool_)[self.codes]
        return flags


def _code(name: str) -> int:
    return CATEGORY_CODES[Category(name) if name in _KNOWN else Category.REAL_WORLD]
