"""Sessions, beside those of ONNX Runtime: what they say, what they give, and how they refuse."""

from __future__ import annotations

import json
import pathlib
import pickle
import queue
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any, cast

import numpy as np
import onnxruntime
import onnxruntime_models as models
import pytest
from onnx import TensorProto, helper

import mini_infer as mi
import mini_infer.onnxruntime as ours
from mini_infer.dialects.graph.values import Array

BOTH = (ours, onnxruntime)
BFLOAT16 = TensorProto.BFLOAT16
X = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)

Call = Callable[[ModuleType, Any], Any]
"""What a program does with the module and a session of `product`."""


def plain(value: Any) -> Any:
    """Results in a form that can be compared."""
    if isinstance(value, list | tuple):
        return [plain(each) for each in cast("list[Any]", value)]
    return np.round(cast("Array", value), 5).tolist() if isinstance(value, np.ndarray) else value


RUNS: dict[str, Call] = {
    "all outputs": lambda ort, s: s.run(None, {"x": X}),
    "no names": lambda ort, s: s.run([], {"x": X}),
    "one output": lambda ort, s: s.run(["z"], {"x": X}),
    "outputs in another order, twice": lambda ort, s: s.run(("z", "y", "z"), {"x": X}),
    "names by a generator": lambda ort, s: s.run((name for name in ["z"]), {"x": X}),
    "names by a map": lambda ort, s: s.run(map(str, ["z", "y"]), {"x": X}),
    "names by a set": lambda ort, s: s.run({"z"}, {"x": X}),
    "by keywords": lambda ort, s: s.run(output_names=["y"], input_feed={"x": X}, run_options=ort.RunOptions()),
    "a list": lambda ort, s: s.run(None, {"x": X.tolist()}),
    "columns first": lambda ort, s: s.run(None, {"x": np.asfortranarray(X)}),
    "backwards": lambda ort, s: s.run(None, {"x": X[::-1]}),
    "no rows": lambda ort, s: s.run(None, {"x": X[:0]}),
    "read-only": lambda ort, s: s.run(None, {"x": np.frombuffer(X.tobytes(), np.float32).reshape(2, 4)}),
    "another default": lambda ort, s: s.run(None, {"x": X, "w": np.ones((4, 3), np.float32)}),
    "the default again": lambda ort, s: (
        s.run(None, {"x": X, "w": np.ones((4, 3), np.float32)}),
        s.run(None, {"x": X}),
    ),
    "an OrtValue": lambda ort, s: s.run(None, {"x": ort.OrtValue.ortvalue_from_numpy(X)}),
    "OrtValues": lambda ort, s: [
        each.numpy() for each in s.run_with_ort_values(["z"], {"x": ort.OrtValue.ortvalue_from_numpy(X)})
    ],
    "interface": lambda ort, s: [
        (each.name, each.type, each.shape)
        for each in (*s.get_inputs(), *s.get_outputs(), *s.get_overridable_initializers())
    ],
    "metadata": lambda ort, s: [
        getattr(s.get_modelmeta(), name)
        for name in ("producer_name", "graph_name", "domain", "description", "version", "custom_metadata_map")
    ],
    "providers": lambda ort, s: (s.get_providers(), s.get_provider_options()),
}


@pytest.mark.parametrize("case", RUNS)
def test_a_session_gives_what_onnx_runtimes_gives(case: str) -> None:
    found, expected = (plain(RUNS[case](ort, ort.InferenceSession(models.product()))) for ort in BOTH)
    assert found == expected


REFUSED: dict[str, Call] = {
    "unknown output": lambda ort, s: s.run(["q"], {"x": X}),
    "no inputs": lambda ort, s: s.run(None, {}),
    "one input of two": lambda ort, s: ort.InferenceSession(models.added()).run(None, {"z": X}),
    "a generator of no names": lambda ort, s: s.run((str(each) for each in ()), {"x": X}),
    "another input": lambda ort, s: s.run(None, {"foo": X}),
    "an input too many": lambda ort, s: s.run(None, {"x": X, "foo": X}),
    "float64": lambda ort, s: s.run(None, {"x": X.astype(np.float64)}),
    "int64": lambda ort, s: s.run(None, {"x": X.astype(np.int64)}),
    "rank": lambda ort, s: s.run(None, {"x": X[0]}),
    "rank too high": lambda ort, s: s.run(None, {"x": X[None]}),
    "size": lambda ort, s: s.run(None, {"x": np.ones((2, 5), np.float32)}),
    "size of a default": lambda ort, s: s.run(None, {"x": X, "w": np.zeros((4, 5), np.float32)}),
    "a number": lambda ort, s: s.run(None, {"x": 1.0}),
    "numpy's number": lambda ort, s: s.run(None, {"x": np.float32(3)}),
    "text": lambda ort, s: s.run(None, {"x": "abc"}),
    "a list of texts": lambda ort, s: s.run(None, {"x": ["abc"]}),
    "feed in order": lambda ort, s: s.run(None, [X]),
    "no feed": lambda ort, s: s.run(None, None),
    "number as a name": lambda ort, s: s.run(None, {1: X}),
    "a file that is not there": lambda ort, s: ort.InferenceSession("nowhere.onnx"),
    "nothing": lambda ort, s: ort.InferenceSession(b""),
    "a number as a model": lambda ort, s: ort.InferenceSession(3),
    "None as a model": lambda ort, s: ort.InferenceSession(None),
    "a bytearray as a model": lambda ort, s: ort.InferenceSession(bytearray(models.product())),
    "a value of another size": lambda ort, s: ort.OrtValue.ortvalue_from_numpy(X).update_inplace(X[:1]),
    "a value of a list": lambda ort, s: ort.OrtValue.ortvalue_from_numpy([1.0]),
    "binding of an unknown input": lambda ort, s: s.io_binding().bind_cpu_input("q", X),
    "no entry": lambda ort, s: ort.SessionOptions().get_session_config_entry("q"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_session_refuses_as_onnx_runtimes_does(case: str) -> None:
    """With the same exception, in the same words."""
    raised: list[tuple[str, str]] = []
    for ort in BOTH:
        session = ort.InferenceSession(models.product())
        with pytest.raises(Exception) as error:
            REFUSED[case](ort, session)
        raised.append((error.type.__name__, str(error.value).strip()))
    assert raised[0] == raised[1]


def one_node(ort: ModuleType, operator: str, **inputs: Array) -> Any:
    """A run of a model of one node, for inputs of any sizes."""
    shapes = {name: (helper.np_dtype_to_tensor_dtype(x.dtype), [None] * x.ndim) for name, x in inputs.items()}
    made = models.model(
        [helper.make_node(operator, [*inputs], ["y"])], shapes, {"y": (shapes[next(iter(shapes))][0], None)}
    )
    return ort.InferenceSession(made).run(None, inputs)


def changed(options: Any, **values: object) -> Any:
    for name, value in values.items():
        setattr(options, name, value)
    return options


def with_options(ort: ModuleType, **values: object) -> Any:
    return ort.InferenceSession(models.relu(), changed(ort.SessionOptions(), **values))


KINDS: dict[str, Call] = {
    "None": lambda ort, s: s.run(None, {"x": None}),
    "a name for names": lambda ort, s: s.run("z", {"x": X}),
    "a number instead of names": lambda ort, s: s.run(1, {"x": X}),
    "names as keys": lambda ort, s: s.run({"z": 1}, {"x": X}),
    "a number for names": lambda ort, s: s.run([1], {"x": X}),
    "no run options": lambda ort, s: s.run(None, {"x": X}, 3),
    "no session options": lambda ort, s: ort.InferenceSession(models.product(), 3),
    "no model": lambda ort, s: ort.InferenceSession(b"hello world"),
    "a folder": lambda ort, s: ort.InferenceSession("/"),
    "an attribute that there is not": lambda ort, s: setattr(ort.SessionOptions(), "foo", 1),
    "text for a number": lambda ort, s: setattr(ort.SessionOptions(), "intra_op_num_threads", "x"),
    "a number for a level": lambda ort, s: setattr(ort.SessionOptions(), "graph_optimization_level", 99),
    "another device": lambda ort, s: ort.OrtValue.ortvalue_from_numpy(X, "cuda", 0),
    "nothing bound": lambda ort, s: s.run_with_iobinding(s.io_binding()),
    "shapes that contradict": lambda ort, s: ort.InferenceSession(models.reshape()).run(
        None, {"x": X, "shape": np.array([3, 2])}
    ),
    "a step of 0": lambda ort, s: one_node(ort, "Range", a=np.array(0), b=np.array(5), step=np.array(0)),
    "repeats of another rank": lambda ort, s: one_node(ort, "Tile", x=X, repeats=np.array([1])),
    "a negative number of repeats": lambda ort, s: one_node(ort, "Tile", x=X, repeats=np.array([-1, 1])),
    "a shape that can't be expanded to": lambda ort, s: one_node(ort, "Expand", x=X, shape=np.array([3, 4])),
    "a window that doesn't fit": lambda ort, s: one_node(ort, "Conv", x=X.reshape(1, 1, 1, 8), w=X.reshape(1, 1, 2, 4)),
    "shapes that don't broadcast": lambda ort, s: one_node(ort, "Add", x=X, z=X[:, :3]),
    "an undefined value": lambda ort, s: ort.InferenceSession(
        models.broken(helper.make_node("Add", ["x", "q"], ["y"]))
    ),
    "an undefined output": lambda ort, s: ort.InferenceSession(models.broken(helper.make_node("Relu", ["x"], ["z"]))),
    "a cycle": lambda ort, s: ort.InferenceSession(models.broken(helper.make_node("Add", ["x", "y"], ["y"]))),
    "a number for a dimension's name": lambda ort, s: ort.SessionOptions().add_free_dimension_override_by_name(1, 1),
    "a text for a size": lambda ort, s: ort.SessionOptions().add_free_dimension_override_by_name("batch", "1"),
    "a fraction for a size": lambda ort, s: ort.SessionOptions().add_free_dimension_override_by_denotation("N", 1.0),
    "a value of a negative size": lambda ort, s: ort.OrtValue.ortvalue_from_shape_and_type([-1, 4], np.float32),
    "a value of an endless size": lambda ort, s: ort.OrtValue.ortvalue_from_shape_and_type([1 << 40] * 2, np.float32),
    "elements of another size": lambda ort, s: ort.OrtValue.ortvalue_from_numpy_with_onnx_type(X, BFLOAT16),
    "a type that there is not": lambda ort, s: ort.OrtValue.ortvalue_from_numpy_with_onnx_type(X, 99),
    "a list of ONNX's type": lambda ort, s: ort.OrtValue.ortvalue_from_numpy_with_onnx_type([1.0], 1),
    "a level of severity": lambda ort, s: with_options(ort, log_severity_level=33),
    "a level of severity of a run": lambda ort, s: s.run(
        None, {"x": X}, changed(ort.RunOptions(), log_severity_level=5)
    ),
    "an index out of range": lambda ort, s: ort.InferenceSession(models.gather()).run(
        None, {"x": X, "places": np.array([3, 2])}
    ),
}


@pytest.mark.parametrize("case", KINDS)
def test_a_session_raises_the_same_kind_of_error(case: str) -> None:
    raised: list[str] = []
    for ort in BOTH:
        session = ort.InferenceSession(models.product())
        with pytest.raises(Exception) as error:
            KINDS[case](ort, session)
        raised.append(error.type.__name__)
    assert raised[0] == raised[1]


@pytest.mark.parametrize(
    ("node", "kind", "text"),
    [
        (helper.make_node("Foo", ["x"], ["y"]), "NotImplemented", r"operators that are not supported: Foo"),
        (helper.make_node("Foo", ["x"], ["y"], domain="test.domain"), "NotImplemented", r"test\.domain\.Foo"),
        (helper.make_node("Add", ["x", "q"], ["y"]), "InvalidArgument", r"reads q, which is undefined"),
    ],
)
def test_a_model_that_cant_be_compiled_is_refused_when_it_is_opened(node: Any, kind: str, text: str) -> None:
    with pytest.raises(mi.MiniInferError, match=text) as error:
        ours.InferenceSession(models.broken(node))
    assert error.type.__name__ == kind


def test_an_index_out_of_range_is_an_argument_s_fault_at_every_run() -> None:
    session = ours.InferenceSession(models.gather())
    session.run(None, {"x": X, "places": np.array([1, 0])})
    for _ in range(2):
        with pytest.raises(ours.InvalidArgument, match="index 3 is outside of a dimension of 2 elements"):
            session.run(None, {"x": X, "places": np.array([3, 0])})
    assert session.run(None, {"x": X, "places": np.array([1, 0])})[0].tolist() == X[::-1].tolist()


def test_errors_are_those_of_mini_infer_too() -> None:
    session = ours.InferenceSession(models.product())
    with pytest.raises(mi.InvalidInputError):
        session.run(["q"], {"x": X})
    with pytest.raises(FileNotFoundError):
        ours.InferenceSession("nowhere.onnx")
    with pytest.raises(mi.InvalidModelError):
        ours.InferenceSession(b"hello world")


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_number_may_be_an_array_of_one(shape: tuple[int, ...]) -> None:
    for ort in BOTH:
        feed = {"x": X, "factor": np.full(shape, 2, np.float32)}
        assert ort.InferenceSession(models.scaled()).run(None, feed)[0].tolist() == (2 * X).tolist()
    with pytest.raises(ours.InvalidArgument, match="Invalid rank for input: factor Got: 1 Expected: 0"):
        ours.InferenceSession(models.scaled()).run(None, {"x": X, "factor": np.ones(2, np.float32)})


def test_values_that_determine_shapes_are_taken_from_calls() -> None:
    session = ours.InferenceSession(models.reshape())
    for rows, columns in ((4, 2), (1, 8), (8, 1), (4, 2)):
        (found,) = session.run(None, {"x": X, "shape": np.array([rows, columns])})
        assert found.tolist() == X.reshape(rows, columns).tolist()


def test_dimensions_are_fixed_by_name_and_by_denotation() -> None:
    options = ours.SessionOptions()
    options.add_free_dimension_override_by_name("batch", 2)
    options.add_free_dimension_override_by_name("unknown", 2)
    session = ours.InferenceSession(models.product(), options)
    assert [each.shape for each in (*session.get_inputs(), *session.get_outputs())] == [[2, 4], [2, 3], [2, 3]]
    with pytest.raises(ours.InvalidArgument, match="index: 0 Got: 1 Expected: 2"):
        session.run(None, {"x": X[:1]})
    options = ours.SessionOptions()
    options.add_free_dimension_override_by_denotation("DATA_BATCH", 2)
    options.add_free_dimension_override_by_name("no.such", 3)
    proto = helper.make_model(
        helper.make_graph(
            [helper.make_node("Relu", ["x"], ["y"])],
            "denoted",
            [helper.make_tensor_value_info("x", models.FLOAT, [None, 4], shape_denotation=["DATA_BATCH", ""])],
            [helper.make_tensor_value_info("y", models.FLOAT, None)],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    session = ours.InferenceSession(proto.SerializeToString(), options)
    assert session.get_inputs()[0].shape == [2, 4]
    assert session.run(None, {"x": X})[0].tolist() == np.maximum(X, 0).tolist()


def test_options_without_effect_are_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from mini_infer.runtime.onnxruntime_api import session_options

    monkeypatch.setattr(session_options, "_WARNED", set[str]())
    options = ours.SessionOptions()
    options.inter_op_num_threads = 2
    options.add_session_config_entry("session.some", "1")
    with pytest.warns(
        UserWarning, match=r"without effect: inter_op_num_threads, the configuration entry session\.some"
    ):
        ours.InferenceSession(models.relu(), options)
    ours.InferenceSession(models.relu(), options)


def test_options_are_those_of_the_compile() -> None:
    options = ours.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ours.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ours.InferenceSession(models.product(), options)
    assert session.get_session_options() is options
    assert session.run(["z"], {"x": X})[0].shape == (2, 3)
    with pytest.raises(ours.NotImplemented, match=r"lib\.so: libraries of custom operators are not supported"):
        options.register_custom_ops_library("lib.so")


def test_unknown_providers_are_named_and_the_cpu_used() -> None:
    with pytest.warns(
        UserWarning, match="Specified provider 'CUDAExecutionProvider' is not in available provider names"
    ):
        session = ours.InferenceSession(
            models.relu(), providers=["CUDAExecutionProvider", ("CPUExecutionProvider", {})]
        )
    assert session.get_providers() == ["CPUExecutionProvider"]


def test_a_session_is_of_its_process() -> None:
    for kind in (mi.UnsupportedError, TypeError):
        with pytest.raises(kind, match="InferenceSession can't be pickled or copied"):
            pickle.dumps(ours.InferenceSession(models.relu()))


def test_a_run_that_is_to_end_does_not_begin() -> None:
    session, options = ours.InferenceSession(models.relu()), ours.RunOptions()
    options.terminate = True
    with pytest.raises(ours.Fail, match="terminate flag"):
        session.run(None, {"x": X}, options)


def test_a_trace_has_the_kernels_of_every_run(tmp_path: pathlib.Path) -> None:
    options = ours.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "trace")
    session = ours.InferenceSession(models.product(), options)
    for rows in (2, 1):
        session.run(None, {"x": X[:rows]})
    name = session.end_profiling()
    events = json.loads(pathlib.Path(name).read_text(encoding="utf-8"))
    assert name.startswith(str(tmp_path / "trace_")) and name.endswith(".json")
    assert [each["name"] for each in events if each["cat"] == "Session"] == [
        "session_initialization",
        "model_run",
        "model_run",
    ]
    kernels = [each for each in events if each["cat"] == "Node"]
    assert kernels and all(each["ph"] == "X" and each["dur"] >= 0 <= each["ts"] for each in kernels)
    assert ours.InferenceSession(models.relu()).end_profiling() == ""


def test_a_folder_for_traces_that_there_is_not_is_told_at_once(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "traces"
    with pytest.raises(ours.InvalidArgument, match=f"profile_file_prefix is .*, but there is no folder {folder}$"):
        with_options(ours, enable_profiling=True, profile_file_prefix=str(folder / "trace"))
    folder.mkdir()
    session = with_options(ours, enable_profiling=True, profile_file_prefix=str(folder / "trace"))
    folder.rmdir()
    with pytest.raises(ours.Fail, match=f"the profile can't be written: .*{folder}"):
        session.end_profiling()


@pytest.mark.parametrize("ort", BOTH, ids=["ours", "theirs"])
def test_inputs_and_outputs_are_bound_to_memory(ort: Any) -> None:
    session = ort.InferenceSession(models.product())
    expected, y = session.run(["y"], {"x": X})[0], np.zeros((2, 3), np.float32)
    binding = session.io_binding()
    binding.bind_input("x", "cpu", 0, np.float32, [2, 4], X.ctypes.data)
    binding.bind_output("y", "cpu", 0, np.float32, [2, 3], y.ctypes.data)
    binding.bind_output("z")
    session.run_with_iobinding(binding)
    assert y.tolist() == expected.tolist()
    assert [each.tolist() for each in binding.copy_outputs_to_cpu()] == [y.tolist(), np.maximum(y, 0).tolist()]
    binding.clear_binding_outputs()
    value = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32)
    binding.bind_ortvalue_output("y", value)
    session.run_with_iobinding(binding)
    assert value.numpy().tolist() == expected.tolist()
    binding.bind_output("z", "cpu", 0, np.float32, [2, 5], y.ctypes.data)
    with pytest.raises(RuntimeError, match="Got invalid dimensions for output: z"):
        session.run_with_iobinding(binding)
    binding.bind_cpu_input("x", X.astype(np.float64))
    with pytest.raises(RuntimeError, match=r"Error in execution: Unexpected input data type. Actual: \(tensor\(double"):
        session.run_with_iobinding(binding)


@pytest.mark.parametrize("ort", BOTH, ids=["ours", "theirs"])
def test_an_asynchronous_run_calls_back(ort: Any) -> None:
    session, told, done = ort.InferenceSession(models.product()), list[Any](), threading.Event()

    def callback(outputs: Any, about: Any, error: str) -> None:
        told.append((plain(outputs), about, error))
        done.set()

    session.run_async(["y"], {"x": X}, callback, 7)
    assert done.wait(60)
    done.clear()
    session.run_async(["q"], {"x": X}, callback, 8)
    assert done.wait(60)
    assert told == [(plain(session.run(["y"], {"x": X})), 7, ""), ([], 8, told[1][2])]
    assert "Invalid output name" in told[1][2]


def test_any_error_of_an_asynchronous_run_calls_back() -> None:
    session, told = ours.InferenceSession(models.product()), queue.Queue[Any]()
    session.run_async(["y"], cast("Any", ["x"]), lambda found, about, error: told.put((found, about, error)), 9)
    assert told.get(timeout=60) == ([], 9, "'list' object has no attribute 'keys'")


@pytest.mark.parametrize("ort", BOTH, ids=["ours", "theirs"])
def test_values_say_what_they_are(ort: Any) -> None:
    x = X.copy()
    value = ort.OrtValue.ortvalue_from_numpy(x)
    assert (value.shape(), value.data_type(), value.element_type()) == ([2, 4], "tensor(float)", 1)
    assert (value.device_name(), value.tensor_size_in_bytes(), value.data_ptr()) == ("cpu", 32, x.ctypes.data)
    assert (value.is_tensor(), value.has_value(), value.is_sparse_tensor(), value.is_tensor_sequence()) == (
        True,
        True,
        False,
        False,
    )
    value.update_inplace(np.zeros((2, 4), np.float32))
    assert not x.any() and np.from_dlpack(value).shape == (2, 4)
    made = ort.OrtValue.ortvalue_from_shape_and_type([3], np.int64, "cpu", 0)
    assert (made.shape(), made.data_type()) == ([3], "tensor(int64)")
    bits = np.array([[0x3F80, 0x4000]], np.uint16)
    told = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, BFLOAT16)
    assert (told.shape(), told.data_type(), told.element_type()) == ([1, 2], "tensor(bfloat16)", 16)
    assert told.data_ptr() == bits.ctypes.data
    assert ort.OrtDevice.make("cpu", 0).device_id() == 0


def test_enumerations_have_the_same_members() -> None:
    for name in ("ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "OrtAllocatorType", "OrtMemType"):
        mine, theirs = (getattr(ort, name).__members__ for ort in BOTH)
        assert {each: int(value) for each, value in mine.items()} == {
            each: int(value) for each, value in theirs.items()
        }


def test_options_have_the_same_attributes_and_defaults() -> None:
    for kind in ("SessionOptions", "RunOptions"):
        mine, theirs = (getattr(ort, kind)() for ort in BOTH)
        names = [each for each in dir(theirs) if each[0] != "_" and not callable(getattr(theirs, each))]
        assert {each: plain(getattr(mine, each)) for each in names} == {each: _value(theirs, each) for each in names}


def _value(options: Any, name: str) -> Any:
    value = getattr(options, name)
    return value if isinstance(value, bool | int | str) else int(value)


def test_threads_share_a_session() -> None:
    session, failed = ours.InferenceSession(models.softmax_rows()), list[str]()
    x = np.random.default_rng(0).standard_normal((2, 9, 4)).astype(np.float32)
    expected = {length: session.run(None, {"x": x[:, :length]})[0] for length in (3, 5, 7, 9)}

    def work(seed: int) -> None:
        for length in np.random.default_rng(seed).choice([3, 5, 7, 9], 60):
            found = session.run(None, {"x": x[:, :length]})[0]
            if not np.array_equal(found, expected[length]):
                failed.append(f"length {length}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failed == []
