"""Export of PyTorch's modules to ONNX in memory: the graph, and apart from it the weights where PyTorch has them."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ...dialects.arguments import shown
from ...dialects.errors import ConfigError, InvalidModelError, MiniInferError, UnsupportedError
from ..device import Array
from .torch_package import exporting_torch, is_onnx_program, torch_module

KEPT_BYTES = 1024  # weights up to this size stay in the model, which then shows them
_TALKATIVE = ("torch.onnx", "torch.onnx._internal.exporter", "torch.export._trace", "torch._subclasses.fake_tensor")


@dataclass(frozen=True)
class OnnxGraph:
    """An exported model: its weights are inputs of the graph, and given as arrays by these names."""

    model: Any
    """A ModelProto."""
    weights: Mapping[str, Array]


@dataclass(frozen=True)
class ExportedModule:
    """A module's graph, and how its arguments and results are made of tensors."""

    graph: OnnxGraph
    program: Any
    """The ExportedProgram; None where there is none."""
    ranges: Mapping[str, tuple[int, int, int | None]]
    """By dimension's name (smallest, example's, largest) size; None if nothing limits it."""


def exported_module(
    model: object, args: Sequence[Any], kwargs: Mapping[str, Any] | None, dynamic_shapes: Any
) -> ExportedModule:
    """Exports an nn.Module, ExportedProgram or ONNXProgram.

    Raises ConfigError for arguments that don't go with the model, InvalidModelError for weights that have no values,
    and UnsupportedError for what PyTorch can't export, or what ONNX can't express.
    """
    torch = exporting_torch()
    if not isinstance(cast("object", args), tuple | list):
        raise ConfigError(f"args is {shown(args)}; it must be a tuple of the module's arguments, such as (x,)")
    if kwargs is not None and not isinstance(cast("object", kwargs), Mapping):
        raise ConfigError(f"kwargs is {shown(kwargs)}; it must be a mapping from names of arguments to values")
    if isinstance(model, torch.nn.Module):
        if not args and not kwargs:
            raise ConfigError("a module is exported with an example of its arguments: compile(module, args=(x,))")
        _check_values(model)
        program, found = _of_module(model, tuple(args), dict(kwargs or {}), dynamic_shapes)
    else:
        if args or kwargs or dynamic_shapes is not None:
            raise ConfigError(
                f"args, kwargs and dynamic_shapes are for an nn.Module; a {type(model).__name__} has them"
            )
        program, found = (
            (model, cast("Any", model).exported_program) if is_onnx_program(type(model)) else _of_program(model)
        )
    if found is not None:
        _check_unchanged(found)
    return ExportedModule(graph_of(program), found, {} if found is None else _ranges(found, program))


def _of_module(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any) -> tuple[Any, Any]:
    """A module's ONNXProgram and ExportedProgram."""
    try:
        program = onnx_program(module, args, kwargs, dynamic_shapes=dynamic_shapes)
    except UnsupportedError as error:
        torch = torch_module("torch")
        try:
            with _quiet():
                found = torch.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False)
        except Exception:  # of any kind; what the exporter said first tells more
            raise error from error.__cause__
        if not _has_constants(found):
            raise
        return _of_program(found)
    return program, program.exported_program


def _of_program(program: Any) -> tuple[Any, Any]:
    """An ExportedProgram's ONNXProgram, and itself."""
    return onnx_program(_without_constants(program) if _has_constants(program) else program), program


def _has_constants(program: Any) -> bool:
    """Whether a module's result has parts that are no tensors, which not every version of the exporter takes."""
    return any(hasattr(each.arg, "value") for each in program.graph_signature.output_specs)


def _without_constants(program: Any) -> Any:
    """The same program with the tensors and sizes of the result only."""
    torch, kinds = torch_module("torch"), torch_module("torch.export.graph_signature")
    graph = torch.fx.Graph()
    copied: dict[Any, Any] = {}
    results = graph.graph_copy(program.graph, copied)
    for node, copy in copied.items():
        copy.meta = dict(node.meta)
    graph.output(tuple(each for each in results if isinstance(each, torch.fx.Node)))
    outputs = [each for each in program.graph_signature.output_specs if not hasattr(each.arg, "value")]
    signature = kinds.ExportGraphSignature([*program.graph_signature.input_specs], outputs)
    return flat_program(program.graph_module, graph, signature, program.call_spec.in_spec, program)


def flat_program(module: Any, graph: Any, signature: Any, arguments: Any, like: Any = None) -> Any:
    """A graph as an ExportedProgram: `arguments` is the tree of its arguments, its result is a tuple.

    Weights, constants and the ranges of sizes are those of the program `like`.
    """
    export, flatten = torch_module("torch.export.exported_program"), torch_module("torch.utils._pytree").tree_flatten
    made = sum(each.kind.name == "USER_OUTPUT" for each in signature.output_specs)
    given = [node.name for node in graph.nodes if node.op == "placeholder"]
    if like is not None:
        given = like.module_call_graph[0].signature.forward_arg_names
    call = export.ModuleCallSignature(
        inputs=[], outputs=[], in_spec=arguments, out_spec=flatten((0,) * made)[1], forward_arg_names=given
    )
    return export.ExportedProgram(
        module,
        graph,
        signature,
        {} if like is None else like.state_dict,
        {} if like is None else like.range_constraints,
        [export.ModuleCallEntry("", call)],
        constants={} if like is None else like.constants,
    )


def _check_values(module: Any) -> None:
    """Raises InvalidModelError for parameters and buffers without values."""
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        if tensor.device.type == "meta":
            raise InvalidModelError(f"{type(module).__name__}: '{name}' is on the device 'meta' and has no values")


def _check_unchanged(program: Any) -> None:
    """Raises UnsupportedError for a module that draws random numbers, or changes its buffers or arguments."""
    for node in program.graph.nodes:
        if node.op == "call_function" and is_random(node):
            raise UnsupportedError(f"{node.target} draws random numbers: call eval() if it is for training")
    signature = program.graph_signature
    for what, changed in (
        ("buffer", [*signature.buffers_to_mutate.values()]),
        ("argument", [*signature.user_inputs_to_mutate.values()]),
        ("parameter", [*getattr(signature, "parameters_to_mutate", {}).values()]),
    ):
        if changed:
            raise UnsupportedError(
                f"the module changes its {what} '{changed[0]}' when it is called, which a model can't: call eval(), or "
                'give and return the state as a tensor; torch.compile(module, backend="mini_infer") takes such modules'
            )


def is_random(node: Any) -> bool:
    """Whether an operation draws random numbers, which one with a dropout does only if that is in use."""
    tags, schema = getattr(node.target, "tags", ()), getattr(node.target, "_schema", None)
    if torch_module("torch").Tag.nondeterministic_seeded not in tags or schema is None:
        return False
    share = ("dropout", "dropout_p", "p") if "dropout" in schema.name else ("dropout", "dropout_p")
    for place, argument in enumerate(schema.arguments):
        given = node.args[place] if place < len(node.args) else node.kwargs.get(argument.name, argument.default_value)
        if (argument.name in share and given == 0) or (argument.name in ("train", "training") and given is False):
            return False
    return True


def onnx_program(
    model: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None, **options: Any
) -> Any:
    """torch.onnx.export in memory, in silence. Raises UnsupportedError with the exporter's reason."""
    torch = exporting_torch()
    try:
        with _quiet():
            return torch.onnx.export(
                model,
                args,
                kwargs=kwargs,
                dynamo=True,
                verbose=False,
                optimize=False,
                **options,
            )
    except MiniInferError:
        raise
    except Exception as error:  # tracing runs the module's own code, which may raise anything
        raise UnsupportedError(f"PyTorch can't export it to ONNX: {_reason(error)}") from error


@contextmanager
def _quiet() -> Generator[None]:
    """Without the exporter's remarks on itself; what it can't do it raises.

    And without PyTorch's fused operations for whole layers, which it can't export.
    """
    attention = torch_module("torch").backends.mha
    fused = attention.get_fastpath_enabled()
    loggers = [logging.getLogger(name) for name in _TALKATIVE]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            attention.set_fastpath_enabled(False)
            for logger in loggers:
                logger.setLevel(logging.CRITICAL)
            yield
        finally:
            attention.set_fastpath_enabled(fused)
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


def _reason(error: BaseException) -> str:
    """The innermost cause in one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines[:2])}"[:400]


def graph_of(program: Any) -> OnnxGraph:
    """An ONNXProgram's graph apart from its weights, which are not copied."""
    model: Any = program.model.clone()  # the graph; tensors are shared
    if program.exported_program is not None:
        _cast_outputs(model.graph, program.exported_program)
    weights: dict[str, Array] = {}
    for name, value in [*model.graph.initializers.items()]:
        tensor = value.const_value
        if tensor is None or tensor.nbytes <= KEPT_BYTES:
            continue
        weights[name] = tensor.numpy()
        if value not in model.graph.inputs:
            model.graph.inputs.append(value)
        del model.graph.initializers[name]
        value.const_value = None
    return OnnxGraph(torch_module("onnx_ir").to_proto(model), weights)


def _cast_outputs(graph: Any, program: Any) -> None:
    """Casts outputs to the element types that they have in the ExportedProgram.

    The exporter computes sums of halves in float32, and leaves out the cast back where one is a result.
    """
    torch, ir = torch_module("torch"), torch_module("onnx_ir")
    (results,) = next(node for node in program.graph.nodes if node.op == "output").args
    specs = zip(program.graph_signature.output_specs, results, strict=True)
    made = [each for spec, each in specs if spec.kind.name == "USER_OUTPUT" and not hasattr(spec.arg, "value")]
    if len(made) != len(graph.outputs):  # of an ONNXProgram that was changed
        return
    casts: dict[Any, Any] = {}
    for place, (node, output) in enumerate(zip(made, [*graph.outputs], strict=True)):
        tensor = node.meta["val"]
        if not isinstance(tensor, torch.Tensor) or tensor.is_complex() or output.dtype is None:
            continue
        wanted = ir.DataType.from_numpy(np.dtype(str(tensor.dtype).removeprefix("torch.")))
        if wanted == output.dtype:
            continue
        if output not in casts:
            cast_back = ir.node("Cast", [output], {"to": wanted.value})
            casts[output] = cast_back.outputs[0]
            casts[output].name, output.name = output.name, f"{output.name}_as_computed"
            casts[output].shape, casts[output].type = output.shape, ir.TensorType(wanted)
            graph.append(cast_back)
        graph.outputs[place] = casts[output]


def _ranges(program: Any, onnx: Any) -> dict[str, tuple[int, int, int | None]]:
    """The ranges of the dimensions with names in the ONNX graph, as the export was told them."""
    torch = torch_module("torch")
    limits = {str(symbol): span for symbol, span in program.range_constraints.items()}
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    tensors = [nodes[name].meta["val"] for name in program.graph_signature.user_inputs if name in nodes]
    tensors = [each for each in tensors if isinstance(each, torch.Tensor)]
    found: dict[str, tuple[int, int, int | None]] = {}
    for tensor, value in zip(tensors, onnx.model.graph.inputs, strict=False):
        for size, dimension in zip(tensor.shape, value.shape or (), strict=False):
            name = getattr(dimension, "value", dimension)
            if isinstance(size, int) or not isinstance(name, str) or str(size.node.expr) not in limits:
                continue
            span = limits[str(size.node.expr)]
            most = int(span.upper) if span.upper < 2**31 else None
            found[name] = (max(int(span.lower), 0), int(size.node.hint), most)
    return found
