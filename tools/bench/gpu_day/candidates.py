"""Candidates of schedules: the kernels of products and models, each compiled alone with each and timed on the GPU.

A kernel runs again and again in one CUDA graph, so that what it reads is in the caches as far as it fits there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from onnx import ModelProto
from onnx.numpy_helper import from_array
from onnx.parser import parse_model

from ....dialects.errors import ConfigError, DeviceError, MiniInferError
from ....dialects.graph.host import kernels_of
from ....dialects.kernel.targets import gpu_of
from ....lowering.onnx_to_graph.model_file import ModelSource
from ....passes.cost_model import operations
from ....passes.kernels.choose_schedule import candidates_of
from ....passes.kernels.measured_schedules import kernel_key
from ....runtime.compile.module_to_plan import build_plan
from ....runtime.compile.source import Source
from ....runtime.compile.tuner import Variant, alone, before_schedules, plain, worth_trying
from ....runtime.compute_device import compute_device
from ....runtime.config import EngineConfig
from ....runtime.devices.cuda.cuda_session import CudaSession
from ....runtime.memory.storage import Storage
from ....runtime.memory.tensor import Tensor
from ...arrays import seeded_inputs
from .measurements import Measurement, read_measurements, subject_of, text_of
from .processes import gpu_alone, in_processes

PRODUCTS = (
    "197x768x3072:gelu",
    "49x512x2048",
    "196x1024x256",
    "784x128x512",
    "128x768x768",
    "3136x64x256",
    "256x14x14:256x3/1",
    "512x7x7:512x3/1",
    "3x224x224:64x7/2",
    "64x56x56:64x3/1",
    "2048x2048x2048",
    "64x768x50257",
)
"""Products of transformers and of ResNet-50: rows x depth x columns, and perhaps an operator after the product and its
bias; of convolutions channels x height x width of the input, filters x their side, and the stride."""
ROUNDS = 4


def product_model(text: str) -> ModelProto:
    """The model of a product as PRODUCTS describes them. Raises ConfigError."""
    if found := re.fullmatch(r"(\d+)x(\d+)x(\d+)(?::([a-z]+))?", text):
        rows, depth, columns = map(int, found.groups()[:3])
        shapes = {"x": (rows, depth), "w": (depth, columns), "b": (columns,), "y": (rows, columns)}
        nodes = f"p = MatMul(x, w) s = Add(p, b) y = {(found[4] or 'identity').capitalize()}(s)"
    elif found := re.fullmatch(r"(\d+)x(\d+)x(\d+):(\d+)x(\d+)/(\d+)", text):
        channels, height, width, filters, side, stride = map(int, found.groups())
        pad = side // 2
        high, wide = ((each + 2 * pad - side) // stride + 1 for each in (height, width))
        shapes = {"x": (1, channels, height, width), "w": (filters, channels, side, side), "b": (filters,)}
        shapes["y"] = (1, filters, high, wide)
        nodes = f"s = Conv<pads=[{pad}, {pad}, {pad}, {pad}], strides=[{stride}, {stride}]>(x, w, b) y = Relu(s)"
    else:
        raise ConfigError(f"product {text}: expected one such as {PRODUCTS[0]} or {PRODUCTS[6]}")
    ends = {name: f"float[{', '.join(map(str, shapes[name]))}] {name}" for name in ("x", "y")}
    head = '<ir_version: 10, opset_import: ["": 20]>'
    model = parse_model(f"{head} product ({ends['x']}) => ({ends['y']}) {{ {nodes} }}")
    model.graph.initializer.extend(from_array(np.zeros(shapes[name], np.float32), name) for name in ("w", "b"))
    return model


def kernels_to_measure(model: ModelSource, config: EngineConfig, *, products: bool) -> list[str]:
    """The kernels of a model that have several candidates, or the products among them; equal ones once.

    As text_of writes them.
    """
    module, ctx = Source(model).load(config)
    before_schedules(module, ctx, config)
    target, found = gpu_of(module), dict[str, str]()
    for kernel in kernels_of(module).values():
        if not products or operations(kernel)[0]:
            found.setdefault(kernel_key(kernel, target), text_of(kernel, target))
    return list(found.values())


def measure(file: Path, kernels: Sequence[str], runs: int, jobs: int, deadline: float) -> list[str]:
    """Adds to the file what it doesn't hold yet of the kernels' candidates; returns the kernels that are not done.

    A kernel's candidates are measured in one process, the most promising first. If it ends badly, another goes on
    behind the candidate that it failed with.
    """
    left, before = list(dict.fromkeys(kernels)), -1
    while left and (size := file.stat().st_size if file.exists() else 0) > before:
        before = size
        tasks = [(file, kernel, runs) for kernel in left]
        done = {task[1] for task, why in in_processes(measure_kernel, tasks, jobs, deadline) if not why}
        left = [kernel for kernel in left if kernel not in done]
    return left


def measure_kernel(file: Path, text: str, runs: int) -> None:
    """Adds the measurements of one kernel to the file. Raises DeviceError, after which this process can't go on."""
    subject = subject_of(text)
    config = EngineConfig(device="cuda", precision=subject.target.precision.data)
    kernel, target = subject.kernel, subject.target
    known = {each.key for each in read_measurements(file, text)}
    for way, _ in worth_trying(kernel, target, candidates_of(kernel, target)):
        found, fault = Measurement(subject, way, ()), None
        if found.key in known:
            continue
        try:
            found = Measurement(subject, way, tuple(times(Variant(kernel, way, target, config), runs, file.parent)))
        except MiniInferError as error:
            found = Measurement(subject, way, (), str(error))
            fault = error if isinstance(error, DeviceError) else None
        with gpu_alone(file.parent), file.open("a") as stream:
            stream.write(found.line())
        if fault is not None:
            raise fault


def times(variant: Variant, runs: int, folder: Path) -> Iterator[float]:
    """Microseconds of a kernel's run, for each of several rounds of `runs`; no other process of the folder runs."""
    module, ctx = alone(variant)
    plan = build_plan(module, ctx, plain(variant.config))
    device = plan.config.place
    arena = Storage(plan.arena_bytes, device, plan.alignment)
    session = compute_device(device).session(plan, arena.memory)
    assert isinstance(session, CudaSession)
    inputs = seeded_inputs(plan.inputs, 1).values()
    tensors = [Tensor.from_array(each).to(device) for each in inputs]
    tensors += [Tensor.empty(spec.shape, spec.dtype, device=device) for spec in plan.outputs]
    for index, (spec, tensor) in enumerate(zip((*plan.inputs, *plan.outputs), tensors, strict=True)):
        session.bind(index, spec, tensor, written=index >= len(plan.inputs))
    with gpu_alone(folder):
        session.execute()
        yield from session.microseconds(runs, ROUNDS)
