"""Which notes the filters of a query leave: tags, domains, dates. One mask over slots for every way to ask."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from vaultd.core.query import Query
from vaultd.index.mirror import Mirror
from vaultd.index.rows import Row

Flags = npt.NDArray[np.bool_]
WordsOf = Callable[[Row], tuple[str, ...]]


def by_dates(mirror: Mirror, query: Query) -> Flags:
    """Notes created within the query's dates. Hold the mirror's lock."""
    created = mirror.columns.created
    mask: Flags = np.ones(len(created), np.bool_)
    if query.date_from is not None:
        mask &= created >= query.date_from.timestamp()
    if query.date_to is not None:
        mask &= created < query.date_to.timestamp()
    return mask


def by_tags(mirror: Mirror, query: Query, among: Flags) -> Flags:
    """Those of `among` that carry one of the query's tags; all of them where it names none."""
    return _having(mirror, among, query.tags, lambda row: row.tags)


def by_domains(mirror: Mirror, query: Query, among: Flags) -> Flags:
    """Those of `among` in one of the query's domains; all of them where it names none."""
    return _having(mirror, among, query.domains, lambda row: row.domain)


def _having(mirror: Mirror, among: Flags, wanted: tuple[str, ...], words_of: WordsOf) -> Flags:
    if not wanted:
        return among
    folded = {word.casefold() for word in wanted}
    out: Flags = np.zeros_like(among)
    for slot in np.flatnonzero(among):
        out[slot] = any(word.casefold() in folded for word in words_of(mirror.at(int(slot))))
    return out
