"""Which notes the filters of a query leave: tags, domains, dates. One mask over slots for every way to ask."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vaultd.core.query import Query
from vaultd.index.mirror import Mirror

Flags = npt.NDArray[np.bool_]


def by_dates(mirror: Mirror, query: Query, among: Flags) -> Flags:
    """Those of `among` created within the query's dates. Hold the mirror's lock."""
    created = mirror.columns.created
    if query.date_from is not None:
        among = among & (created >= query.date_from.timestamp())
    if query.date_to is not None:
        among = among & (created < query.date_to.timestamp())
    return among


def by_tags(mirror: Mirror, query: Query, among: Flags) -> Flags:
    """Those of `among` that carry one of the query's tags; all of them where it names none. Hold the mirror's lock."""
    return among & mirror.tags.having(query.tags, len(among)) if query.tags else among


def by_domains(mirror: Mirror, query: Query, among: Flags) -> Flags:
    """Those of `among` in one of the query's domains; all of them where it names none. Hold the mirror's lock."""
    return among & mirror.domains.having(query.domains, len(among)) if query.domains else among
