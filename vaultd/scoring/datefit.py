"""Dates asked for against the days of notes, over columns.

Each term (2023, any May, 2 May 2023, a Tuesday, summer) counts for the notes of its time by its rarity in the vault, as
a word does: where all notes are of one year, the year says nothing. A term that no note has says nothing either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vaultd.scoring.decay import Flags, Floats

DAY_S: Final = 86_400
DATE_WORTH: Final = (
    3.0  # rarity (nats) that counts in full, about one note in twenty: a month of a year or two; measured
)
MOST_TERMS: Final = 64  # of one question
_TERM = re.compile(
    r"(?:y(?P<year>\d{1,4}))?(?:m(?P<month>\d\d))?(?:d(?P<day>\d\d))?(?:s(?P<season>[1-4]))?|w(?P<weekday>[1-7])"
)


@dataclass(frozen=True, slots=True, eq=False)
class Calendar:
    """Year, month, day, weekday (1 Monday … 7) and season (1 spring … 4 winter, with its year) of each row."""

    year: NDArray[np.int64]
    month: NDArray[np.int64]
    day: NDArray[np.int64]
    weekday: NDArray[np.int64]
    season: NDArray[np.int64]
    season_year: NDArray[np.int64]
    number: NDArray[np.int64]

    @classmethod
    def of_days(cls, number: NDArray[np.int64]) -> Calendar:
        """Of days since 1 January 1970."""
        dates = number.astype("datetime64[D]")
        months = dates.astype("datetime64[M]")
        years = months.astype("datetime64[Y]")
        month = (months - years).astype(np.int64) + 1
        year = years.astype(np.int64) + 1970
        return cls(
            year,
            month,
            (dates - months).astype(np.int64) + 1,
            (number + 3) % 7 + 1,
            (month - 3) % 12 // 3 + 1,
            year - (month < 3),
            number,
        )

    def at(self, term: str) -> Flags:
        """Rows of the time that a term names; see `scoring.dates.date_terms`."""
        found = _TERM.fullmatch(term)
        here: Flags = np.full(len(self.year), found is not None and bool(term))
        if found is None:
            return here
        by_season = found["season"] is not None
        for name, column in (
            ("year", self.season_year if by_season else self.year),
            ("month", self.month),
            ("day", self.day),
            ("season", self.season),
            ("weekday", self.weekday),
        ):
            if found[name] is not None:
                here &= column == int(found[name])
        return here


def date_scores(terms: Iterable[str], calendar: Calendar, among: Flags) -> Floats:
    """How well each row's day fits the terms of a question, 0…1; 0 for rows outside `among`.

    The sum over terms of log(1 + (N − n + ½)/(n + ½)), n of N rows having the term, as a share of the best row's, or
    of DATE_WORTH where that is more.
    """
    scores = np.zeros(len(among))
    total = int(np.count_nonzero(among))
    for term in tuple(terms)[:MOST_TERMS]:
        here = calendar.at(term) & among
        count = int(np.count_nonzero(here))
        if count:
            scores[here] += np.log1p((total - count + 0.5) / (count + 0.5))
    best = scores.max(initial=0.0)
    fit: Floats = scores / max(best, DATE_WORTH)
    return fit
