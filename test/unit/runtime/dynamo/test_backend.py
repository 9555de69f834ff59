"""torch.compile with the backend of mini_infer, beside PyTorch's own results."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mini_infer as mi

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'mini-infer[torch]'")
pytest.importorskip("onnxscript", reason="onnxscript is not installed: pip install 'mini-infer[torch]'")

from mini_infer.runtime.dynamo.dynamo_backend import mini_infer as backend  # noqa: E402
from mini_infer.runtime.dynamo.graph_code import GraphCode  # noqa: E402

pytestmark = pytest.mark.slow  # Dynamo and the exporter take a second for anything

Module: Any = torch.nn.Module


@pytest.fixture(autouse=True)
def _new() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """What was compiled for one test is not used by the next; all run without gradients."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def compiled(module: Any, **options: Any) -> Any:
    """The module by this backend alone: what can't be compiled is an error."""
    dynamic = options.pop("dynamic", None)
    return torch.compile(module, backend=backend, dynamic=dynamic, options={"threads": 1, "fallback": False, **options})


class Forward(Module):
    """A module that is one function, of itself and its arguments."""

    function: Callable[..., Any]

    def __init__(self, function: Callable[[Any, Any], Any], **parts: Any) -> None:
        Module.__init__(self)
        self.function = function
        for name, part in parts.items():
            if isinstance(part, torch.Tensor):
                Module.register_buffer(self, name, part)
            else:
                setattr(self, name, part)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(self, *args, **kwargs)


def assert_same(found: Any, wanted: Any) -> None:
    torch.testing.assert_close(found, wanted, rtol=2e-5, atol=2e-5)


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A line for each engine that is made."""
    made: list[str] = []
    whole = GraphCode._compiled  # pyright: ignore[reportPrivateUsage]

    def noted(self: GraphCode, *args: Any) -> Any:
        made.append("engine")
        return whole(self, *args)

    monkeypatch.setattr(GraphCode, "_compiled", noted)
    return made


def test_the_name_is_found_by_its_entry_point() -> None:
    from importlib.metadata import entry_points

    (found,) = entry_points(group="torch_dynamo_backends", name="mini_infer")
    assert found.load() is backend
    module = torch.nn.Linear(4, 4)
    x = torch.randn(2, 4)
    assert_same(torch.compile(module, backend="mini_infer", options={"threads": 1})(x), module(x))


RESULTS: dict[str, Callable[[Any, Any], Any]] = {
    "dict": lambda self, x: {"a": x + 1, "b": [x * 2, (x.sum(), None)], "n": 3},
    "none": lambda self, x: (None, x + 1),
    "size": lambda self, x: (x * 2, x.shape[0], x.shape[0] * 2 + 1),
    "the argument": lambda self, x: (x, x + 1),
    "a view": lambda self, x: (x.view(-1), x[0], x.T),
    "transposed": lambda self, x: (x + 1).T,
    "twice the same": lambda self, x: ((y := x + 1), y),
    "integers": lambda self, x: (x > 0, x.argmax(1), (x * 3).to(torch.int32)),
    "a scalar": lambda self, x: x.mean(),
    "a constant": lambda self, x: (torch.arange(4), torch.ones(2, 3) + x[0, 0]),
    "nothing computed": lambda self, x: (x.view(2, -1), 5),
    "half": lambda self, x: x.half() * 2,
    "bfloat16": lambda self, x: x.bfloat16() * 2,
    "nothing in it": lambda self, x: (x[:0] * 2, (x[:0] * 2).bfloat16(), x[:, :0].half() + 1),
    "sums of half": lambda self, x: ((y := x.round().half()).sum(0), y.cumsum(1), y.amax(0), (y * y).sum()),
    "sums of bfloat16": lambda self, x: ((y := x.round().bfloat16()).sum(0), y.cumsum(1), y.prod(0), {"y": y.sum()}),
    "sums of integers and booleans": lambda self, x: (
        (y := x.to(torch.int8)).sum(0),
        y.sum(0, dtype=torch.int8),
        (x > 0).sum(),
        (x > 0).cumsum(0, dtype=torch.int16),
        (x > 0).any(0),
    ),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_what_the_module_returns(name: str) -> None:
    module = Forward(RESULTS[name])
    x = torch.randn(4, 6)
    found, wanted = compiled(module)(x), module(x)
    assert_same(found, wanted)
    for one, other in zip(torch.utils._pytree.tree_leaves(found), torch.utils._pytree.tree_leaves(wanted), strict=True):
        assert type(one) is type(other)
        if isinstance(one, torch.Tensor):
            assert one.dtype == other.dtype and one.stride() == other.stride()


ARGUMENTS: dict[str, Callable[[], Any]] = {
    "transposed": lambda: torch.randn(6, 4).T,
    "every second": lambda: torch.randn(8, 12)[::2, ::2],
    "expanded": lambda: torch.randn(1, 6).expand(4, 6),
    "one element of all": lambda: torch.randn(1, 1).expand(4, 6),
    "offset": lambda: torch.randn(25)[1:].view(4, 6),
    "flipped": lambda: torch.randn(4, 6).flip(0),
    "conjugated": lambda: torch.randn(4, 6, dtype=torch.complex64).conj().imag,
    "empty": lambda: torch.randn(0, 6),
    "complex": lambda: torch.randn(4, 6, dtype=torch.complex64),
    "conjugate": lambda: torch.randn(4, 6, dtype=torch.complex64).conj(),
    "half": lambda: torch.randn(4, 6).half(),
    "bfloat16": lambda: torch.randn(4, 6).bfloat16(),
    "float64": lambda: torch.randn(4, 6).double(),
    "integers": lambda: torch.randint(-5, 5, (4, 6)),
    "bytes": lambda: torch.randint(0, 5, (4, 6), dtype=torch.uint8),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_of_any_layout_and_type(name: str) -> None:
    module = Forward(lambda self, x: (x + x.sum(1, keepdim=True).to(x.dtype)) * 2)
    x = ARGUMENTS[name]()
    with torch.inference_mode():
        kept = x.clone()
        torch.testing.assert_close(compiled(module)(x), module(x), rtol=2e-2, atol=2e-2)
        assert torch.equal(x, kept)


def test_keyword_arguments_and_defaults() -> None:
    def scaled(self: Any, x: Any, scale: float = 2.0, *, mask: Any = None) -> Any:
        return x * scale if mask is None else x * scale + mask

    module = Forward(scaled)
    x = torch.randn(3, 4)
    code = compiled(module)
    for given in ({}, {"scale": 3.0}, {"mask": torch.ones(4)}, {"scale": 0.5, "mask": torch.randn(3, 4)}):
        assert_same(code(x, **given), module(x, **given))


def test_buffers_and_arguments_are_changed_in_place(engines: list[str]) -> None:
    def step(self: Any, x: Any) -> Any:
        self.count += 1
        self.state[1:3] = x
        x.mul_(2)
        return self.state * self.count

    def new() -> Any:
        return Forward(step, count=torch.zeros(()), state=torch.zeros(4, 5))

    ours, theirs = new(), new()
    code = compiled(ours)
    for number in range(4):
        x = torch.full((2, 5), float(number))
        y = x.clone()
        assert_same(code(x), theirs(y))
        assert_same((x, ours.count, ours.state), (y, theirs.count, theirs.state))
    assert len(engines) == 1


def test_normalisation_in_training_mode_changes_its_means() -> None:
    ours, theirs = torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3)
    code = compiled(ours)
    for _ in range(3):
        x = torch.randn(8, 3)
        assert_same(code(x), theirs(x))
        assert_same([*ours.buffers()], [*theirs.buffers()])


LAYER: dict[str, Any] = {"d_model": 8, "nhead": 2, "dim_feedforward": 16, "batch_first": True}
PADDED = torch.tensor([[False, False, True], [False, True, True]])
OPERATIONS: dict[str, tuple[Any, Callable[[], tuple[Any, ...]]]] = {
    "encoder layer": (torch.nn.TransformerEncoderLayer(**LAYER), lambda: (torch.randn(2, 3, 8),)),
    "encoder layer, gelu, norms first": (
        torch.nn.TransformerEncoderLayer(**LAYER, activation="gelu", norm_first=True),
        lambda: (torch.randn(2, 3, 8),),
    ),
    "encoder layer, mask": (
        torch.nn.TransformerEncoderLayer(**LAYER),
        lambda: (torch.randn(2, 3, 8), torch.ones(3, 3, dtype=torch.bool).triu(1)),
    ),
    "encoder layer, padding": (torch.nn.TransformerEncoderLayer(**LAYER), lambda: (torch.randn(2, 3, 8), None, PADDED)),
    "encoder layer, mask and padding": (
        torch.nn.TransformerEncoderLayer(**LAYER),
        lambda: (torch.randn(2, 3, 8), torch.ones(3, 3, dtype=torch.bool).triu(1), PADDED),
    ),
    "grouped heads": (
        Forward(
            lambda self, x: torch.nn.functional.scaled_dot_product_attention(x, x[:, :2], x[:, :2], enable_gqa=True)
        ),
        lambda: (torch.randn(2, 4, 5, 8),),
    ),
    "recurrent": (torch.nn.LSTM(4, 5, 2, batch_first=True, dropout=0.5), lambda: (torch.randn(2, 3, 4),)),
    "distances": (Forward(lambda self, x: torch.cdist(x, x + 1)), lambda: (torch.randn(3, 4),)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_that_the_exporter_lacks(name: str) -> None:
    module, arguments = OPERATIONS[name]
    given = arguments()
    assert_same(compiled(module.eval())(*given), module(*given))


def test_a_graph_break_leaves_two_graphs(engines: list[str]) -> None:
    def broken(self: Any, x: Any) -> Any:
        y = self.first(x)
        torch._dynamo.graph_break()
        return self.second(y.relu())

    module = Forward(broken, first=torch.nn.Linear(4, 8), second=torch.nn.Linear(8, 2))
    x = torch.randn(3, 4)
    assert_same(compiled(module)(x), module(x))
    assert len(engines) == 2


def test_a_dynamic_batch_has_few_engines(engines: list[str]) -> None:
    module = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    code = compiled(module)
    for rows in (4, 7, 5, 12, 100, 33):
        x = torch.randn(rows, 6)
        assert_same(code(x), module(x))
    assert len(engines) == 2  # for 4, then for any


def test_a_cache_that_grows(engines: list[str]) -> None:
    """As one of keys and values does: it begins empty, and each call appends to it."""

    def attend(self: Any, x: Any, past: Any = None) -> Any:
        past = torch.cat([torch.tensor([]) if past is None else past, self.linear(x)], 0)
        return torch.softmax(x @ past.T, 1) @ past, past

    module = Forward(attend, linear=torch.nn.Linear(6, 6))
    code = compiled(module)
    found, wanted = None, None
    for rows in (3, 1, 1, 1, 1, 1):
        x = torch.randn(rows, 6)
        (y, found), (z, wanted) = code(x, found), module(x, wanted)
        assert_same((y, found), (z, wanted))
    assert len(engines) <= 4


def test_sizes_that_are_arguments(engines: list[str]) -> None:
    def first(self: Any, x: Any, count: int = 1) -> Any:
        return x[:, :count] * count, count + 1

    module = Forward(first)
    code = compiled(module, dynamic=True)
    x = torch.randn(3, 10)
    for count in (4, 7, 5):
        assert_same(code(x, count), module(x, count))


def test_weights_that_change_are_seen(engines: list[str]) -> None:
    module = torch.nn.Linear(4, 4)
    code = compiled(module)
    x = torch.randn(2, 4)
    for _ in range(8):
        assert_same(code(x), module(x))
        module.weight.mul_(2)
    assert len(engines) <= 6
    module.weight = torch.nn.Parameter(torch.ones(4, 4))
    assert_same(code(x), module(x))


def test_modules_that_share_code_have_their_own_weights(engines: list[str]) -> None:
    blocks = [Forward(lambda self, x: self.linear(x).relu(), linear=torch.nn.Linear(4, 4)) for _ in range(3)]
    for block in blocks:
        block.compile(backend=backend, options={"threads": 1, "fallback": False})
    x = torch.randn(2, 4)
    for _ in range(2):
        for block in blocks:
            assert_same(block(x), block.forward(x))
    assert len(engines) == 3


def test_threads_call_at_the_same_time(engines: list[str]) -> None:
    module = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Tanh())
    code = compiled(module)
    inputs = [torch.randn(2, 16) for _ in range(24)]
    code(inputs[0])
    found: list[Any] = [None] * len(inputs)

    def work(start: int) -> None:
        with torch.no_grad():
            for place in range(start, len(inputs), 4):
                found[place] = code(inputs[place])

    threads = [threading.Thread(target=work, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_same(found, [module(x) for x in inputs])


def test_an_index_out_of_range_is_an_error() -> None:
    module = torch.nn.Embedding(5, 3)
    code = compiled(module)
    assert_same(code(torch.tensor([1, 4])), module(torch.tensor([1, 4])))
    with pytest.raises(mi.InvalidInputError, match="index 7 is outside of a dimension of 5 elements"):
        code(torch.tensor([1, 7]))


def test_what_is_differentiated_is_left_to_pytorch() -> None:
    module = torch.nn.Linear(3, 3)
    code = torch.compile(module, backend=backend, options={"threads": 1})
    x = torch.randn(2, 3)
    with torch.enable_grad(), pytest.warns(UserWarning, match=r"the graph is to be differentiated: .*no_grad"):
        code(x).sum().backward()
    assert module.weight.grad is not None
    assert_same(code(x), module(x))


def test_random_numbers_are_left_to_pytorch_with_one_warning() -> None:
    module = Forward(lambda self, x: x + torch.rand_like(x) * 0)
    x = torch.randn(3)
    code = torch.compile(module, backend=backend, dynamic=False, options={"threads": 1})
    with pytest.warns(UserWarning, match=r"mini_infer leaves a graph to PyTorch: aten\.rand.* draws random numbers"):
        assert_same(code(x), x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(code(torch.ones(5)), torch.ones(5))
    with pytest.raises(Exception, match="draws random numbers"):
        compiled(module)(x)


def test_an_operator_without_a_counterpart_is_named() -> None:
    module = Forward(lambda self, x: torch.linalg.svdvals(x))
    x = torch.randn(3, 3)
    with pytest.warns(UserWarning, match=r"leaves a graph to PyTorch: .*svd"):
        assert_same(torch.compile(module, backend=backend, options={"threads": 1})(x), module(x))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"treads": 1}, r"there is no option treads \(did you mean threads\?\)"),
        ({"threads": 0}, r"threads is 0"),
        ({"dims": {"batch": 1}}, "dims is no option of torch.compile, which knows the inputs' shapes by itself"),
        ({"device": "cuda-emulated"}, "torch.compile runs on the device 'cpu'"),
        ({"fallback": 1}, "fallback is 1; it must be a bool"),
        ({"cache": 5}, "cache is 5; it must be True, False or a folder"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(Exception, match=message):
        torch.compile(torch.nn.Linear(2, 2), backend=backend, options=options)(torch.ones(1, 2))


def test_compiled_models_are_kept(tmp_path: Any) -> None:
    from mini_infer.runtime.compile import plan_builder

    module = torch.nn.Linear(64, 64)
    x = torch.randn(2, 64)
    wanted = compiled(module, cache=str(tmp_path))(x)
    torch._dynamo.reset()
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(plan_builder, "Builder")  # nothing is compiled
        assert torch.equal(compiled(module, cache=str(tmp_path))(x), wanted)
    torch._dynamo.reset()
    module.weight[5, 5] += 1
    assert_same(compiled(module, cache=str(tmp_path))(x), module(x))
