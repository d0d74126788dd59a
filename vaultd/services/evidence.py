"""What words, meaning, dates and neighbours say of every note for one question, and which notes are worth scoring."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from vaultd.index.mirror import Mirror
from vaultd.index.timeline import Timelines
from vaultd.index.tokens import weighted_words
from vaultd.index.vectors import NO_COSINE
from vaultd.scoring import relevance
from vaultd.scoring.datefit import date_scores
from vaultd.scoring.dates import dates_in
from vaultd.services.meaning import Meaning

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]
Vector = npt.NDArray[np.float32]

BEST_OF_A_KIND = 10  # notes scored for their words or their meaning alone, beside the most relevant ones


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Of the notes at `slots`: coverage of the question's words (0…1), similarity (NaN: not known), topic (0…1).

    `by_words`: words speak for the note more than meaning does.
    """

    slots: Indices
    coverage: Floats
    similarity: Floats
    topic: Floats
    by_words: Flags


class Witness:
    """Gathers the evidence over the mirror's columns. Hold the mirror's lock."""

    def __init__(self, mirror: Mirror, meaning: Meaning) -> None:
        self._mirror = mirror
        self._meaning = meaning
        self._timelines = Timelines(mirror)

    def of(self, text: str, vector: Vector | None, now: datetime, among: Flags, limit: int) -> Evidence:
        """Of the `limit` most relevant notes, and of the best by words or by meaning alone; all if they are few."""
        found = self._mirror.word_scores(weighted_words(text))
        words = relevance.scaled_words(found.scores, found.ideal, among)
        cosines = np.full(len(among), NO_COSINE, np.float32) if vector is None else self._mirror.meaning(vector)
        known: Flags = among & (cosines > NO_COSINE)
        covered = np.clip(found.scores.astype(np.float64) / (found.ideal or 1.0), 0, 1)
        meaning = np.maximum(relevance.scaled_meaning(cosines, known), relevance.meaning_of_said(covered))
        timeline = self._timelines()
        terms = dates_in(text, now).terms
        dates = date_scores(terms, timeline.calendar, among) if terms else None
        alone = relevance.joined(words, meaning, known, dates)
        order = timeline.order[among[timeline.order]]
        whole = relevance.with_neighbours(alone, order, timeline.calendar.number[order])

        slots = _pool(among, whole, words, meaning, limit)
        coverage = covered[slots]
        similarity = np.full(len(slots), np.nan) if vector is None else self._meaning.similarities(cosines[slots])
        surely = relevance.evidence(
            coverage, None if vector is None else similarity, None if dates is None else dates[slots]
        )
        best = float(whole[slots].max(initial=0.0))
        return Evidence(
            slots,
            coverage,
            similarity,
            relevance.topics(whole[slots], best, relevance.trust(surely, int(np.count_nonzero(among)))),
            relevance.WORDS_SHARE * words[slots] >= relevance.MEANING_SHARE * meaning[slots],
        )


def _pool(among: Flags, whole: Floats, words: Floats, meaning: Floats, limit: int) -> Indices:
    slots = np.flatnonzero(among)
    if len(slots) <= limit + 2 * BEST_OF_A_KIND:
        return slots
    chosen = [_best(slots, whole, limit), _best(slots, words, BEST_OF_A_KIND), _best(slots, meaning, BEST_OF_A_KIND)]
    return np.unique(np.concatenate(chosen))


def _best(slots: Indices, scores: Floats, count: int) -> Indices:
    of_slots = scores[slots]
    found = np.flatnonzero(of_slots > 0)
    if len(found) <= count:
        return slots[found]
    best = np.argpartition(-of_slots, count)[:count]
    chosen: Indices = slots[best[of_slots[best] > 0]]
    return chosen
