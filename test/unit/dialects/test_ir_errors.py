"""IR that can't be taken further: each pass says why, in one line. What a pass's own .mlir test says is not here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from mini_infer.tools.mini_opt.command import main


def function(body: str, arguments: str = "", results: str = "") -> str:
    """A module with one function @f."""
    return f"func.func @f({arguments}) {results} {{\n{body}\n}}"


LLVM = {
    "two results": (
        function("func.return %a, %a : i64, i64", "%a: i64", "-> (i64, i64)"),
        "@f: a function can have one result only",
    ),
    "a call with two results": (
        "func.func private @g() -> (i64, i64)\n" + function("%r:2 = func.call @g() : () -> (i64, i64)\nfunc.return"),
        "a function can have one result only",
    ),
    "no return": (
        function("llvm.unreachable"),
        "a function must end with func.return",
    ),
    "a window of unknown size": (
        function(
            "%v = memref.subview %x[0] [%n] [1] : memref<8xf32> to memref<?xf32, strided<[1]>>\nfunc.return",
            "%x: memref<8xf32>, %n: index",
        ),
        "its sizes must be static",
    ),
    "a source whose layout is no list of strides": (
        function(
            "%v = memref.reinterpret_cast %x to offset: [0], sizes: [4], strides: [1] : "
            "memref<8xf32, affine_map<(d0) -> (d0)>> to memref<4xf32, strided<[1]>>\nfunc.return",
            "%x: memref<8xf32, affine_map<(d0) -> (d0)>>",
        ),
        "the layout of its source memref<8xf32, affine_map<(d0) -> (d0)>> must be strided",
    ),
    "the size of an unknown dimension": (
        function("%d = memref.dim %x, %n : memref<8xf32>\nfunc.return", "%x: memref<8xf32>, %n: index"),
        "the dimension asked for must be a constant",
    ),
    "a type that LLVM lacks": (
        function("func.return", "%x: tensor<4xf32>"),
        "tensor<4xf32> has no counterpart in LLVM",
    ),
    "a vector of another length": (
        function("%w = vector.broadcast %v : vector<1xf32> to vector<4xf32>\nfunc.return", "%v: vector<1xf32>"),
        "only a scalar can be broadcast",
    ),
    "a function of the C library on halves": (
        function("%r = math.erf %a : f16\nfunc.return", "%a: f16"),
        "not available for f16; expand-math computes it in f32",
    ),
    "a reduction that floats don't have": (
        function("%r = vector.reduction <and>, %v : vector<4xf32> into f32\nfunc.return", "%v: vector<4xf32>"),
        "there is no reduction 'and' of f32",
    ),
}


@pytest.mark.parametrize(("text", "message"), LLVM.values(), ids=LLVM)
def test_lower_to_llvm(text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused("lower-to-llvm", text, message, tmp_path, capsys)


def refused(passes: str, text: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Runs passes on a module, which end in a message and nothing else."""
    refused_by(["-p", passes], text, message, folder, capsys)


def refused_by(
    options: Sequence[str], text: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = folder / "module.mlir"
    module.write_text(text)
    assert main([str(module), *options]) == 1
    assert message in capsys.readouterr().err


def kernel(body: str, attributes: str = "") -> str:
    """A module whose main calls one kernel on x, f32 of 4 by 4."""
    return f"""
graph.kernel @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {attributes} {{
  {body}
}}
func.func @main(%x: tensor<4x4xf32> {{graph.name = "x"}}) -> (tensor<4x4xf32> {{graph.name = "y"}}) {{
  %y = graph.call @k(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("the node")
  func.return %y : tensor<4x4xf32>
}}
"""


def main_on_buffers(body: str) -> str:
    """A module at the buffers level with some ops in main."""
    argument = '%x: memref<4x4xf32> {graph.name = "x", graph.role = "input"}'
    return f"""
graph.kernel @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {{
  graph.yield %x : tensor<4x4xf32>
}}
func.func @main({argument}) {{
  {body}
  func.return
}}
"""


def scheduled(schedule: str) -> str:
    """A module at the buffers level with a kernel that moves x, given to the code of a schedule."""
    options = "{mr = 6, nr = 8, lanes = 4" + (", at_once = 4}" if schedule == "recurrence" else "}")
    attributes = f'attributes {{schedule = #kernel.schedule<"{schedule}", {options}>, interface = #kernel.interface<>}}'
    module = main_on_buffers("kernel.call @k ins(%x : memref<4x4xf32>) outs(%x : memref<4x4xf32>)")
    return module.replace("-> tensor<4x4xf32> {", f"-> tensor<4x4xf32> {attributes} {{")


ARENA = '%arena: memref<0xi8> {graph.role = "arena"}'
TARGET = '#kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 16>'


NEG = "%r = graph.neg %x : tensor<4x4xf32>\n  graph.yield %r : tensor<4x4xf32>"

CONV = (
    "%{} = graph.conv %{}, %w {{strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, "
    'groups = 1 : i64, layout = "NHWC"}} : (tensor<1x4x4xf32>, tensor<4x4x1xf32>) -> tensor<1x4x4xf32>\n'
)


def separable(body: str) -> str:
    """A module with a separable kernel whose body makes %r of %x and %w."""
    return f"""
graph.kernel @k(%x: tensor<1x4x4xf32>, %w: tensor<4x4x1xf32>) -> tensor<1x4x4xf32> attributes {{
  form = #kernel.form<"separable">
}} {{
  {body}
  graph.yield %r : tensor<1x4x4xf32>
}}
"""


PASSES = {
    "one convolution after no other": (
        "choose-schedule",
        separable(CONV.format("r", "x")),
        "graph.kernel @k: 1 convolutions, not 2 or 3",
    ),
    "two convolutions side by side": (
        "choose-schedule",
        separable(CONV.format("q", "x") + CONV.format("r", "x")),
        "graph.conv: reads other values than the result of the convolution before it",
    ),
    "an op in front of two convolutions": (
        "choose-schedule",
        separable("%n = graph.neg %x : tensor<1x4x4xf32>\n" + CONV.format("q", "n") + CONV.format("r", "q")),
        "graph.neg: cannot be fused in front of a convolution",
    ),
    "a kernel of no known form": (
        "choose-schedule",
        kernel(NEG, 'attributes {form = #kernel.form<"magic">}'),
        "graph.kernel @k: there is no schedule for the form 'magic' on cpu",
    ),
    "a contraction of nothing": (
        "choose-schedule",
        kernel(NEG, 'attributes {form = #kernel.form<"contraction">}'),
        "graph.kernel @k: 0 roots in one contraction",
    ),
    "main without a return": (
        "bufferize",
        kernel(NEG).replace("func.return %y : tensor<4x4xf32>", "llvm.unreachable"),
        "bufferize: main does not end in func.return",
    ),
    "a region that is no loop": (
        "plan-arena",
        main_on_buffers("scf.execute_region {\n scf.yield\n}"),
        "scf.execute_region in main: lifetimes are known for scf.for, scf.while and scf.if only",
    ),
    "a view without constant strides": (
        "plan-arena",
        main_on_buffers(
            "%c = arith.constant 1 : index\n"
            "%v = memref.subview %x[%c, 0] [4, 4] [1, 1] : "
            "memref<4x4xf32> to memref<4x4xf32, strided<[4, 1], offset: ?>>\n"
            "kernel.call @k ins(%x : memref<4x4xf32>) outs(%v : memref<4x4xf32, strided<[4, 1], offset: ?>>)"
        ),
        "is not a view with constant strides",
    ),
    "a view at a byte that is computed": (
        "plan-arena",
        main_on_buffers(
            "%c = arith.constant 1 : index\n"
            "%n = arith.addi %c, %c : index\n"
            "%b = memref.alloc() : memref<80xi8>\n"
            "%v = memref.view %b[%n][] : memref<80xi8> to memref<4x4xf32>\n"
            "kernel.call @k ins(%x : memref<4x4xf32>) outs(%v : memref<4x4xf32>)"
        ),
        "expected a constant index, got the result of arith.addi",
    ),
    "a call on what is no view": (
        "share-threads{grain=0}",
        f"builtin.module attributes {{kernel.target = {TARGET}}} {{"
        + main_on_buffers(
            "%v = builtin.unrealized_conversion_cast %x : memref<4x4xf32> to memref<4x4xf32>\n"
            "kernel.call @k ins(%x : memref<4x4xf32>) outs(%v : memref<4x4xf32>)"
        ).replace('"input"}', f'"input"}}, {ARENA}')
        + "}",
        "share-threads: a buffer of @stage_0 depends on what builtin.unrealized_conversion_cast computes",
    ),
    "times without a team": (
        "profile-kernels",
        function("func.return").replace("@f", "@main"),
        "profile-kernels: @main has no team of threads; run lower-kernels first",
    ),
    **{
        f"{family} code for another body": ("lower-kernels", scheduled(family), fact)
        for family, fact in (
            ("magic", "there is no schedule 'magic' for cpu"),
            ("attention", "0 roots in one attention kernel"),
            ("recurrence", "0 roots in one recurrence kernel"),
        )
    },
}


@pytest.mark.parametrize(("passes", "text", "message"), PASSES.values(), ids=PASSES)
def test_passes(passes: str, text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(passes, text, message, tmp_path, capsys)


def at_level(level: str, text: str) -> str:
    return f'builtin.module attributes {{mini_infer.level = "{level}"}} {{\n{text}\n}}'


def llvm_main(body: str, arguments: str = "") -> str:
    return f"llvm.func @main({arguments}) {{\n{body}\nllvm.return\n}}"


TEXTS = {
    "an ordered load": (
        llvm_main('%a = "llvm.load"(%p) <{ordering = 2 : i64}> : (!llvm.ptr) -> f32', "%p: !llvm.ptr"),
        "llvm.load in @main: atomic and volatile accesses are not supported",
    ),
    "a call through a pointer": (
        llvm_main(
            '"llvm.call"(%p) <{CConv = #llvm.cconv<ccc>, TailCallKind = #llvm.tailcallkind<none>, '
            "fastmathFlags = #llvm.fastmath<none>, op_bundle_sizes = array<i32>, "
            "operandSegmentSizes = array<i32: 1, 0>}> : (!llvm.ptr) -> ()",
            "%p: !llvm.ptr",
        ),
        "llvm.call in @main: indirect calls are not supported",
    ),
    "advice on a loop that LLVM does not know": (
        llvm_main('"llvm.br"()[^end] {loop_annotation = {magic = 1 : i64}} : () -> ()\n^end:'),
        "llvm.br in @main: loop_annotation has no entry 'magic = 1 : i64'",
    ),
    "a constant that is a text": (
        '"llvm.mlir.global"() <{addr_space = 0 : i32, global_type = !llvm.array<4 x i8>, '
        'linkage = #llvm.linkage<internal>, sym_name = "g", value = "text", visibility_ = 0 : i64, constant}> ({}) '
        ": () -> ()\n" + llvm_main(""),
        '"text" is no constant of LLVM IR',
    ),
}


@pytest.mark.parametrize(("text", "message"), TEXTS.values(), ids=TEXTS)
def test_llvm_ir_as_text(text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused_by(["-t", "llvm-ir"], at_level("llvm", text), message, tmp_path, capsys)


def test_a_plan_of_tensors_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers = (
        "alignment",
        "arena_bytes",
        "lower_bound",
        "proven_bound",
        "binding_step",
        "total_bytes",
        "original_bytes",
    )
    plan = ", ".join(f"{name} = {64 if name == 'alignment' else 0}" for name in numbers)
    text = (
        f'func.func @main(%x: tensor<4xf32> {{graph.name = "x", graph.role = "input"}}, {ARENA}) attributes '
        f'{{kernel.plan = {{strategy = "auto", method = "auto", optimal = true, {plan}}}}} {{\n  func.return\n}}'
    )
    message = "the module states the arena level (mini_infer.level), where @main takes no tensors"
    refused_by(["-t", "memory-plan"], at_level("arena", text), message, tmp_path, capsys)


def test_check_needs_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = tmp_path / "module.mlir"
    module.write_text(
        function("func.return", "%x: tensor<2xf32> {graph.value = dense<1.0> : tensor<2xf32>}").replace("@f", "@main")
    )
    assert main([str(module), "-t", "check"]) == 1
    assert "every input and output needs a graph.name" in capsys.readouterr().err
