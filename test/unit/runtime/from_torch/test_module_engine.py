"""PyTorch's modules compiled by `mini_infer.compile`, beside PyTorch's own results."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mini_infer as mi

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'mini-infer[torch]'")
pytest.importorskip("onnxscript", reason="onnxscript is not installed: pip install 'mini-infer[torch]'")
pytestmark = pytest.mark.slow  # the exporter takes half a second for anything

Module: Any = torch.nn.Module


class Several(Module):
    """A module with arguments and results of all kinds."""

    linear: Any
    norm: Any

    def __init__(self) -> None:
        Module.__init__(self)
        self.linear = torch.nn.Linear(16, 32)
        self.norm = torch.nn.BatchNorm1d(32)

    def forward(self, x: Any, parts: dict[str, Any], factor: int = 2, *, mask: Any = None, bias: Any = None) -> Any:
        y = self.norm(self.linear(x)) * factor + parts["shift"]
        if mask is not None:
            y = y * mask
        return {"y": y if bias is None else y + bias, "none": None, "rows": x.shape[0], "list": [x, (y > 0, 7)]}


def several() -> Any:
    torch.manual_seed(0)
    return Several().eval()


def assert_same(found: Any, wanted: Any) -> None:
    torch.testing.assert_close(found, wanted, rtol=2e-5, atol=2e-5)


def test_arguments_and_results_are_the_modules() -> None:
    module, x, parts, bias = several(), torch.randn(4, 16), {"shift": torch.randn(32)}, torch.randn(32)
    engine = mi.compile(module, 1, args=(x, parts), kwargs={"mask": None, "bias": bias})
    x = torch.randn(4, 16)
    with torch.no_grad():
        wanted = module(x, parts, bias=bias)
    for found in (
        engine(x, parts, mask=None, bias=bias),
        engine(x, parts, None, bias),
        engine(x, bias=bias, mask=None, parts=parts),
    ):
        assert_same(found, wanted)
        assert type(found["rows"]) is int and not found["y"].requires_grad
    arrays = engine(x.numpy(), {"shift": parts["shift"].numpy()}, mask=None, bias=bias.numpy())
    assert isinstance(arrays["y"], np.ndarray) and isinstance(arrays["list"][1][0], np.ndarray)
    assert_same(torch.from_numpy(arrays["y"]), wanted["y"])
    by_name = engine({"x": x, "parts_shift": parts["shift"], "bias": bias})
    assert engine.input_names == ("x", "parts_shift", "bias") and isinstance(
        by_name[engine.output_names[0]], torch.Tensor
    )


def test_runs_with_a_limit_and_in_the_background_take_and_give_the_same() -> None:
    module = torch.nn.Linear(16, 4).eval()
    x = torch.randn(3, 16)
    with torch.no_grad():
        wanted = module(x)
    with mi.compile(module, 1, args=(x,)) as engine:
        assert_same(engine.run(x, time_limit=60.0), wanted)
        assert_same(engine.submit(x).result(), wanted)
        assert_same(asyncio.run(engine.run_async(input=x)), wanted)
        (name,) = engine.input_names
        np.testing.assert_array_equal(engine.run({name: x.numpy()})[engine.output_names[0]], engine(x.numpy()))
        with engine.batched(max_wait_ms=0.0) as queue:
            np.testing.assert_array_equal(queue.submit(x.numpy()).result(), engine(x.numpy()))
            assert_same(queue(input=x.requires_grad_()), wanted)


def test_a_queue_gives_what_the_module_returns() -> None:
    class Named(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return {"doubled": x * 2, "scale": 2, "both": [x + 1, None]}

    x = torch.randn(4, 16)
    with mi.compile(Named(), 1, args=(x,)) as engine, engine.batched(max_wait_ms=0.0) as queue:
        assert_same(queue(x), Named()(x))
        assert isinstance(queue(x.numpy())["both"][0], np.ndarray)


WRONG: list[tuple[Callable[[Any, Any, Any], Any], str]] = [
    (lambda e, x, s: e(x), "argument 'parts' is missing; the module was exported with x, parts, factor"),
    (lambda e, x, s: e(x, {"shift": s}, 3), "an argument is 3; the module was exported with 2"),
    (lambda e, x, s: e(x, {"shift": s}, 2.0), "an argument is 2.0; the module was exported with 2"),
    (lambda e, x, s: e(x, [s], 2), r"the arguments are built as .*list.*; the module was exported with .*dict"),
    (lambda e, x, s: e(x, {"shift": s}, 2, 3), "4 arguments are given; the module was exported with 3: x, parts"),
    (lambda e, x, s: e(x, {"shift": s}, 2, x=x), "argument 'x' is given twice"),
    (lambda e, x, s: e(x, {"shift": s}, 2, bias=s), "there is no argument 'bias'; the module was exported with x"),
    (lambda e, x, s: e(x[:2], {"shift": s}, 2), r"input 'x' has shape \[2, 16\] instead of \[4, 16\]"),
    (lambda e, x, s: e(x.double(), {"shift": s}, 2), "input 'x' has type float64 instead of float32"),
    (lambda e, x, s: e(x.to("meta"), {"shift": s}, 2), "input 'x': .*meta"),
    (lambda e, x, s: e(x.to_sparse(), {"shift": s}, 2), "input 'x': .*[Ss]parse"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_wrong_arguments_are_named(call: Callable[[Any, Any, Any], Any], message: str) -> None:
    x, shift = torch.randn(4, 16), torch.randn(32)
    with pytest.raises(mi.InvalidInputError, match=message):
        call(_engine(), x, shift)


_made: list[Any] = []


def _engine() -> Any:
    if not _made:
        _made.append(mi.compile(several(), 1, args=(torch.randn(4, 16), {"shift": torch.randn(32)}, 2)))
    return _made[0]


def test_ranges_of_sizes_are_those_of_the_export() -> None:
    batch = torch.export.Dim("batch", min=1, max=8)
    module, x = torch.nn.Linear(4, 3), torch.randn(3, 4)
    engine: Any = mi.compile(module, 1, args=(x,), dynamic_shapes=({0: batch},))
    assert engine.inputs[0].shape == ("batch", 4)
    for rows in (1, 2, 8):
        x = torch.randn(rows, 4)
        assert_same(engine(x), module(x).detach())
    assert engine.compiles <= 2
    with pytest.raises(
        mi.InvalidInputError, match=r"input 'input': dimension 0 \(batch\) is 9, but must be from 1 to 8"
    ):
        engine(torch.randn(9, 4))


def test_sizes_without_a_limit_are_compiled_at_the_first_call() -> None:
    module, x = torch.nn.Linear(4, 3), torch.randn(3, 4)
    engine: Any = mi.compile(module, 1, args=(x,), dynamic_shapes={"input": {0: "rows"}})
    assert "not compiled" in repr(engine)
    module.weight.data *= 2  # after the export: the engine has the weights of then
    for rows in (5, 1000, 2):
        x = torch.randn(rows, 4)
        wanted = torch.nn.functional.linear(x, module.weight / 2, module.bias)
        assert_same(engine(x), wanted.detach())
    least: Any = mi.compile(module, 1, args=(x,), dynamic_shapes=({0: torch.export.Dim("rows", min=2)},))
    with pytest.raises(mi.InvalidInputError, match=r"dimension 0 \(rows\) is 1, but must be at least 2"):
        least(torch.randn(1, 4))


def test_options_on_sizes_go_before_those_of_the_export() -> None:
    module, x = torch.nn.Linear(4, 3), torch.randn(3, 4)
    shapes = ({0: torch.export.Dim("rows")},)
    assert mi.compile(module, 1, args=(x,), dynamic_shapes=shapes, dims={"rows": 5})(torch.randn(5, 4)).shape == (5, 3)
    profile = mi.OptimizationProfile(dims={"rows": (1, 2, 5)})
    engine = mi.compile(module, 1, args=(x,), dynamic_shapes=shapes, profile=profile)
    with pytest.raises(mi.InvalidInputError, match="dimension 0 is 6, but must be from 1 to 5"):
        engine(torch.randn(6, 4))


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float64", "int64", "bool"])
def test_tensors_of_any_type_and_layout(kind: str) -> None:
    class Chosen(Module):
        def forward(self, x: Any, y: Any) -> Any:
            return torch.where(y > 0, x, x[:1])

    x = (torch.randn(3, 5) * 4).to(getattr(torch, kind))
    engine = mi.compile(Chosen(), 1, args=(x, torch.randn(3, 5)))
    y = torch.randn(5, 3).T
    found = engine(x.T.contiguous().T, y)
    assert found.dtype == x.dtype and torch.equal(found, torch.where(y > 0, x, x[:1]))


class Summed(Module):
    def forward(self, x: Any) -> Any:
        y = x.sum(0)
        return y, {"again": y, "y * 2": y * 2}, x.cumsum(1), x.amax(0), (x > 0).sum(0), (x > 0).any()


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "int8"])
@pytest.mark.parametrize("form", ["module", "ExportedProgram", "ONNXProgram"])
def test_results_have_the_types_of_the_modules(kind: str, form: str) -> None:
    x = torch.randint(-5, 5, (3, 4)).to(getattr(torch, kind))
    program = torch.export.export(Summed(), (x,))
    if form == "module":
        engine = mi.compile(Summed(), 1, args=(x,))
    elif form == "ExportedProgram":
        engine = mi.compile(program, 1)
    else:
        engine = mi.compile(torch.onnx.export(program, dynamo=True, verbose=False), 1)
    assert_same(engine(x), Summed()(x))  # types too
    assert engine.output_names[0].startswith("sum")


class Rotating(Module):
    def forward(self, x: Any, by: Any) -> Any:
        return x * by, by.abs(), by.T


def test_complex_numbers() -> None:
    x, by = torch.randn(3, 4, dtype=torch.complex64), torch.randn(3, 4, dtype=torch.complex64).conj()
    engine = mi.compile(Rotating(), 1, args=(x, by))
    assert_same(engine(x, by), Rotating()(x, by))


@pytest.mark.parametrize(
    "module",
    [
        torch.nn.LSTM(8, 5, batch_first=True, num_layers=2, dropout=0.5),
        torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
    ],
)
def test_layers_that_pytorch_fuses(module: Any) -> None:
    x = torch.randn(2, 3, 8)
    with torch.no_grad():
        assert_same(mi.compile(module.eval(), 1, args=(x,))(x), module(x))
    assert torch.backends.mha.get_fastpath_enabled()


def test_exported_programs_and_onnx_programs() -> None:
    module, x = torch.nn.Linear(64, 64), torch.randn(2, 64)
    wanted = module(x).detach()
    program = torch.export.export(module, (x,))
    assert_same(mi.compile(program, 1)(x), wanted)
    onnx = torch.onnx.export(program, dynamo=True, verbose=False)
    assert_same(mi.compile(onnx, 1)(x), wanted)
    assert "weight" in onnx.model.graph.initializers  # it is unchanged
    for each in (program, onnx):
        with pytest.raises(mi.ConfigError, match=r"args, kwargs and dynamic_shapes are for an nn\.Module; a"):
            mi.compile(each, 1, args=(x,))


def test_weights_are_part_of_the_models_identity(with_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mini_infer.runtime.compile import plan_builder

    module, x = torch.nn.Linear(64, 64), torch.randn(2, 64)
    wanted = mi.compile(module, 1, args=(x,))(x)
    with monkeypatch.context() as patch:
        patch.delattr(plan_builder, "Builder")  # nothing is compiled
        assert torch.equal(mi.compile(module, 1, args=(x,))(x), wanted)
    with torch.no_grad():
        module.weight[3, 3] += 1
    assert_same(mi.compile(module, 1, args=(x,))(x), module(x).detach())


class Counting(Module):
    count: Any

    def __init__(self) -> None:
        Module.__init__(self)
        Module.register_buffer(self, "count", torch.zeros(()))

    def forward(self, x: Any) -> Any:
        self.count += 1
        return x * self.count


class Branching(Module):
    def forward(self, x: Any) -> Any:
        return x + 1 if x.sum() > 0 else x - 1


@pytest.mark.parametrize(
    ("model", "options", "kind", "message"),
    [
        (lambda: torch.nn.Linear(4, 4), {}, mi.ConfigError, r"an example of its arguments: compile\(module, args"),
        (lambda: torch.nn.Linear(4, 4), {"args": torch.ones(4)}, mi.ConfigError, "args is tensor.*must be a tuple"),
        (
            lambda: torch.nn.Linear(4, 4),
            {"args": torch.ones(40, 40)},
            mi.ConfigError,
            r"args is tensor[^\n]*be a tuple",
        ),
        (lambda: torch.nn.Linear(4, 4), {"kwargs": [1]}, mi.ConfigError, r"kwargs is \[1\]; it must be a mapping"),
        (
            lambda: torch.nn.Linear(4, 4, device="meta"),
            {"args": (torch.ones(4),)},
            mi.InvalidModelError,
            "Linear: 'weight' is on the device 'meta' and has no values",
        ),
        (
            lambda: torch.nn.Linear(4, 4),
            {"args": (torch.ones(3),)},
            mi.UnsupportedError,
            "PyTorch can't export it to ONNX: .*same reduction dim",
        ),
        (Counting, {"args": (torch.ones(3),)}, mi.UnsupportedError, "the module changes its buffer 'count'"),
        (Branching, {"args": (torch.ones(3),)}, mi.UnsupportedError, "PyTorch can't export it to ONNX: .*"),
        (
            lambda: torch.nn.Dropout(0.5),
            {"args": (torch.ones(3),)},
            mi.UnsupportedError,
            "draws random numbers: call eval",
        ),
        (lambda: "m.onnx", {"args": (1,)}, mi.ConfigError, "args, kwargs and dynamic_shapes are for an nn.Module"),
        (lambda: torch.nn.Linear, {}, mi.InvalidModelError, "a model is a path, bytes, an open file or a ModelProto"),
    ],
)
def test_what_can_not_be_compiled(
    model: Callable[[], Any], options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message) as caught:
        mi.compile(model(), 1, **options)
    assert "\n" not in str(caught.value)


def test_an_engine_can_not_be_pickled_and_can_be_closed() -> None:
    engine = mi.compile(torch.nn.Linear(4, 4), 1, args=(torch.ones(2, 4),))
    with pytest.raises(mi.UnsupportedError, match="ModuleEngine can't be pickled or copied"):
        pickle.dumps(engine)
    with engine:
        assert engine.plan_for({"input": (2, 4)}) is engine.plan and "input: float32[2, 4]" in repr(engine)
    with pytest.raises(mi.InvalidInputError, match="the engine is closed"):
        engine(torch.ones(2, 4))
    assert repr(engine) == "Engine(closed)"


def test_what_imports_pytorch() -> None:
    program = (
        "import sys, mini_infer as mi\n"
        "try:\n    mi.compile('nothing.onnx')\n"
        "except mi.InvalidModelError:\n    pass\n"
        "print('torch' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"


def test_an_old_pytorch_and_one_without_its_exporter(monkeypatch: pytest.MonkeyPatch) -> None:
    module, x = torch.nn.Linear(4, 4), torch.ones(2, 4)
    with monkeypatch.context() as patch:
        patch.setattr(torch, "__version__", "2.8.1+cpu")
        with pytest.raises(mi.ConfigError, match=r"PyTorch 2\.8\.1\+cpu is too old; 2\.9 is needed"):
            mi.compile(module, args=(x,))
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(mi.ConfigError, match=r"onnxscript can't be imported .*: pip install 'mini-infer\[torch\]'"):
        mi.compile(module, args=(x,))
