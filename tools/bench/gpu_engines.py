"""GPU engines for benchmarks: ours and its peers, at equal precision, with inputs and outputs on the device.

Every runner synchronises with the GPU. Precision is that of matrix products: "fp32" is full precision, which PyTorch's
convolutions and ONNX Runtime have only if asked for; 16 bits are PyTorch's autocast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from ...dialects.errors import UnsupportedError
from ...dialects.graph.host import kernels_of, main_of
from ...dialects.graph.ops.structure import KernelOp
from ...dialects.kernel.targets import GpuAttr, gpu_of
from ...lowering.gpu_to_cuda.device_program import Launch
from ...lowering.onnx_to_graph.model_file import ModelSource
from ...passes.kernels.schedules import schedule_of
from ...passes.kernels.schedules.cuda.cost import limit_seconds
from ...passes.memory.analysis.main_steps import calls_of
from ...runtime.compile.module_to_plan import plan_memory
from ...runtime.compile.source import source_of
from ...runtime.config import EngineConfig
from ...runtime.engine import Engine
from ...runtime.memory.tensor import Tensor
from ...runtime.profiling.kernel_records import KernelTime

Runner = Callable[[], Any]


def bound(engine: Engine, inputs: Mapping[str, Any]) -> Runner:
    """Our engine, bound to device tensors."""
    plan = engine.plan
    context, device = plan.create_execution_context(), plan.config.place
    for name, array in inputs.items():
        context.bind_input(name, Tensor.from_array(np.ascontiguousarray(array)).to(device))
    for spec in plan.outputs:
        context.bind_output(spec.name, Tensor.empty(spec.shape, spec.dtype, device=device))
    return context.execute


def torch_graph(model: str, options: Mapping[str, Any], inputs: Mapping[str, Any]) -> Runner:
    """PyTorch in eager mode, captured as a CUDA graph."""
    torch, forward = _torch(model, options, inputs, compiled=False)
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):  # warm-up: libraries select algorithms and allocate memory, which can't be captured
        for _ in range(3):
            forward()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        forward()
    return _waited(torch, graph.replay)


def torch_compile(model: str, options: Mapping[str, Any], inputs: Mapping[str, Any]) -> Runner:
    """PyTorch's compiler with full autotuning, which also uses CUDA graphs."""
    torch, forward = _torch(model, options, inputs, compiled=True)
    return _waited(torch, forward)


def _torch(model: str, options: Mapping[str, Any], inputs: Mapping[str, Any], compiled: bool) -> tuple[Any, Runner]:
    torch: Any = import_module("torch")
    device, precision = f"cuda:{options['device_id']}", options["precision"]
    torch.cuda.set_device(device)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    module = import_module("onnx2torch").convert(model).eval().to(device)
    given = [torch.from_numpy(np.ascontiguousarray(array)).to(device) for array in inputs.values()]
    if compiled:
        module = torch.compile(module, mode="max-autotune", fullgraph=True)
    half = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(precision)

    def forward() -> Any:
        with torch.inference_mode(), torch.autocast("cuda", half, enabled=half is not None):
            return module(*given)

    return torch, forward


def _waited(torch: Any, start: Callable[[], object]) -> Runner:
    def run() -> None:
        start()
        torch.cuda.synchronize()

    return run


def onnxruntime_cuda(model: str, options: Mapping[str, Any], inputs: Mapping[str, Any]) -> Runner:
    """ONNX Runtime with its CUDA execution provider."""
    runtime: Any = import_module("onnxruntime")
    precision, number = options["precision"], options["device_id"]
    if precision in ("fp16", "bf16"):
        raise UnsupportedError(f"it computes in the model's own types, not in {precision}")
    if "CUDAExecutionProvider" not in runtime.get_available_providers():
        raise UnsupportedError("this onnxruntime has no CUDA: pip install onnxruntime-gpu")
    settings = runtime.SessionOptions()
    settings.log_severity_level = 4  # every error is raised
    provider = ("CUDAExecutionProvider", {"device_id": number, "use_tf32": int(precision == "tf32")})
    session = runtime.InferenceSession(model, settings, providers=[provider])
    if "CUDAExecutionProvider" not in session.get_providers():
        raise UnsupportedError("its provider for CUDA can't be started")
    binding = session.io_binding()
    for name, array in inputs.items():
        there = runtime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array), "cuda", number)
        binding.bind_ortvalue_input(name, there)
    for output in session.get_outputs():
        binding.bind_output(output.name, "cuda", number)

    def run() -> None:
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()

    return run


ENGINES = {"torch": torch_graph, "torch-compile": torch_compile, "onnxruntime-cuda": onnxruntime_cuda}


@dataclass(frozen=True)
class CallCost:
    """The schedule of a call, its time by the cost model, and a lower bound by the GPU's stated limits, in us."""

    schedule: str
    options: Mapping[str, int]
    estimated_us: float
    limit_us: float


def costs(model: ModelSource, config: EngineConfig) -> list[CallCost]:
    """The cost of each call of a model's plan."""
    module, ctx = source_of(model).load(config)
    plan_memory(module, ctx, config)
    kernels, target = kernels_of(module), gpu_of(module)
    names = [call.callee.string_value() for call in calls_of(main_of(module))]
    each = {name: _cost(kernels[name], target) for name in {*names}}
    return [each[name] for name in names]


def _cost(kernel: KernelOp, target: GpuAttr) -> CallCost:
    schedule = schedule_of(kernel, target.device)
    seconds = schedule.cost(kernel, target), limit_seconds(kernel, target)
    return CallCost(schedule.name, schedule.attribute().numbers(), *(each * 1e6 for each in seconds))


def by_calls(
    launches: Sequence[Launch], times: Sequence[KernelTime], costs: Sequence[CallCost]
) -> list[dict[str, Any]]:
    """The time of each call, over all its launches and all turns of the loops around it, beside what these cost."""
    spans = [0.0] * len(costs)
    first: dict[int, KernelTime] = {}
    for launch, time in zip(launches, times, strict=True):
        spans[launch.call] += time.nanoseconds / 1e3
        first.setdefault(launch.call, time)
    rows: list[dict[str, Any]] = []
    for call, time in first.items():
        each, us = costs[call], spans[call]
        cost = replace(each, estimated_us=each.estimated_us * time.runs, limit_us=each.limit_us * time.runs)
        row = {"us": us, "runs": time.runs, "kernel": time.kernel, "node": time.node, **asdict(cost)}
        rows.append({**row, "of_limit": cost.limit_us / us if us else 0.0})
    return rows
