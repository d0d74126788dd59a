"""The encoder of multilingual-e5-small in numpy: the reference, and the engine where onnxruntime does not run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from vaultd.llm.e5_file import E5File, Floats, expand

_HALF_ROOT: Final = np.float32(0.5**0.5)


@dataclass(frozen=True, slots=True)
class _Linear:
    weights: Floats  # (inputs, outputs)
    bias: Floats

    def __call__(self, rows: Floats) -> Floats:
        out: Floats = rows @ self.weights
        out += self.bias
        return out


@dataclass(frozen=True, slots=True)
class _Norm:
    weights: Floats
    bias: Floats
    epsilon: float

    def __call__(self, rows: Floats) -> Floats:
        centred = rows - rows.mean(axis=-1, keepdims=True)
        spread = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + np.float32(self.epsilon))
        out: Floats = centred / spread * self.weights + self.bias
        return out


@dataclass(frozen=True, slots=True)
class _Layer:
    attend: _Linear  # query, key and value side by side
    attended: _Linear
    attended_norm: _Norm
    widen: _Linear
    narrow: _Linear
    narrowed_norm: _Norm


class NumpyEncoder:
    """Token rows (tokens, hidden) → the mean of the last layer's rows (hidden,). About 90 MB of weights."""

    def __init__(self, file: E5File) -> None:
        sizes = file.sizes
        self._heads = sizes.heads
        self._first = _norm(file, "emb.ln")
        self._layers = [_layer(file, number) for number in range(sizes.layers)]

    def __call__(self, rows: Floats) -> Floats:
        rows = self._first(rows)
        for layer in self._layers:
            rows = layer.attended_norm(rows + layer.attended(self._attention(layer.attend(rows))))
            rows = layer.narrowed_norm(rows + layer.narrow(_gelu(layer.widen(rows))))
        mean: Floats = rows.mean(axis=0)
        return mean

    def _attention(self, joined: Floats) -> Floats:
        tokens, width = joined.shape[0], joined.shape[1] // 3
        size = width // self._heads
        parts = joined.reshape(tokens, 3, self._heads, size)
        out = np.empty((tokens, self._heads, size), np.float32)
        for head in range(self._heads):  # one head's scores stay in the processor's cache
            queries, keys, values = np.ascontiguousarray(parts[:, :, head].transpose(1, 0, 2))
            scores = (queries * np.float32(size**-0.5)) @ keys.T
            scores -= scores.max(axis=-1, keepdims=True)
            np.exp(scores, out=scores)
            out[:, head] = (scores @ values) / scores.sum(axis=-1, keepdims=True)
        return out.reshape(tokens, width)


def _gelu(rows: Floats) -> Floats:
    return rows * np.float32(0.5) * (1 + _erf(rows * _HALF_ROOT))


def _erf(x: Floats) -> Floats:
    """Error function to 1.5e-7: Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26."""
    size = np.abs(x)
    t = 1 / (1 + np.float32(0.3275911) * size)
    series = np.zeros_like(t)
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = (series + np.float32(factor)) * t
    error: Floats = np.copysign(1 - series * np.exp(-size * size), x)
    return error


def _layer(file: E5File, number: int) -> _Layer:
    hidden, forward = file.sizes.hidden, file.sizes.feed_forward
    prefix = f"l{number}"
    parts = [_linear(file, f"{prefix}.{name}", hidden, hidden) for name in ("q", "k", "v")]
    return _Layer(
        attend=_Linear(
            np.concatenate([part.weights for part in parts], axis=1), np.concatenate([part.bias for part in parts])
        ),
        attended=_linear(file, f"{prefix}.ao", hidden, hidden),
        attended_norm=_norm(file, f"{prefix}.aln"),
        widen=_linear(file, f"{prefix}.fi", forward, hidden),
        narrow=_linear(file, f"{prefix}.fo", hidden, forward),
        narrowed_norm=_norm(file, f"{prefix}.oln"),
    )


def _linear(file: E5File, name: str, outputs: int, inputs: int) -> _Linear:
    weights = expand(file.blocks(f"{name}.w", outputs, inputs))
    return _Linear(np.ascontiguousarray(weights.T), file.floats(f"{name}.b", outputs))


def _norm(file: E5File, name: str) -> _Norm:
    hidden = file.sizes.hidden
    return _Norm(file.floats(f"{name}.w", hidden), file.floats(f"{name}.b", hidden), file.sizes.epsilon)
