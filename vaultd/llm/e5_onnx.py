"""The encoder of multilingual-e5-small, run by onnxruntime.

`data/e5_small.onnx` is the graph without weights (written by `bench/e5_graph.py`). The weights are taken from the
model file as they are, in 4 bits, and handed to onnxruntime in memory: nothing is written to disk, so nothing there
can go stale or be damaged.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Final

import numpy as np
import numpy.typing as npt
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as failures

from vaultd.core.errors import ModelUnavailable
from vaultd.llm.e5_file import BLOCK, Bytes, E5File, Floats, scales_of, weights_of

GRAPH: Final = files("vaultd.llm") / "data" / "e5_small.onnx"
_QUIET: Final = 3  # log errors only
_FAILURES: Final = (
    failures.EPFail,
    failures.EngineError,
    failures.Fail,
    failures.InvalidArgument,
    failures.InvalidGraph,
    failures.InvalidProtobuf,
    failures.NoModel,
    failures.NotImplemented,
    failures.RuntimeException,
)  # onnxruntime's exceptions have no root of their own


class OnnxEncoder:
    """Token rows (tokens, hidden) → the mean of the last layer's rows (hidden,). Safe to call from several threads.

    `threads` bounds the threads that one call uses. Raises ModelUnavailable if onnxruntime refuses the graph.
    """

    def __init__(self, file: E5File, threads: int = 1) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # the arena keeps the largest call's memory for good
        options.log_severity_level = _QUIET
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        weights = weights_by_name(file)
        self._weights = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in weights.values()]
        options.add_external_initializers(list(weights), self._weights)
        try:
            self._session = onnxruntime.InferenceSession(
                GRAPH.read_bytes(), options, providers=["CPUExecutionProvider"]
            )
        except _FAILURES as exc:
            raise ModelUnavailable(f"onnxruntime {onnxruntime.__version__} refuses the built-in model") from exc

    def __call__(self, rows: Floats) -> Floats:
        try:
            (mean,) = self._session.run(None, {"rows": rows[np.newaxis]})
        except _FAILURES as exc:
            raise ModelUnavailable(f"onnxruntime {onnxruntime.__version__} fails on the built-in model") from exc
        vector: Floats = mean[0]
        return vector


def weights_by_name(file: E5File) -> dict[str, npt.NDArray[np.generic]]:
    """The graph's weights under the names that `bench/e5_graph.py` gives them."""
    hidden, forward = file.sizes.hidden, file.sizes.feed_forward
    arrays = _norm(file, "first_norm", "emb.ln")
    for number in range(file.sizes.layers):
        ours, theirs = f"layer{number}", f"l{number}"
        arrays |= _linear(file, f"{ours}.attend", [f"{theirs}.{part}" for part in ("q", "k", "v")], hidden, hidden)
        arrays |= _linear(file, f"{ours}.attended", [f"{theirs}.ao"], hidden, hidden)
        arrays |= _norm(file, f"{ours}.attended_norm", f"{theirs}.aln")
        arrays |= _linear(file, f"{ours}.widen", [f"{theirs}.fi"], forward, hidden)
        arrays |= _linear(file, f"{ours}.narrow", [f"{theirs}.fo"], hidden, forward)
        arrays |= _norm(file, f"{ours}.narrowed_norm", f"{theirs}.oln")
    return arrays


def _linear(
    file: E5File, ours: str, theirs: list[str], outputs: int, inputs: int
) -> dict[str, npt.NDArray[np.generic]]:
    blocks = np.concatenate([file.blocks(f"{name}.w", outputs, inputs) for name in theirs])
    return {
        f"{ours}.weights": _packed_for_onnx(blocks),
        f"{ours}.scales": scales_of(blocks).reshape(-1),
        f"{ours}.bias": np.concatenate([file.floats(f"{name}.b", outputs) for name in theirs]),
    }


def _packed_for_onnx(blocks: Bytes) -> Bytes:
    """Byte j of a block holds weights 2j (low) and 2j + 1 (high), as MatMulNBits reads them; the file has j, j + 16."""
    pairs = weights_of(blocks).reshape(*blocks.shape[:-1], BLOCK // 2, 2)
    packed: Bytes = pairs[..., 0] | (pairs[..., 1] << np.uint8(4))
    return packed


def _norm(file: E5File, ours: str, theirs: str) -> dict[str, npt.NDArray[np.generic]]:
    hidden = file.sizes.hidden
    return {f"{ours}.weights": file.floats(f"{theirs}.w", hidden), f"{ours}.bias": file.floats(f"{theirs}.b", hidden)}
