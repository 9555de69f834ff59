"""A small Llama as an ONNX model with seeded weights, with its key-value caches as inputs and outputs.

RMS norms, rotary embeddings, grouped-query attention, and a gated feed-forward net. The style is how exporters express
attention and its caches:
- "concat": matrix products and a softmax, new keys concatenated to the past ones; as PyTorch's exporter does
- "attention": ONNX's Attention (opset 23) with past and present keys
- "scatter": ONNX's TensorScatter (opset 24) into caches of full capacity, Attention with the number of valid keys
- "microsoft": com.microsoft's GroupQueryAttention on caches of full capacity

Inputs are "input_ids" [batch, sequence] and, for each layer, "past_key_values.N.key" and ".value"; outputs are "logits"
[batch, sequence, vocabulary] and "present.N.key" and ".value". Besides:
- "concat" and "attention" take "position_ids" [batch, sequence]; pasts are [batch, key heads, past, size], presents
  [batch, key heads, past + sequence, size]
- "scatter" takes "lengths" [batch], the number of keys in the caches, which are [batch, key heads, capacity, size]
- "microsoft" takes "seqlens_k" [batch], the number of keys after this call minus one, and "total_sequence_length", the
  largest number of keys after this call
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from .resnet50 import Builder

if TYPE_CHECKING:
    from onnx import ModelProto, ValueInfoProto

Style = Literal["concat", "attention", "scatter", "microsoft"]

_OPSETS = {"concat": 17, "attention": 23, "scatter": 24, "microsoft": 17}
FULL_CACHES = ("scatter", "microsoft")  # styles whose caches have the same size before and after


@dataclass(frozen=True)
class LlamaSizes:
    """The dimensions of a Llama; `capacity` is its maximum number of tokens, which a full cache holds."""

    vocabulary: int = 200
    hidden: int = 64
    inner: int = 96
    layers: int = 2
    heads: int = 4
    key_heads: int = 2
    capacity: int = 256

    @property
    def size(self) -> int:
        """Elements per head."""
        return self.hidden // self.heads


def llama(style: Style = "concat", sizes: LlamaSizes | None = None, seed: int = 0) -> ModelProto:
    """The model; see above for its inputs and outputs."""
    return _Llama(style, sizes or LlamaSizes(), seed).model()


def past_names(layers: int) -> list[str]:
    """Names of the cache inputs."""
    return [f"past_key_values.{layer}.{part}" for layer in range(layers) for part in ("key", "value")]


def present_names(layers: int) -> list[str]:
    """Names of the cache outputs, in the order of past_names."""
    return [f"present.{layer}.{part}" for layer in range(layers) for part in ("key", "value")]


class _Llama:
    def __init__(self, style: Style, sizes: LlamaSizes, seed: int) -> None:
        self.style, self.sizes = style, sizes
        self.b = Builder(seed)
        self.inputs: list[ValueInfoProto] = []
        self.outputs: list[ValueInfoProto] = []

    def model(self) -> ModelProto:
        from onnx import TensorProto, helper

        b, s = self.b, self.sizes
        self._declare()
        table = b.weight("embedding", b.random.standard_normal((s.vocabulary, s.hidden)))
        x = b.node("Gather", [table, "input_ids"], "embedded")
        self._prepare()
        for layer in range(s.layers):
            name = f"layer{layer}"
            x = b.node("Add", [x, self._attention(self._norm(x, f"{name}.norm1"), layer)], f"{name}.add1")
            x = b.node("Add", [x, self._feed_forward(self._norm(x, f"{name}.norm2"), name)], f"{name}.add2")
        x = self._norm(x, "norm")
        weight = b.random.standard_normal((s.hidden, s.vocabulary)) / np.sqrt(s.hidden)
        b.nodes_of("MatMul", [x, b.weight("head", weight)], ["logits"], "head")
        logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "sequence", s.vocabulary])
        graph = helper.make_graph(b.nodes, f"llama_{self.style}", self.inputs, [logits, *self.outputs], b.weights)
        opsets = [helper.make_opsetid("", _OPSETS[self.style])]
        opsets += [helper.make_opsetid("com.microsoft", 1)] if self.style == "microsoft" else []
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def _declare(self) -> None:
        """Declares inputs, and the cache outputs."""
        from onnx import TensorProto, helper

        s, made, tokens = self.sizes, helper.make_tensor_value_info, ["batch", "sequence"]
        self.inputs.append(made("input_ids", TensorProto.INT64, tokens))
        match self.style:
            case "scatter":
                self.inputs.append(made("lengths", TensorProto.INT64, ["batch"]))
            case "microsoft":
                self.inputs.append(made("seqlens_k", TensorProto.INT32, ["batch"]))
                self.inputs.append(made("total_sequence_length", TensorProto.INT32, []))
            case _:
                self.inputs.append(made("position_ids", TensorProto.INT64, tokens))
        full = self.style in FULL_CACHES
        before, after = (s.capacity, s.capacity) if full else ("past", "past + sequence")
        for past, present in zip(past_names(s.layers), present_names(s.layers), strict=True):
            self.inputs.append(made(past, TensorProto.FLOAT, ["batch", s.key_heads, before, s.size]))
            self.outputs.append(made(present, TensorProto.FLOAT, ["batch", s.key_heads, after, s.size]))

    def _prepare(self) -> None:
        """Values common to all layers: angles, the mask, the number of keys."""
        b, s = self.b, self.sizes
        frequencies = 10000.0 ** (-np.arange(0, s.size, 2) / s.size)
        angles = np.arange(s.capacity)[:, None] * frequencies
        if self.style != "concat":
            self.cos, self.sin = b.weight("cos", np.cos(angles)), b.weight("sin", np.sin(angles))
        if self.style == "scatter":
            self.positions = self._counted("lengths", self._rows("input_ids"), "positions")
            self.keys = b.node("Add", ["lengths", self._rows("input_ids")], "keys")
        elif self.style == "attention":
            self.positions = "position_ids"
        elif self.style == "concat":
            places = b.node("Unsqueeze", ["position_ids", self._int("last", -1)], "places")
            steps = b.weight("frequencies", frequencies[None, None, :])
            floats = b.node("Cast", [places], "places_float", to=1)
            half = b.node("Mul", [floats, steps], "angles")
            whole = b.node("Concat", [half, half], "angles_twice", axis=-1)
            heads = b.node("Unsqueeze", [whole, self._int("rows_axis", 1)], "angles_of_heads")
            self.cos, self.sin = b.node("Cos", [heads], "cos"), b.node("Sin", [heads], "sin")
            self.mask = self._mask()

    def _rows(self, value: str) -> str:
        """The size of axis 1, as a vector of one element."""
        name = f"{value}/rows"
        if not any(node.name == name for node in self.b.nodes):
            self.b.node("Shape", [value], name, start=1, end=2)
        return f"{name}/out"

    def _counted(self, first: str, count: str, name: str) -> str:
        """[batch, count]: consecutive numbers from `first` [batch] on."""
        b = self.b
        along = self._range(count, name)
        return b.node("Add", [b.node("Unsqueeze", [first, self._int("rows_axis", 1)], f"{name}.first"), along], name)

    def _range(self, count: str, name: str) -> str:
        """The numbers below `count`, a vector of one element."""
        b = self.b
        none = b.constant(f"{name}.none", np.array([], np.int64))
        end = b.node("Reshape", [count, none], f"{name}.count")
        start, step = (b.constant(f"{name}.{number}", np.array(number, np.int64)) for number in (0, 1))
        return b.node("Range", [start, end, step], f"{name}.range")

    def _mask(self) -> str:
        """[batch, 1, sequence, past + sequence]: 0 where a token attends to a key, else the lowest float."""
        b = self.b
        past = b.node("Shape", [past_names(1)[0]], "past", start=2, end=3)
        columns = self._range(b.node("Add", [past, self._rows("input_ids")], "total"), "columns")
        own = b.node("Unsqueeze", ["position_ids", b.constant("own_axes", np.array([1, 3]))], "own")
        kept = b.node("LessOrEqual", [columns, own], "kept")
        numbers = {"yes": 0.0, "no": float(np.finfo(np.float32).min)}
        return b.node("Where", [kept, *(b.weight(name, np.array(each)) for name, each in numbers.items())], "mask")

    def _norm(self, x: str, name: str) -> str:
        b, s = self.b, self.sizes
        scale = b.weight(f"{name}.weight", b.random.uniform(0.8, 1.2, s.hidden))
        if _OPSETS[self.style] >= 23:
            return b.node("RMSNormalization", [x, scale], name, axis=-1, epsilon=1e-5)
        two, small = b.weight(f"{name}.two", np.array(2)), b.weight(f"{name}.small", np.array(1e-5))
        square = b.node("ReduceMean", [b.node("Pow", [x, two], f"{name}.pow")], f"{name}.mean", axes=[-1])
        root = b.node("Sqrt", [b.node("Add", [square, small], f"{name}.add")], f"{name}.sqrt")
        return b.node("Mul", [b.node("Div", [x, root], f"{name}.div"), scale], name)

    def _linear(self, x: str, name: str, inputs: int, outputs: int) -> str:
        weight = self.b.random.standard_normal((inputs, outputs)) / np.sqrt(inputs)
        return self.b.node("MatMul", [x, self.b.weight(f"{name}.weight", weight)], name)

    def _feed_forward(self, x: str, name: str) -> str:
        b, s = self.b, self.sizes
        gate = self._linear(x, f"{name}.gate", s.hidden, s.inner)
        gate = b.node("Mul", [gate, b.node("Sigmoid", [gate], f"{name}.sigmoid")], f"{name}.silu")
        up = self._linear(x, f"{name}.up", s.hidden, s.inner)
        return self._linear(b.node("Mul", [gate, up], f"{name}.gated"), f"{name}.down", s.inner, s.hidden)

    def _attention(self, x: str, layer: int) -> str:
        b, s, name = self.b, self.sizes, f"layer{layer}.attention"
        heads = {"q": s.heads, "k": s.key_heads, "v": s.key_heads}
        flat = [self._linear(x, f"{name}.{part}", s.hidden, count * s.size) for part, count in heads.items()]
        pasts, presents = (names(s.layers)[2 * layer : 2 * layer + 2] for names in (past_names, present_names))
        if self.style == "microsoft":
            y = self._grouped(flat, pasts, presents, name)
        else:
            parts = [
                self._split(each, f"{name}.{part}", count)
                for each, (part, count) in zip(flat, heads.items(), strict=True)
            ]
            q, k = (self._rotated(each, f"{name}.{part}.turned") for each, part in zip(parts, "qk", strict=False))
            write = {"concat": self._plain, "attention": self._attended, "scatter": self._scattered}[self.style]
            y = b.node("Transpose", [write([q, k, parts[2]], pasts, presents, name)], f"{name}.rows", perm=[0, 2, 1, 3])
            y = b.node("Reshape", [y, self._ints(f"{name}.flat", 0, 0, s.hidden)], f"{name}.joined")
        return self._linear(y, f"{name}.o", s.hidden, s.hidden)

    def _split(self, x: str, name: str, heads: int) -> str:
        shape = self._ints(f"{name}.shape", 0, 0, heads, self.sizes.size)
        x = self.b.node("Reshape", [x, shape], f"{name}.split")
        return self.b.node("Transpose", [x], f"{name}.heads", perm=[0, 2, 1, 3])

    def _rotated(self, x: str, name: str) -> str:
        b, half = self.b, self.sizes.size // 2
        if self.style != "concat":
            return b.node("RotaryEmbedding", [x, self.cos, self.sin, self.positions], name)
        axis, middle = self._int("last", -1), self._int("middle", half)
        low = b.node("Slice", [x, self._int("zero", 0), middle, axis], f"{name}.low")
        high = b.node("Slice", [x, middle, self._int("end", 2**62), axis], f"{name}.high")
        turned = b.node("Concat", [b.node("Neg", [high], f"{name}.neg"), low], f"{name}.half", axis=-1)
        parts = [b.node("Mul", pair, f"{name}.{i}") for i, pair in enumerate(([x, self.cos], [turned, self.sin]))]
        return b.node("Add", parts, name)

    def _plain(self, parts: list[str], pasts: list[str], presents: list[str], name: str) -> str:
        b, s = self.b, self.sizes
        joined = zip(pasts, parts[1:], presents, strict=True)
        k, v = (
            self._repeated(b.nodes_of("Concat", [past, new], [present], f"{present}.concat", axis=2)[0], present)
            for past, new, present in joined
        )
        k = b.node("Transpose", [k], f"{name}.columns", perm=[0, 1, 3, 2])
        scale = b.weight(f"{name}.scale", np.array(s.size**-0.5))
        scores = b.node("Mul", [b.node("MatMul", [parts[0], k], f"{name}.scores"), scale], f"{name}.scaled")
        weights = b.node("Softmax", [b.node("Add", [scores, self.mask], f"{name}.masked")], f"{name}.weights", axis=-1)
        return b.node("MatMul", [weights, v], name)

    def _repeated(self, x: str, name: str) -> str:
        """Repeats each key head for the query heads that share it."""
        b, s = self.b, self.sizes
        sizes = [b.node("Shape", [x], f"{name}.sizes{at}", start=at, end=at + 2) for at in (0, 2)]
        group = self._int("group", s.heads // s.key_heads)
        wide = b.node("Concat", [sizes[0], group, sizes[1]], f"{name}.wide", axis=0)
        once = b.node("Unsqueeze", [x, self._int("group_axis", 2)], f"{name}.once")
        merged = self._ints("merged", 0, s.heads, -1, s.size)
        return b.node("Reshape", [b.node("Expand", [once, wide], f"{name}.expanded"), merged], f"{name}.repeated")

    def _attended(self, parts: list[str], pasts: list[str], presents: list[str], name: str) -> str:
        results = [f"{name}/out", *presents]
        return self.b.nodes_of("Attention", [*parts, "", *pasts], results, name, is_causal=1)[0]

    def _scattered(self, parts: list[str], pasts: list[str], presents: list[str], name: str) -> str:
        caches = [
            self.b.nodes_of("TensorScatter", [past, new, "lengths"], [present], f"{present}.scatter", axis=2)[0]
            for past, new, present in zip(pasts, parts[1:], presents, strict=True)
        ]
        return self.b.node("Attention", [parts[0], *caches, "", "", "", self.keys], name, is_causal=1)

    def _grouped(self, flat: list[str], pasts: list[str], presents: list[str], name: str) -> str:
        s = self.sizes
        operands = [*flat, *pasts, "seqlens_k", "total_sequence_length", self.cos, self.sin]
        options = {"num_heads": s.heads, "kv_num_heads": s.key_heads, "do_rotary": 1, "domain": "com.microsoft"}
        return self.b.nodes_of("GroupQueryAttention", operands, [f"{name}/out", *presents], name, **options)[0]

    def _int(self, name: str, value: int) -> str:
        return self._ints(name, value)

    def _ints(self, name: str, *values: int) -> str:
        """An integer vector, created once."""
        if all(weight.name != name for weight in self.b.weights):
            self.b.constant(name, np.array(values, np.int64))
        return name
