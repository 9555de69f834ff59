"""Models that ask for more than there is, without end, or for nonsense: each is refused with one clear error.

What is wrong with a graph that was written in good faith is in test_import_errors.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.internal.containers import RepeatedCompositeFieldContainer
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from mini_infer.dialects.graph.values import Array

FAR = 2**40  # elements that no machine has
MANY = 2**33  # elements that hardly any machine has: 32 GB of floats

node = helper.make_node


def model(
    nodes: Sequence[NodeProto],
    shape: Sequence[int] = (2, 3),
    functions: Sequence[FunctionProto] = (),
    opset: int = 18,
    **constants: Any,
) -> ModelProto:
    """A model from x, f32 of a shape, to y; `constants` become initialisers, lists of integers i64."""
    graph = helper.make_graph(
        nodes,
        "hostile",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10, functions=functions)


def function(name: str, nodes: Sequence[NodeProto]) -> FunctionProto:
    """A function from a to b."""
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, ["a"], ["b"], nodes, opsets)


def call(name: str, reads: str, makes: str) -> NodeProto:
    """A call of a function."""
    return node(name, [reads], [makes], domain="own")


def summed(*nodes: NodeProto, **given: Any) -> ModelProto:
    """A model that adds the sum of t, which the nodes make of constants, to x."""
    return model([*nodes, node("ReduceSum", ["t"], ["s"]), node("Add", ["x", "s"], ["y"])], **given)


def resized(scales: Sequence[float]) -> ModelProto:
    """A resized image of 4 by 4."""
    return model(
        [node("Resize", ["x", "", "scales"], ["y"], mode="linear")], (1, 1, 4, 4), scales=np.array(scales, np.float32)
    )


def ones(*shape: int) -> Array:
    return np.ones(shape, np.float32)


# Size: of inputs, results, constants and everything between.


def input_too_large() -> ModelProto:
    return model([node("Relu", ["x"], ["y"])], (FAR, 3))


def input_beyond_addresses() -> ModelProto:
    return model([node("Relu", ["x"], ["y"])], (2**62, 2**62))


def empty_input_beyond_addresses() -> ModelProto:
    return model([node("Relu", ["x"], ["y"])], (0, 2**62, 2**62))


def deep_input() -> ModelProto:
    return model([node("Transpose", ["x"], ["y"])], [1] * 200)


def deep_reshape() -> ModelProto:
    return model([node("Reshape", ["x", "to"], ["y"])], (6,), to=[2, 3, *[1] * 38])


def deep_initialiser() -> ModelProto:
    return model([node("Add", ["x", "w"], ["y"])], (1,), w=np.ones([1] * 40, np.float32))


def expanded() -> ModelProto:
    return model([node("Expand", ["x", "to"], ["e"]), node("ReduceSum", ["e"], ["y"])], (1,), to=[MANY * 8])


def constant_of_shape() -> ModelProto:
    return summed(node("ConstantOfShape", ["of"], ["t"]), of=[MANY])


def tiled() -> ModelProto:
    return model([node("Tile", ["x", "by"], ["y"])], (2,), by=[FAR])


def tiled_constant() -> ModelProto:
    return summed(node("Tile", ["k", "by"], ["t"]), k=ones(64), by=[MANY])


def padded() -> ModelProto:
    return model([node("Pad", ["x", "by"], ["y"])], (2,), by=[FAR, FAR])


def padded_constant() -> ModelProto:
    return summed(node("Pad", ["k", "by"], ["t"]), k=ones(4), by=[MANY, 0])


def one_hot() -> ModelProto:
    return summed(node("OneHot", ["i", "depth", "v"], ["t"]), i=[1, 2], depth=FAR, v=ones(2))


def number_range() -> ModelProto:
    return summed(node("Range", ["a", "b", "d"], ["n"]), node("Cast", ["n"], ["t"], to=1), a=0, b=FAR, d=1)


def many_ranges() -> ModelProto:
    """Each of them is allowed; all of them are not."""
    ranges = [node("Range", ["a", "b", "d"], [f"n{index}"]) for index in range(50)]
    everything = node("Concat", [f"n{index}" for index in range(50)], ["n"], axis=0)
    return summed(*ranges, everything, node("Cast", ["n"], ["t"], to=1), a=0, b=2**24, d=1)


def identity_matrix() -> ModelProto:
    return model([node("EyeLike", ["x"], ["y"])], (2**20, 2**20))


def image() -> ModelProto:
    return resized([1, 1, 1e9, 1e9])


def outer_product() -> ModelProto:
    return summed(node("MatMul", ["a", "b"], ["t"]), a=ones(300_000, 1), b=ones(1, 300_000))


def outer_sum() -> ModelProto:
    return summed(node("Add", ["a", "b"], ["t"]), a=ones(300_000, 1), b=ones(1, 300_000))


def outer_einsum() -> ModelProto:
    return model([node("Einsum", ["x"] * 6, ["y"], equation="a,b,c,d,e,f->abcdef")], (1000,))


def doubled_constant() -> ModelProto:
    """Each step joins a constant with itself."""
    steps = [node("Concat", [f"v{i}"] * 2, [f"v{i + 1}"], axis=0) for i in range(34)]
    return summed(node("Identity", ["k"], ["v0"]), *steps, node("Identity", ["v34"], ["t"]), k=ones(100))


def doubled_differently() -> ModelProto:
    """Each step joins a constant with another one of the same size, so that no step makes more than it reads."""
    steps: list[NodeProto] = []
    for i in range(34):
        steps += [node("Neg", [f"v{i}"], [f"n{i}"]), node("Concat", [f"v{i}", f"n{i}"], [f"v{i + 1}"], axis=0)]
    return summed(node("Identity", ["k"], ["v0"]), *steps, node("Identity", ["v34"], ["t"]), k=ones(100))


def absurd_padding() -> ModelProto:
    return model([node("Conv", ["x", "w"], ["y"], pads=[2**31] * 4)], (1, 1, 5, 5), w=ones(1, 1, 3, 3))


def dilated_constant() -> ModelProto:
    """Its result is small, but what lies between the taps is not."""
    conv = node("Conv", ["k", "w"], ["t"], dilations=[2**31] * 2, pads=[2**31] * 4)
    return summed(conv, k=ones(1, 1, 3, 3), w=ones(1, 1, 3, 3))


def output_padding() -> ModelProto:
    convolution = node("ConvTranspose", ["x", "w"], ["y"], output_padding=[FAR, 0])
    return model([convolution], (1, 1, 5, 5), w=ones(1, 1, 3, 3))


def split_without_end() -> ModelProto:
    return model([node("Split", ["x"], ["y"], num_outputs=FAR)])


def split_into_nothing() -> ModelProto:
    return model([node("Split", ["x"], ["y", "z"], num_outputs=0)])


# No numbers at all.


def range_to_infinity() -> ModelProto:
    return summed(node("Range", ["a", "b", "d"], ["t"]), a=np.float32(0), b=np.float32(np.inf), d=np.float32(1))


def range_to_nowhere() -> ModelProto:
    return summed(node("Range", ["a", "b", "d"], ["t"]), a=np.float32(0), b=np.float32(np.nan), d=np.float32(1))


def image_without_size() -> ModelProto:
    return resized([1, 1, np.nan, np.inf])


# Functions and branches.


def recursive() -> ModelProto:
    return model([call("R", "x", "y")], functions=[function("R", [call("R", "a", "b")])])


def mutually_recursive() -> ModelProto:
    return model(
        [call("R", "x", "y")],
        functions=[function("R", [call("S", "a", "b")]), function("S", [call("R", "a", "b")])],
    )


def recursive_in_a_branch() -> ModelProto:
    return model([call("R", "x", "y")], functions=[function("R", [always(call("R", "a", "t"), "b")])])


def always(inner: NodeProto, makes: str) -> NodeProto:
    """An If around a node, with a condition that is always true."""
    branch = branch_of(inner)
    return node("If", ["yes"], [makes], then_branch=branch, else_branch=branch)


def branch_of(inner: NodeProto) -> GraphProto:
    result = helper.make_tensor_value_info(inner.output[0], TensorProto.UNDEFINED, None)
    return helper.make_graph([inner], "branch", [], [result])


def deep_calls() -> ModelProto:
    chain = [function(f"F{i}", [call(f"F{i - 1}", "a", "b")]) for i in range(1, 3000)]
    return model([call("F2999", "x", "y")], functions=[function("F0", [node("Relu", ["a"], ["b"])]), *chain])


def bomb() -> ModelProto:
    """2^30 nodes."""
    doubling = [function(f"F{i}", [call(f"F{i - 1}", "a", "c"), call(f"F{i - 1}", "c", "b")]) for i in range(1, 31)]
    return model([call("F30", "x", "y")], functions=[function("F0", [node("Relu", ["a"], ["b"])]), *doubling])


def bomb_in_branches() -> ModelProto:
    """The same, where each call stands in a branch."""
    yes = node("Constant", [], ["yes"], value=numpy_helper.from_array(np.array(True)))
    doubling = [
        function(f"F{i}", [yes, always(call(f"F{i - 1}", "a", "t"), "c"), always(call(f"F{i - 1}", "c", "u"), "b")])
        for i in range(1, 31)
    ]
    return model([call("F30", "x", "y")], functions=[function("F0", [node("Relu", ["a"], ["b"])]), *doubling])


def nested(nodes: RepeatedCompositeFieldContainer[NodeProto], deep: int) -> None:
    """Adds Ifs within each other, each with one branch of its own, whose result is y.

    They are written in place: protobuf copies no message in which 100 others lie.
    """
    result = "y"
    for level in range(deep):
        outer = nodes.add(op_type="If", input=["yes"], output=[result])
        result = f"t{level}"
        for name in ("then_branch", "else_branch"):
            branch = outer.attribute.add(name=name, type=AttributeProto.GRAPH).g
            branch.name = name
            branch.output.add(name=result)
            nodes = branch.node
            if name == "then_branch":
                nodes.add(op_type="Neg", input=["x"], output=[result])
    nodes.add(op_type="Relu", input=["x"], output=[result])


def deepest_branches() -> ModelProto:
    """As deep as a file can be."""
    found = model([], yes=True)
    nested(found.graph.node, 32)
    return found


def deep_branches() -> ModelProto:
    found = model([], yes=True)
    nested(found.graph.node, 33)
    return found


def deep_branches_of_a_function() -> ModelProto:
    found = model([node("R", ["x", "yes"], ["y"], domain="own")], yes=True)
    body = found.functions.add(name="R", domain="own", input=["x", "yes"], output=["y"])
    body.opset_import.add(domain="", version=18)
    nested(body.node, 3000)
    return found


def deep_type() -> ModelProto:
    """A sequence of sequences of ..."""
    found = model([node("Relu", ["x"], ["y"])])
    inner = found.graph.input[0].type
    for _ in range(200):
        inner = inner.sequence_type.elem_type
    inner.tensor_type.elem_type = TensorProto.FLOAT
    return found


def same_function_twice() -> ModelProto:
    twice = [function("R", [node(kind, ["a"], ["b"])]) for kind in ("Relu", "Neg")]
    return model([call("R", "x", "y")], functions=twice)


def too_many_operands() -> ModelProto:
    return model([node("R", ["x", "x"], ["y"], domain="own")], functions=[function("R", [node("Relu", ["a"], ["b"])])])


def too_many_results() -> ModelProto:
    two = node("R", ["x"], ["y", "z"], domain="own")
    return model([two], functions=[function("R", [node("Relu", ["a"], ["b"])])])


def function_without_opset() -> ModelProto:
    body = helper.make_function("own", "R", ["a"], ["b"], [node("Relu", ["a"], ["b"])], [helper.make_opsetid("own", 1)])
    return model([call("R", "x", "y")], functions=[body])


# Names and files.


def external(location: str) -> ModelProto:
    weight = TensorProto(name="w", dims=[2, 3], data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value=location)
    found = model([node("Add", ["x", "w"], ["y"])])
    found.graph.initializer.append(weight)
    return found


def over_long_location() -> ModelProto:
    return external("a" * 5000)


def location_with_zero_byte() -> ModelProto:
    return external("a\0b")


def data_in_a_pipe() -> ModelProto:
    return external("pipe")


def data_in_a_folder() -> ModelProto:
    return external("folder")


def data_elsewhere() -> ModelProto:
    return external("elsewhere")


def file_of(made: ModelProto | bytes) -> bytes:
    """What a file of the model holds."""
    return made if isinstance(made, bytes) else made.SerializeToString()


def lay_out(folder: Path) -> None:
    """Makes what hostile models name in their folder."""
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    (folder / "elsewhere").symlink_to("/dev/zero")


def not_text(model: ModelProto, name: str) -> bytes:
    """A file in which a name is no UTF-8."""
    return model.SerializeToString().replace(name.encode(), b"\xff" * len(name))


def dimension_that_is_no_text() -> bytes:
    found = model([node("Relu", ["x"], ["y"])])
    found.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    return not_text(found, "batch")


def location_that_is_no_text() -> bytes:
    return not_text(external("weights"), "weights")


def location_of_a_constant_that_is_no_text() -> bytes:
    weight = external("weights").graph.initializer[0]
    return not_text(model([node("Constant", [], ["w"], value=weight), node("Add", ["x", "w"], ["y"])]), "weights")


def over_long_names() -> ModelProto:
    """A bomb of characters: each call's name stands before that of the nodes in it."""
    chain = [function(f"F{i}", [node(f"F{i - 1}", ["a"], ["b"], "n" * 50_000, domain="own")]) for i in range(1, 60)]
    return model(
        [node("F59", ["x"], ["y"], "n" * 50_000, domain="own")],
        functions=[function("F0", [node("Relu", ["a"], ["b"], "n" * 50_000)]), *chain],
    )


_MEMORY = r"OutOfMemoryError: a run needs \d+\.\d\d GB \(arena .*\), but there are \d+\.\d\d GB of memory; .*"
_ADDRESSES = "a tensor of shape .* is too large for 64-bit addresses"
_RANK = "a rank of .* is too large: it is at most 32"
_MADE = "a constant of .* elements is too much: import makes 1073741824 bytes in all"
_DEEP = "functions and branches are nested more than 64 deep"
_NODES = "functions and branches hold more than 50000 nodes in all"

_NESTED = "UnsupportedError: .*: graphs (or types )?are nested (more than 32 deep|too deeply).*"
_NO_TEXT = r"InvalidModelError: a name in the model is not text: b'(.xff)+'"

CASES: Mapping[Callable[[], ModelProto | bytes], str] = {
    input_too_large: _MEMORY,
    input_beyond_addresses: rf"InvalidModelError: input x: {_ADDRESSES}",
    empty_input_beyond_addresses: rf"InvalidModelError: input x: {_ADDRESSES}",
    deep_input: rf"InvalidModelError: input x: {_RANK}",
    deep_reshape: rf"InvalidModelError: Reshape_0 \(Reshape\): {_RANK}",
    deep_initialiser: rf"InvalidModelError: initialiser w: {_RANK}",
    expanded: _MEMORY,
    constant_of_shape: _MEMORY,
    tiled: _MEMORY,
    tiled_constant: _MEMORY,
    padded: _MEMORY,
    padded_constant: _MEMORY,
    one_hot: rf"UnsupportedError: OneHot_0 \(OneHot\): {_MADE}",
    number_range: rf"UnsupportedError: Range_0 \(Range\): {_MADE}",
    many_ranges: rf"UnsupportedError: Range_8 \(Range\): {_MADE}",
    identity_matrix: _MEMORY,
    image: rf"InvalidModelError: Resize_0 \(Resize\): {_ADDRESSES}",
    outer_product: _MEMORY,
    outer_sum: _MEMORY,
    outer_einsum: rf"InvalidModelError: Einsum_0 \(Einsum\): {_ADDRESSES}",
    doubled_constant: _MEMORY,
    doubled_differently: _MEMORY,
    absurd_padding: rf"InvalidModelError: Conv_0 \(Conv\): {_ADDRESSES}",
    dilated_constant: "answered",
    output_padding: _MEMORY,
    split_without_end: r"InvalidModelError: Split_0 \(Split\): num_outputs is 1099511627776, but there are 1 results",
    split_into_nothing: r"InvalidModelError: Split_0 \(Split\): num_outputs is 0, but there are 2 results",
    range_to_infinity: r"InvalidModelError: Range_0 \(Range\): there is no range from 0.0 to inf in steps of 1.0",
    range_to_nowhere: r"InvalidModelError: Range_0 \(Range\): there is no range from 0.0 to nan in steps of 1.0",
    image_without_size: r"InvalidModelError: Resize_0 \(Resize\): .*",
    recursive: rf"UnsupportedError: R_0 \(R\): {_DEEP}",
    mutually_recursive: rf"UnsupportedError: R_0 \(R\): {_DEEP}",
    recursive_in_a_branch: rf"UnsupportedError: R_0 \(R\): {_DEEP}",
    deep_calls: rf"UnsupportedError: F2999_0 \(F2999\): {_DEEP}",
    bomb: rf"UnsupportedError: F30_0 \(F30\): {_NODES}",
    bomb_in_branches: rf"UnsupportedError: F30_0 \(F30\): {_NODES}",
    deepest_branches: "answered",
    deep_branches: _NESTED,
    deep_branches_of_a_function: _NESTED,
    deep_type: f"{_NESTED}|UnsupportedError: input x is no tensor: a sequence",
    same_function_twice: "InvalidModelError: function own.R is defined twice",
    too_many_operands: r"InvalidModelError: R_0 \(R\): 2 operands, but the function has 1",
    too_many_results: r"InvalidModelError: R_0 \(R\): 2 results, but the function has 1",
    function_without_opset: "UnsupportedError: operators that are not supported: Relu in opset none .*",
    over_long_location: r"InvalidModelError: initialiser w: external data 'a{150,200}\.\.\. can't be read: .*",
    location_with_zero_byte: r"InvalidModelError: initialiser w: external data 'a.x00b' can't be read: .* null byte",
    data_in_a_pipe: "InvalidModelError: initialiser w: external data 'pipe' can't be read: it is a pipe, not a file",
    data_in_a_folder: "InvalidModelError: initialiser w: external data 'folder' can't be read: it is a folder, .*",
    data_elsewhere: "InvalidModelError: initialiser w: external data 'elsewhere' lies outside the model's folder",
    dimension_that_is_no_text: _NO_TEXT,
    location_that_is_no_text: _NO_TEXT,
    location_of_a_constant_that_is_no_text: _NO_TEXT,
    over_long_names: "answered",
}
"""How each ends, as a regular expression."""
