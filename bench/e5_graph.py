"""Writes `vaultd/llm/data/e5_small.onnx`: the encoder of multilingual-e5-small as a graph without weights.

    python bench/e5_graph.py            writes the file
    python bench/e5_graph.py --check    fails if the file is not what this script writes

The weights stay in the model's own 4-bit file; `vaultd.llm.e5_onnx` hands them to onnxruntime under the names
used here. Needs the package `onnx` (a development dependency only).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

GRAPH = Path(__file__).parent.parent / "vaultd" / "llm" / "data" / "e5_small.onnx"
HIDDEN, LAYERS, HEADS, FORWARD, BLOCK = 384, 12, 12, 1536, 32
EPSILON = 1e-12
CONTRIB = "com.microsoft"  # onnxruntime's own operators
INT8_ACTIVATIONS = 4  # accuracy_level of MatMulNBits: 4-bit weights times 8-bit activations, both in blocks of 32


class GraphWriter:
    """Collects nodes and the declarations of weights that are handed over later."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.tensors: list[TensorProto] = []

    def node(self, op: str, inputs: list[str], outputs: list[str], domain: str = "", **attributes) -> str:
        """Add an operation; returns the name of its first output."""
        self.nodes.append(helper.make_node(op, inputs, outputs, name=f"{outputs[0]}.op", domain=domain, **attributes))
        return outputs[0]

    def weight(self, name: str, kind: int, *shape: int) -> str:
        """Declare a tensor whose numbers come with the model file."""
        tensor = TensorProto(name=name, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="model file")
        self.tensors.append(tensor)
        return name

    def constant(self, name: str, *numbers: int) -> str:
        """Declare a tensor of whole numbers."""
        self.tensors.append(numpy_helper.from_array(np.array(numbers, np.int64), name))
        return name

    def linear(self, rows: str, name: str, outputs: int, inputs: int) -> str:
        """rows · weights + bias, with 4-bit weights."""
        blocks = inputs // BLOCK
        parts = [
            rows,
            self.weight(f"{name}.weights", TensorProto.UINT8, outputs, blocks, BLOCK // 2),
            self.weight(f"{name}.scales", TensorProto.FLOAT, outputs * blocks),
            "",
            "",
            self.weight(f"{name}.bias", TensorProto.FLOAT, outputs),
        ]
        sizes = {"K": inputs, "N": outputs, "bits": 4, "block_size": BLOCK}
        return self.node("MatMulNBits", parts, [name], CONTRIB, accuracy_level=INT8_ACTIVATIONS, **sizes)

    def norm(self, rows: str, name: str) -> str:
        """Layer normalisation."""
        parts = [rows, self.weight(f"{name}.weights", TensorProto.FLOAT, HIDDEN)]
        parts.append(self.weight(f"{name}.bias", TensorProto.FLOAT, HIDDEN))
        return self.node("LayerNormalization", parts, [name], axis=-1, epsilon=EPSILON)

    def layer(self, rows: str, name: str) -> str:
        """One layer of the encoder: attention, then feed-forward."""
        joined = self.linear(rows, f"{name}.attend", 3 * HIDDEN, HIDDEN)
        parts = [f"{name}.query", f"{name}.key", f"{name}.value"]
        self.node("Split", [joined, "thirds"], parts, axis=-1)
        context = self.node("MultiHeadAttention", parts, [f"{name}.context"], CONTRIB, num_heads=HEADS)
        attended = self.linear(context, f"{name}.attended", HIDDEN, HIDDEN)
        rows = self.norm(self.node("Add", [rows, attended], [f"{name}.sum"]), f"{name}.attended_norm")
        wide = self.linear(rows, f"{name}.widen", FORWARD, HIDDEN)
        bent = self.node("Gelu", [wide], [f"{name}.gelu"], CONTRIB)
        narrow = self.linear(bent, f"{name}.narrow", HIDDEN, FORWARD)
        return self.norm(self.node("Add", [rows, narrow], [f"{name}.sum2"]), f"{name}.narrowed_norm")


def graph() -> ModelProto:
    """The whole graph: rows (1, tokens, hidden) → mean (1, hidden)."""
    writer = GraphWriter()
    writer.constant("thirds", HIDDEN, HIDDEN, HIDDEN)
    rows = writer.norm("rows", "first_norm")
    for number in range(LAYERS):
        rows = writer.layer(rows, f"layer{number}")
    writer.node("ReduceMean", [rows, writer.constant("tokens", 1)], ["mean"], keepdims=0)
    whole = helper.make_graph(
        writer.nodes,
        "multilingual-e5-small",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, [1, "tokens", HIDDEN])],
        [helper.make_tensor_value_info("mean", TensorProto.FLOAT, [1, HIDDEN])],
        writer.tensors,
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(CONTRIB, 1)]
    return helper.make_model(whole, opset_imports=opsets, ir_version=9, producer_name="vaultd")


def main() -> int:
    """Write or check the file."""
    parser = argparse.ArgumentParser(description="Write the encoder's graph.")
    parser.add_argument("--check", action="store_true", help="only compare the file with what would be written")
    encoded = graph().SerializeToString(deterministic=True)
    if parser.parse_args().check:
        same = GRAPH.read_bytes() == encoded
        print("the graph is up to date" if same else f"{GRAPH} is not what this script writes")
        return 0 if same else 1
    GRAPH.write_bytes(encoded)
    print(f"{GRAPH}: {len(encoded):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
