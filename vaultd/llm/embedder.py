"""What an embedding model must do for vaultd, and what is done to a text before it sees one."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

MAX_CHARACTERS: Final = 4_000  # of a cleaned text; a passage has about 2,000 at most
_KEY_BYTES: Final = 16


class Embedder(Protocol):
    """Texts → unit vectors. Synchronous; every method may be called from several threads at once.

    Raises a ModelError: ModelUnavailable, ModelRefused, ModelBusy, ModelTimedOut, ModelBadAnswer or CapReached.
    """

    @property
    def name(self) -> str:
        """Of the model, its quantisation and its way with prefixes: vectors of equal names can be compared."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector; 0 while a remote model has not told it yet."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        """Unit vectors (n, dimension) of texts that are to be found."""
        ...

    def embed_query(self, text: str) -> Floats:
        """Unit vector (dimension,) of a text that looks for others."""
        ...

    def load(self) -> None:
        """Do beforehand what the first text would wait for, without asking anybody. Blocks."""
        ...

    def close(self) -> None:
        """Give back memory and connections."""
        ...


def clean(text: str) -> str:
    """Text that any model can take: NFKC, no lone surrogates, no NUL, at most MAX_CHARACTERS.

    Half of a surrogate pair becomes U+FFFD; two halves that belong together become the character they stand for.
    """
    head = text[: 2 * MAX_CHARACTERS]
    if not head.isascii():
        whole = head.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        head = unicodedata.normalize("NFKC", whole)
    return head.replace("\0", " ")[:MAX_CHARACTERS]


def embedding_key(text: str, model_name: str) -> str:
    """32 hexadecimal characters that stand for a text as this model sees it (BLAKE2b, 128 bits)."""
    seen = f"{model_name}\0{clean(text)}".encode()
    return hashlib.blake2b(seen, digest_size=_KEY_BYTES).hexdigest()


def unit(vectors: Floats) -> Floats:
    """Vectors (…, d) scaled to length 1; a vector of length 0 stays."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Floats = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32, copy=False)
    return scaled
