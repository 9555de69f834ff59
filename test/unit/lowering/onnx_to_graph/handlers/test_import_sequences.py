"""Sequences and optionals whose tensors import knows; and what is refused, with the reason."""

from __future__ import annotations

import re

import numpy as np
import pytest
from import_cases import onnxruntime
from onnx import helper
from text_models import model_of, numbers

import mini_infer as mi
from mini_infer.dialects.errors import InvalidModelError, UnknownValueError, UnsupportedError
from mini_infer.lowering.onnx_to_graph import import_onnx

X = numbers(4, 3)


@pytest.mark.parametrize(
    "nodes",
    [
        "s = SequenceConstruct(x, z)  y = ConcatFromSequence <axis = 0> (s)",
        "s = SequenceConstruct(x, z, x)  y = ConcatFromSequence <axis = -1, new_axis = 1> (s)",
        "s = SplitToSequence <axis = 0> (x, three)  y = SequenceAt(s, one)",
        "s = SplitToSequence <axis = 0, keepdims = 0> (x)  y = SequenceAt(s, minus)",
        "s = SplitToSequence <axis = 1> (x, parts)  y = SequenceAt(s, one)",
        "e = SequenceEmpty()  s = SequenceInsert(e, x)  t = SequenceInsert(s, z, zero)  y = SequenceAt(t, zero)",
        "s = SequenceConstruct(x, z)  t = SequenceErase(s, zero)  u = Identity(t)  y = SequenceAt(u, zero)",
        "s = SequenceConstruct(x, z)  t = SequenceErase(s)  n = SequenceLength(t)  c = CastLike(n, x)  y = Mul(x, c)",
        """s = SequenceConstruct(x, z)
           t = SequenceMap (s, z) <body = b (float[4,3] p, float[4,3] q) => (float[4,3] r) { r = Sub(p, q) }>
           y = SequenceAt(t, zero)""",
        """e = SequenceConstruct(z)
           n = Constant <value = int64 {3}> ()
           s = Loop (n, , e) <body = b (int64 i, bool on, seq(float[4,3]) p) => (bool go, seq(float[4,3]) q) {
             go = Identity(on)
             f = Cast <to = 1> (i)
             w = Add(x, f)
             q = SequenceInsert(p, w)
           }>
           y = ConcatFromSequence <axis = 0> (s)""",
        """t = Optional(x)  h = OptionalHasElement(t)
           y = If (h) <then_branch = a () => (float[4,3] p) { p = OptionalGetElement(t) },
                       else_branch = b () => (float[4,3] q) { q = Neg(x) }>""",
        """h = OptionalHasElement()
           y = If (h) <then_branch = a () => (float[4,3] p) { p = Identity(x) },
                       else_branch = b () => (float[4,3] q) { q = Neg(x) }>""",
    ],
)
def test_sequences_are_only_names(nodes: str) -> None:
    named = {"zero": "int64 {0}", "one": "int64 {1}", "minus": "int64 {-1}", "three": "int64 {3}"}
    named["parts"] = "int64[2] {1, 2}"
    read = {name: value for name, value in named.items() if re.search(rf"\b{name}\b", nodes)}
    constants = " ".join(f"{name} = Constant <value = {value}> ()" for name, value in read.items())
    model = model_of(f"g (float[4,3] x, float[4,3] z) => (float[k] y) {{ {constants} {nodes} }}", 18)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    inputs = {"x": X, "z": X + 1}
    np.testing.assert_array_equal(mi.compile(model, threads=1)(inputs)["y"], onnxruntime(model, inputs)[0])


SEQUENCE = "s = SequenceConstruct(x, x)"


@pytest.mark.parametrize(
    ("nodes", "error", "message"),
    [
        (f"{SEQUENCE} y = Relu(s)", UnsupportedError, r"Relu_1 \(Relu\): operand 0 \(s\) is a sequence of tensors"),
        (f"{SEQUENCE} y = Identity(s)", UnsupportedError, "output y is a sequence of tensors"),
        (
            f"{SEQUENCE} y = SequenceAt(s, n)",
            UnknownValueError,
            r"operand 1 \(n\) must be known",
        ),
        (f"{SEQUENCE} y = SequenceErase(x, n)", InvalidModelError, r"operand 0 \(x\) is no sequence of tensors"),
        ("s = SequenceEmpty() y = ConcatFromSequence <axis = 0> (s)", InvalidModelError, "nothing to join"),
        (
            f"{SEQUENCE} o = Constant <value = int64 {{2}}> () y = SequenceAt(s, o)",
            InvalidModelError,
            "position 2 is outside of a sequence of 2",
        ),
        (
            f"{SEQUENCE} y = If (c) <then_branch = a () => (seq(float[4]) p) {{ p = Identity(s) }}, "
            "else_branch = b () => (seq(float[4]) q) { q = Identity(s) }>",
            UnsupportedError,
            r"If_1 \(If\): result p of its graph a is a sequence of tensors",
        ),
        (
            "y = RandomNormalLike(x)",
            UnsupportedError,
            r"RandomNormalLike \(.*_0: it draws random",
        ),
    ],
)
def test_what_is_refused_says_why(nodes: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        import_onnx(model_of(f"g (float[4] x, int64 n, bool c) => (float[4] y) {{ {nodes} }}"))


def test_a_sequence_as_an_input_is_refused_by_its_kind() -> None:
    with pytest.raises(UnsupportedError, match="input s is no tensor: a sequence"):
        import_onnx(model_of("g (seq(float[4]) s, int64 n) => (float[4] y) { y = SequenceAt(s, n) }"))


def test_a_model_of_another_domain_alone_needs_no_version_of_onnx() -> None:
    text = "g (float[4] x) => (float[4] y) { y = ai.onnx.ml.Binarizer(x) }"
    model = model_of(text)
    del model.opset_import[:]
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1))
    assert "graph.greater" in str(import_onnx(model))
    model.graph.node[0].op_type = "DictVectorizer"
    with pytest.raises(UnsupportedError, match=r"ai.onnx.ml.DictVectorizer \(DictVectorizer_0: it takes a map\)"):
        import_onnx(model)
    own = model_of(text.replace("ai.onnx.ml.Binarizer", "Relu"))
    del own.opset_import[:]
    own.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1))
    with pytest.raises(InvalidModelError, match="imports no version of the ONNX operators"):
        import_onnx(own)
