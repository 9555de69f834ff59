"""Modules with sizes of run time are text like any other: it reads back at every level, and the compile goes on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from command_runs import cli, complaint, saved
from hypothesis import given
from hypothesis import strategies as st
from models.builder import open_dimensions
from models.dynamic import DYNAMIC_MODELS, dynamic_model, pooling, reflected
from models.small import decoder, resnet, transformer, unet
from onnx import ModelProto
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

import mini_infer as mi
from mini_infer.dialects.errors import InvalidInputError, InvalidModelError
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.dialects.sizes.polynomials import Symbol
from mini_infer.dialects.sizes.size_attributes import guards_of_module, symbol_of
from mini_infer.dialects.sizes.sizes import Size, is_fixed, now, size_of
from mini_infer.dialects.sizes.spelling import declare, parse_size
from mini_infer.lowering.levels import level_of
from mini_infer.lowering.module_text import module_context, parse_module, print_module
from mini_infer.lowering.pipelines import remaining_phases, run_phases
from mini_infer.runtime.compile.engine_phases import engine_phases
from mini_infer.runtime.compile.source import source_of
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.native.cpu_targets import target_attribute
from mini_infer.runtime.native.machine_code import start_compiling
from mini_infer.tools.demos.llama import LlamaSizes, llama, past_names, present_names
from mini_infer.tools.mini_opt.command import main as mini_opt

SPAN = 1, 4, 64
SMALL = LlamaSizes(vocabulary=50, hidden=64, inner=40, layers=1, heads=4, key_heads=2, capacity=40)
DECODER = EngineConfig.of(
    threads=2,
    profile=mi.OptimizationProfile(dims={"batch": (1, 1, 3), "sequence": (1, 4, 12), "past": (0, 8, 28)}),
    caches=dict(zip(past_names(1), present_names(1), strict=True)),
)


def ranged(*dims: str) -> EngineConfig:
    """Ranges for dimensions."""
    return EngineConfig.of(threads=2, profile=mi.OptimizationProfile(dims=dict.fromkeys(dims, SPAN)))


def _small(build: Callable[..., ModelProto], **dims: str) -> tuple[Callable[[], ModelProto], EngineConfig]:
    return partial(build, **dims), ranged(*dims.values())


MODELS: Mapping[str, tuple[Callable[[], ModelProto], EngineConfig]] = {
    "transformer": _small(transformer, batch="batch", tokens="tokens"),
    "resnet": _small(resnet, batch="batch"),
    "a decoder with caches": (partial(llama, "concat", SMALL), DECODER),
    "unet": _small(unet, batch="batch"),
    "decoder": _small(decoder, batch="rows of it", tokens="tokens"),
    **{
        build.__name__: (partial(dynamic_model, build), ranged(*open_dimensions(dynamic_model(build))))
        for build in DYNAMIC_MODELS
    },
}


@pytest.mark.slow
def test_text_does_not_hang_on_the_order_of_sets(tmp_path: Path) -> None:
    """Nor do guards, and the order in which they are noted."""
    model = saved(dynamic_model(pooling), tmp_path)
    command = [sys.executable, "-m", "mini_infer.tools.mini_opt.command", str(model), "--to", "loops"]
    command += ["--range", "n=1,4,64", "--range", "m=1,4,64"]
    texts = {
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": str(seed)}, capture_output=True, check=True).stdout
        for seed in range(12)
    }
    assert len(texts) == 1


def code_of(ctx: MiniContext, module: ModuleOp, config: EngineConfig) -> tuple[str, list[str]]:
    """LLVM's text, and all guards, of a module at some level."""
    if level_of(module) != "loops":
        run_phases(ctx, module, remaining_phases(module, "loops", engine_phases(config)))
    compilation = start_compiling(ctx, module, engine_phases(config)[-1:], None, None)
    guards = sorted(map(str, guards_of_module(module).noted.values()))
    return "\n".join(part.text for part in compilation.parts), guards


LARGE = {
    "products_of_values",
    "transformer",
    "resnet",
    "a decoder with caches",
    "decoder",
    "convolutions",
    "attention",
    "matmul",
    "unet",
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LARGE else name for name in MODELS]
)
def test_every_level_reads_back_and_goes_on(name: str) -> None:
    make, config = MODELS[name]
    module, ctx = source_of(make()).load(config)
    module.attributes["kernel.target"] = target_attribute(config, "x86-64-v4")
    texts: dict[str, str] = {}
    for phase in engine_phases(config)[:-1]:
        run_phases(ctx, module, [phase])
        texts[phase.level] = print_module(ctx, module)
    straight = code_of(ctx, module, config)
    for level, text in texts.items():
        again = module_context()
        again.blobs = ctx.blobs
        read = parse_module(again, text.encode(), level)
        read.verify()
        assert print_module(again, read) == text, level
        assert code_of(again, read, config) == straight, level


@pytest.mark.slow
@pytest.mark.parametrize("level", ["graph", "loops"])
def test_a_module_runs_as_its_model_does(level: str, tmp_path: Path) -> None:
    make, config = MODELS["a decoder with caches"]
    model, module = saved(make(), tmp_path), tmp_path / "m.mlir"
    assert config.profile is not None
    ranges = [f"--range={name}={','.join(map(str, span))}" for name, span in config.profile.dims.items()]
    caches = [f"--cache={past}={present}" for past, present in config.caches.items()]
    assert mini_opt([str(model), "--to", level, "-o", str(module), *ranges, *caches]) == 0
    straight = ["run", model, *ranges, *caches, "--threads", "1"]
    for run, file in ((straight, "a.npz"), (["run", module], "b.npz")):
        assert cli(*run, "--at", "sequence=5,past=9", "--seed", "3", "-o", tmp_path / file).exit_code == 0
    with np.load(tmp_path / "a.npz") as a, np.load(tmp_path / "b.npz") as b:
        assert list(a) == list(b)
        for key in a:
            np.testing.assert_array_equal(a[key], b[key], err_msg=key)


def test_a_module_is_for_the_shapes_that_its_code_is_right_for(tmp_path: Path) -> None:
    model, module = saved(dynamic_model(reflected), tmp_path), tmp_path / "m.mlir"
    assert mini_opt([str(model), "--to", "kernels", "-o", str(module), "--range=n=3,8,64", "--range=m=3,8,64"]) == 0
    engine = mi.compile(module, threads=1)
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    wanted = mi.compile(model, shapes={"x": x.shape}, threads=1)({"x": x})
    for name, array in engine({"x": x}).items():
        np.testing.assert_array_equal(array, wanted[name])
    with pytest.raises(InvalidInputError, match=r"not for shapes \[\[8, 7\]\]: it counts on m - 8 == 0"):
        engine({"x": x[:, 1:]})
    with pytest.raises(InvalidInputError, match="must be from 3 to 64"):
        engine({"x": np.ones((65, 8), np.float32)})
    assert "m is from 3 to 64" in complaint("run", module, "--at", "m=2")


def test_the_generic_form_reads_back_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In it a module's attributes stand behind its body."""
    model, generic = saved(dynamic_model(reflected), tmp_path), tmp_path / "generic.mlir"
    ranges = "--range=n=3,8,64", "--range=m=3,8,64", "--to", "arena"
    assert mini_opt([str(model), *ranges, "--print-op-generic", "-o", str(generic)]) == 0
    assert mini_opt([str(model), *ranges]) == mini_opt([str(generic)]) == 0
    straight, again = capsys.readouterr().out.split("builtin.module", 2)[1:]
    assert straight == again


def test_the_ranges_of_a_module_are_found_whatever_its_symbols_are_called(tmp_path: Path) -> None:
    module = tmp_path / "m.mlir"
    module.write_text(
        'builtin.module attributes {kernel.symbols = #kernel.symbols<dim "a > b" = 4 in [1, 8]>} { '
        'func.func @main(%x: tensor<("a > b")xf32> {graph.name = "x"}) -> (tensor<("a > b")xf32> {graph.name = "y"}) '
        '{ %y = graph.relu %x : tensor<("a > b")xf32>  func.return %y : tensor<("a > b")xf32> } }'
    )
    engine = mi.compile(module, threads=1)
    assert engine.config.profile == mi.OptimizationProfile(dims={"a > b": (1, 4, 8)})
    assert engine({"x": np.ones(7, np.float32)})["y"].shape == (7,)


def test_a_module_whose_output_would_be_negative(tmp_path: Path) -> None:
    module = tmp_path / "m.mlir"
    module.write_text(
        "builtin.module attributes {kernel.symbols = #kernel.symbols<dim n = 4 in [1, 8]>} { "
        'func.func @main(%x: tensor<(n - 3)xf32> {graph.name = "x"}) -> (tensor<(n - 3)xf32> {graph.name = "y"}) '
        "{ %y = graph.relu %x : tensor<(n - 3)xf32>  func.return %y : tensor<(n - 3)xf32> } }"
    )
    assert "can't have shape [-1]" in complaint("run", module, "--at", "n=2")


NAMES = st.one_of(st.sampled_from(["n", "floordiv", "x", "tokens / 32", "x.0", "a b", 'q"\\']), st.text(min_size=1))
SYMBOLS = st.lists(NAMES, min_size=3, max_size=3, unique=True).map(
    lambda names: [size_of(Symbol(name, 1, 9), value) for name, value in zip(names, (1, 4, 9), strict=True)]
)


@given(SYMBOLS, st.data())
def test_a_size_reads_back_as_it_is_written(symbols: list[int], data: st.DataObject) -> None:
    size: int = data.draw(st.sampled_from(symbols))
    for _ in range(data.draw(st.integers(0, 5))):
        other = data.draw(st.one_of(st.sampled_from(symbols), st.integers(-3, 5)))
        operator = data.draw(st.sampled_from("+-*/"))
        if operator == "/":
            divisor = other if other > 0 else 3
            size = size // divisor if data.draw(st.booleans()) else -(-size // divisor)
        else:
            size = size + other if operator == "+" else size - other if operator == "-" else size * other
    parser = Parser(module_context(), f"({size})" if is_fixed(size) else f"{size:d}")
    declare(parser, {symbol_of(cast("Size", each)).name: each for each in symbols})
    read = parse_size(parser)
    assert read == size
    assert now(read) == now(size)


WRONG = {
    "dim n = 5 in [1, 4]": "n is 5: it must be in \\[1, 4\\]",
    "dim n = 3 in [1, 4] by 2": "n is 3: it must be a multiple of 2",
    "dim n = 2 in [1, 4], dim n = 2 in [1, 4]": "two symbols are named n",
    "dim n = -2 in [-4, 4]": "n is -2: it must be in",
    "dim n = 2 in [1]": "Expected ','",
    "thing n = 2 in [1, 4]": "a symbol is a dim, an offset or a symbol, and not a thing",
    "dim m = 2 in [1, 4]": "n is no symbol of the module's #kernel.symbols",
}


@pytest.mark.parametrize(("symbols", "message"), WRONG.items())
def test_what_is_wrong_with_symbols_is_told(symbols: str, message: str) -> None:
    text = f"""builtin.module attributes {{kernel.symbols = #kernel.symbols<{symbols}>}} {{
      func.func @main(%x: tensor<(n)x4xf32>) -> tensor<(n)x4xf32> {{ func.return %x : tensor<(n)x4xf32> }} }}"""
    with pytest.raises(InvalidModelError, match=message):
        parse_module(module_context(), text.encode(), "text")


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("n floordiv 0", "a size is divided by a number that is not positive"),
        ("n floordiv (n - 4)", "a size is divided by a number that is not positive"),
        ("n *", "expected"),
        ("n n", "expected"),
        ("q", "q is no symbol"),
        ("n - 5", "a dimension can't be -1"),
    ],
)
def test_what_is_wrong_with_a_size_is_told(size: str, message: str) -> None:
    text = f"""builtin.module attributes {{kernel.symbols = #kernel.symbols<dim n = 4 in [1, 8]>}} {{
      func.func private @f(tensor<({size})xf32>) }}"""
    with pytest.raises(InvalidModelError, match=re.compile(message, re.IGNORECASE)):
        parse_module(module_context(), text.encode(), "text")
