"""A Llama with block-quantised weights as an ONNX model, spelled as ONNX Runtime's model builder writes it for CPUs.

    python -m mini_infer.tools.demos.quantised_llama build/llama.onnx --layers 4
    python -m mini_infer.tools.demos.quantised_llama build/llama.onnx --bits 8 --block 128 --accuracy-level 0

Matrix products are MatMulNBits, attention is GroupQueryAttention with packed projections and its own rotary embedding,
norms are SimplifiedLayerNormalization with the addition before it. Weights are random; by default their sizes are those
of TinyLlama, 1.1 B parameters. Inputs are "input_ids" and "attention_mask" [batch_size, sequence_length and
total_sequence_length] and "past_key_values.N.key" and ".value" [batch_size, key heads, past_sequence_length, size];
outputs are "logits" and "present.N.key" and ".value".
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import numpy as np
import typer

from ..one_line_errors import run_alone
from .llama import LlamaSizes, past_names, present_names
from .resnet50 import Builder

if TYPE_CHECKING:
    from onnx import ModelProto

TINY_LLAMA = LlamaSizes(vocabulary=32000, hidden=2048, inner=5632, layers=22, heads=32, key_heads=4, capacity=2048)
INLINE_BYTES = 1024  # of the largest weights in the model's own file


@dataclass(frozen=True)
class BlockWeights:
    """How weights are quantised: in blocks along the depth of a product, with one scale each."""

    bits: int = 4
    block: int = 32
    zero_points: bool = False
    accuracy_level: int = 4  # of MatMulNBits: 4 permits activations of 8 bits


def quantised_llama(
    sizes: LlamaSizes = TINY_LLAMA, weights: BlockWeights | None = None, *, packed: bool = True, seed: int = 0
) -> ModelProto:
    """The model; `packed` joins the projections to query, key and value in one product."""
    return _QuantisedLlama(sizes, weights or BlockWeights(), packed, seed).model()


class _QuantisedLlama:
    def __init__(self, sizes: LlamaSizes, weights: BlockWeights, packed: bool, seed: int) -> None:
        self.sizes, self.weights, self.packed = sizes, weights, packed
        self.b = Builder(seed)

    def model(self) -> ModelProto:
        from onnx import TensorProto, helper

        b, s, made = self.b, self.sizes, helper.make_tensor_value_info
        inputs = [
            made("input_ids", TensorProto.INT64, ["batch_size", "sequence_length"]),
            made("attention_mask", TensorProto.INT64, ["batch_size", "total_sequence_length"]),
        ]
        outputs = [made("logits", TensorProto.FLOAT, ["batch_size", "sequence_length", s.vocabulary])]
        for names, length, given in (
            (past_names, "past_sequence_length", inputs),
            (present_names, "total_sequence_length", outputs),
        ):
            shape = ["batch_size", s.key_heads, length, s.size]
            given += [made(name, TensorProto.FLOAT, shape) for name in names(s.layers)]
        self._lengths()
        angles = np.arange(s.capacity)[:, None] * 10000.0 ** (-np.arange(0, s.size, 2) / s.size)
        b.weight("cos_cache", np.cos(angles))
        b.weight("sin_cache", np.sin(angles))
        table = b.random.standard_normal((s.vocabulary, s.hidden), np.float32)
        x = self._node("Gather", [b.weight("model.embed_tokens.weight", table), "input_ids"], "embed_tokens/Gather")
        root, added = x, ""
        for layer in range(s.layers):
            root, x = self._norm(root, added, f"layers.{layer}/input_layernorm")
            added = self._attention(x, layer)
            root, x = self._norm(root, added, f"layers.{layer}/post_attention_layernorm")
            added = self._feed_forward(x, f"layers.{layer}/mlp")
        _, x = self._norm(root, added, f"layers.{s.layers}/final_norm_layernorm", last=True)
        self._product(x, "/lm_head/MatMul", s.hidden, s.vocabulary, result="logits")
        graph = helper.make_graph(b.nodes, "main_graph", inputs, outputs, b.weights)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="onnxruntime-genai")

    def _node(self, op: str, inputs: list[str], name: str, **attributes: Any) -> str:
        return self.b.nodes_of(op, inputs, [f"/model/{name}/output_0"], f"/model/{name}", **attributes)[0]

    def _lengths(self) -> None:
        """The number of valid keys of each sequence minus one, and the largest number of keys, of the mask."""
        b, name = self.b, "attn_mask_reformat/attn_mask_subgraph"
        one = b.constant("/model/constants/INT64/[1]", np.array([1]))
        summed = self._node("ReduceSum", ["attention_mask", one], f"{name}/ReduceSum", keepdims=0)
        last = self._node("Sub", [summed, one], f"{name}/Sub")
        self.lengths = self._node("Cast", [last], f"{name}/Sub/Cast", to=6)
        place = b.constant("/model/constants/INT64/1", np.array(1))
        shape = self._node("Shape", ["attention_mask"], f"{name}/Shape")
        total = self._node("Gather", [shape, place], f"{name}/Gather", axis=0)
        self.total = self._node("Cast", [total], f"{name}/Gather/Cast", to=6)

    def _norm(self, root: str, added: str, name: str, *, last: bool = False) -> tuple[str, str]:
        """The sum of the residual stream and what is added to it, and its norm."""
        b = self.b
        weight = b.random.uniform(0.8, 1.2, self.sizes.hidden)
        scale = b.weight(f"model.{name.replace('/', '.')}.weight", weight)
        result = f"/model/{name}/output_0"
        if not added:
            options = {"epsilon": 1e-5, "axis": -1, "stash_type": 1}
            b.nodes_of("SimplifiedLayerNormalization", [root, scale], [result], f"/model/{name}/LayerNorm", **options)
            return root, result
        summed = f"/model/{name}/output_3"
        options = {"epsilon": 1e-5, "domain": "com.microsoft"}
        results = [result] if last else [result, "", "", summed]
        operands = [root, added, scale]
        b.nodes_of("SkipSimplifiedLayerNormalization", operands, results, f"/model/{name}/SkipLayerNorm", **options)
        return summed, result

    def _product(self, x: str, name: str, depth: int, columns: int, result: str = "") -> str:
        """A product with random block-quantised weights that preserve the variance."""
        b, w = self.b, self.weights
        blocks, weight = -(-depth // w.block), f"{name[1:].replace('/', '.')}.weight"
        packed = b.random.integers(0, 256, (columns, blocks, w.block * w.bits // 8), np.uint8)
        scale = np.sqrt(12 / (depth * (4.0**w.bits - 1)))
        scales = b.random.uniform(0.9 * scale, 1.1 * scale, (columns, blocks))
        operands = [x, b.constant(f"{weight}_Q{w.bits}", packed), b.weight(f"{weight}_scales", scales)]
        if w.zero_points:
            middle = sum(1 << (place + w.bits - 1) for place in range(0, 8, w.bits))
            zeros = np.full((columns, -(-blocks * w.bits // 8)), middle, np.uint8)
            operands.append(b.constant(f"{weight}_zero_points", zeros ^ b.random.integers(0, 2, zeros.shape, np.uint8)))
        options: dict[str, Any] = {"K": depth, "N": columns, "bits": w.bits, "block_size": w.block}
        if w.accuracy_level:
            options["accuracy_level"] = w.accuracy_level
        results = [result or f"{name}/output_0"]
        return b.nodes_of("MatMulNBits", operands, results, f"{name}_Q{w.bits}", domain="com.microsoft", **options)[0]

    def _attention(self, x: str, layer: int) -> str:
        s, name = self.sizes, f"/model/layers.{layer}/attn"
        columns = {"q": s.heads * s.size, "k": s.key_heads * s.size, "v": s.key_heads * s.size}
        if self.packed:
            flat = [self._product(x, f"{name}/qkv_proj/MatMul", s.hidden, sum(columns.values())), "", ""]
        else:
            flat = [self._product(x, f"{name}/{part}_proj/MatMul", s.hidden, each) for part, each in columns.items()]
        pasts, presents = (names(s.layers)[2 * layer : 2 * layer + 2] for names in (past_names, present_names))
        operands = [*flat, *pasts, self.lengths, self.total, "cos_cache", "sin_cache", "", "", ""]
        options: dict[str, Any] = {
            "num_heads": s.heads,
            "kv_num_heads": s.key_heads,
            "scale": s.size**-0.5,
            "local_window_size": -1,
            "softcap": 0.0,
            "do_rotary": 1,
            "rotary_interleaved": 0,
            "domain": "com.microsoft",
        }
        node, results = f"{name}/GroupQueryAttention", [f"{name}/GroupQueryAttention/output_0", *presents]
        y = self.b.nodes_of("GroupQueryAttention", operands, results, node, **options)[0]
        return self._product(y, f"{name}/o_proj/MatMul", s.heads * s.size, s.hidden)

    def _feed_forward(self, x: str, name: str) -> str:
        s = self.sizes
        gate, up = (self._product(x, f"/model/{name}/{part}_proj/MatMul", s.hidden, s.inner) for part in ("gate", "up"))
        sigmoid = self._node("Sigmoid", [gate], f"{name}/act_fn/Sigmoid")
        silu = self._node("Mul", [gate, sigmoid], f"{name}/act_fn/Mul")
        product = self._node("Mul", [silu, up], f"{name}/Mul")
        return self._product(product, f"/model/{name}/down_proj/MatMul", s.inner, s.hidden)


def write(model: ModelProto, path: str | Path) -> None:
    """Writes a model with its large weights in PATH.data beside it, which is replaced."""
    import onnx

    beside = Path(f"{path}.data")
    beside.parent.mkdir(parents=True, exist_ok=True)
    beside.unlink(missing_ok=True)
    save = cast("Any", onnx).save_model
    save(model, str(path), save_as_external_data=True, location=beside.name, size_threshold=INLINE_BYTES)


def main(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Where the model is written; weights in FILE.data.")],
    layers: Annotated[int, typer.Option(min=1)] = TINY_LLAMA.layers,
    width: Annotated[int, typer.Option(min=1, help="Elements of a token between layers.")] = TINY_LLAMA.hidden,
    heads: Annotated[int, typer.Option(min=1)] = TINY_LLAMA.heads,
    key_heads: Annotated[int, typer.Option(min=1, help="Heads of keys and values.")] = TINY_LLAMA.key_heads,
    ffn: Annotated[int, typer.Option(min=1, help="Elements within a feed-forward net.")] = TINY_LLAMA.inner,
    vocabulary: Annotated[int, typer.Option(min=1)] = TINY_LLAMA.vocabulary,
    capacity: Annotated[int, typer.Option(min=1, help="The most tokens: rows of angles.")] = TINY_LLAMA.capacity,
    bits: Annotated[int, typer.Option(help="Bits per weight: 2, 4 or 8.")] = 4,
    block: Annotated[int, typer.Option(min=16, help="Weights per scale, a power of two.")] = 32,
    accuracy_level: Annotated[int, typer.Option(min=0, max=4, help="4 permits activations of 8 bits.")] = 4,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    *,
    zero_points: Annotated[bool, typer.Option(help="Give each block a zero point.")] = False,
    packed: Annotated[bool, typer.Option(help="Join the products to query, key and value.")] = True,
) -> None:
    """Write a Llama with random block-quantised weights, spelled as ONNX Runtime's model builder does."""
    if bits not in (2, 4, 8):
        raise typer.BadParameter(f"{bits} bits; 2, 4 and 8 are possible")
    if block & (block - 1):
        raise typer.BadParameter(f"blocks of {block}; they have a power of two")
    if width % (2 * heads) or heads % key_heads:
        raise typer.BadParameter(f"{heads} heads of {width} elements and {key_heads} key heads don't divide each other")
    sizes = LlamaSizes(vocabulary, width, ffn, layers, heads, key_heads, capacity)
    write(
        quantised_llama(sizes, BlockWeights(bits, block, zero_points, accuracy_level), packed=packed, seed=seed), path
    )


if __name__ == "__main__":
    run_alone(main)
