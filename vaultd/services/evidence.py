"""What words, meaning, dates and neighbours say of every note for one question, and which notes are worth scoring."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from vaultd.index.mirror import Mirror
from vaultd.index.timeline import Timeline, Timelines
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

    def __init__(self, mirror: Mirror, timelines: Timelines, meaning: Meaning) -> None:
        self._mirror = mirror
        self._meaning = meaning
        self._timelines = timelines
        self._kept: tuple[Timeline, Flags, relevance.Neighbours] | None = None

    def of(self, text: str, vector: Vector | None, now: datetime, among: Flags, limit: int) -> Evidence:
        """Of the `limit` most relevant notes, and of the best by words or by meaning alone; all if they are few."""
        found = self._mirror.word_scores(weighted_words(text))
        words = relevance.scaled_words(found.scores, found.ideal, among)
        cosines = None if vector is None else self._mirror.meaning(vector)
        known: Flags = np.zeros_like(among) if cosines is None else among & (cosines > NO_COSINE)
        meaning = relevance.scaled_meaning(cosines, known)
        if cosines is not None:
            meaning = relevance.with_said(meaning, found.scores, found.ideal, among)
        timeline = self._timelines()
        terms = dates_in(text, now).terms
        dates = date_scores(terms, timeline.calendar, among) if terms else None
        alone = relevance.joined(words, meaning, known, dates)
        named = [slot for slot in self._mirror.named(text) if among[slot]]
        whole = relevance.with_neighbours(alone, self._neighbours(timeline, among))
        whole = relevance.with_named(whole, named)

        slots = _pool(among, whole, words, meaning, limit)
        coverage = np.clip(found.scores[slots].astype(np.float64) / (found.ideal or 1.0), 0, 1)
        if named:
            coverage[np.isin(slots, named)] = 1.0
        similarity = np.full(len(slots), np.nan) if cosines is None else self._meaning.similarities(cosines[slots])
        surely = relevance.evidence(
            coverage, None if cosines is None else similarity, None if dates is None else dates[slots]
        )
        best = float(whole[slots].max(initial=0.0))
        return Evidence(
            slots,
            coverage,
            similarity,
            relevance.topics(whole[slots], best, relevance.trust(surely, int(np.count_nonzero(among)))),
            relevance.WORDS_SHARE * words[slots] >= relevance.MEANING_SHARE * meaning[slots],
        )

    def _neighbours(self, timeline: Timeline, among: Flags) -> relevance.Neighbours:
        """Among these notes, which are the same ones for most questions."""
        kept = self._kept
        if kept is None or kept[0] is not timeline or not np.array_equal(kept[1], among):
            order = timeline.order[among[timeline.order]]
            made = relevance.Neighbours.of(order, timeline.calendar.number[order])
            kept = self._kept = (timeline, among, made)
        return kept[2]


def _pool(among: Flags, whole: Floats, words: Floats, meaning: Floats, limit: int) -> Indices:
    if np.count_nonzero(among) <= limit + 2 * BEST_OF_A_KIND:
        return np.flatnonzero(among)
    best = {*_best(whole, limit), *_best(words, BEST_OF_A_KIND), *_best(meaning, BEST_OF_A_KIND)}
    return np.array(sorted(best), np.intp)


def _best(scores: Floats, count: int) -> list[int]:
    """Up to `count` slots, those with the highest scores above 0."""
    best = scores.max(initial=0.0)
    if best <= 0:
        return []
    slots = np.flatnonzero(scores > best / 2)  # mostly enough, and few
    if len(slots) < count:
        slots = np.flatnonzero(scores > 0)
    if len(slots) > count:
        slots = slots[np.argpartition(scores[slots], -count)[-count:]]
    found: list[int] = slots.tolist()
    return found
