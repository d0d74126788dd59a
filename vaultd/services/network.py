"""The memories as a network: a node each, an edge where two are alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
import numpy.typing as npt

from vaultd.core.bucket import Kind
from vaultd.index.mirror import Mirror
from vaultd.index.rows import Row
from vaultd.scoring.constants import NETWORK_SIMILARITY
from vaultd.scoring.decay import KIND_CODES, decay_scores
from vaultd.services.meaning import Meaning
from vaultd.settings import Settings

EDGE_ABOVE: Final = NETWORK_SIMILARITY
NODES_DEFAULT: Final = 2_000
NODES_LIMIT: Final = 10_000
EDGES_A_NODE: Final = 6  # its closest ones: more hide what belongs together
_CELLS: Final = 4_000_000  # of the similarity matrix at a time: 2,000 nodes at once, for which BLAS does half the work


@dataclass(frozen=True, slots=True)
class Node:
    """A memory in the network."""

    row: Row
    score: float


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes, and edges as (node, node, similarity) by their positions. `total` counts all that could be nodes."""

    nodes: tuple[Node, ...]
    edges: tuple[tuple[int, int, float], ...]
    total: int
    without_embedding: int


class Network:
    """Builds the network; the last one is kept until the index changes."""

    def __init__(
        self, mirror: Mirror, meaning: Meaning, settings: Callable[[], Settings], clock: Callable[[], datetime]
    ) -> None:
        self._mirror = mirror
        self._meaning = meaning
        self._settings = settings
        self._clock = clock
        self._kept: tuple[tuple[int, int, float, bool], Graph] | None = None

    def __call__(
        self, *, limit: int = NODES_DEFAULT, least: float = EDGE_ABOVE, include_archive: bool = False
    ) -> Graph:
        """The most alive memories and what connects them. Blocks for some hundred milliseconds."""
        with self._mirror.lock:
            key = (self._mirror.generation, limit, least, include_archive)
            if self._kept is not None and self._kept[0] == key:
                return self._kept[1]
            columns = self._mirror.columns
            scores = decay_scores(columns.decay(), self._clock().timestamp(), self._settings().decay.weights)
            mask = self._mirror.memories()
            if not include_archive:
                mask = mask & (columns.kind != KIND_CODES[Kind.ARCHIVED])
            slots = np.flatnonzero(mask)
            total = len(slots)
            slots = slots[np.argsort(-scores[slots], kind="stable")][:limit]
            nodes = tuple(Node(self._mirror.at(int(slot)), float(scores[slot])) for slot in slots)
            vectors = self._mirror.first_vectors([int(slot) for slot in slots])
        there = np.flatnonzero(vectors.any(axis=1)) if vectors.shape[1] else np.zeros(0, np.intp)
        edges = self._edges(vectors[there], there, least)
        graph = Graph(nodes, edges, total, len(nodes) - len(there))
        self._kept = (key, graph)
        return graph

    def _edges(
        self, vectors: npt.NDArray[np.float32], numbers: npt.NDArray[np.intp], least: float
    ) -> tuple[tuple[int, int, float], ...]:
        """Each node's closest ones above the least similarity; a pair once, the lower number first."""
        count = len(vectors)
        if count < 2:
            return ()
        cosine = np.float32(self._meaning.cosine_at(least))
        pairs: list[npt.NDArray[np.int64]] = []
        values: list[npt.NDArray[np.float32]] = []
        height = max(_CELLS // count, 1)
        for start in range(0, count, height):
            block = vectors[start : start + height] @ vectors.T
            block[np.arange(len(block)), np.arange(start, start + len(block))] = -2.0
            rows, others = _closest(block, cosine)
            one, other = numbers[rows + start], numbers[others]
            pairs.append(np.minimum(one, other) * np.int64(NODES_LIMIT * 10) + np.maximum(one, other))
            values.append(block[rows, others])
        both, first = np.unique(np.concatenate(pairs), return_index=True)
        alike = self._meaning.similarities(np.concatenate(values)[first])
        one, other = np.divmod(both, NODES_LIMIT * 10)
        return tuple(zip(one.tolist(), other.tolist(), alike.tolist(), strict=True))


def _closest(block: npt.NDArray[np.float32], cosine: np.float32) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows and columns of the cells above a cosine, at most `EDGES_A_NODE` of each row: the highest."""
    least = np.full(len(block), np.nextafter(cosine, np.float32(np.inf)))
    if block.shape[1] > EDGES_A_NODE:
        least = np.maximum(least, np.partition(block, -EDGES_A_NODE, axis=1)[:, -EDGES_A_NODE])
    above = block >= least[:, None]
    crowded = np.flatnonzero(np.count_nonzero(above, axis=1) > EDGES_A_NODE)  # by ties, as among notes with one text
    if len(crowded):
        best = np.argpartition(block[crowded], -EDGES_A_NODE, axis=1)[:, -EDGES_A_NODE:]
        above[crowded] = False
        above[crowded[:, None], best] = True
    rows, others = np.divmod(np.flatnonzero(above), block.shape[1])
    return rows, others
