"""Reads a module's interface for the runtime, at any level: inputs and outputs, calls, weights."""

from __future__ import annotations

import re
from dataclasses import replace
from tempfile import TemporaryFile
from typing import cast

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from ..dialects.bounded_crops import bounded_axes
from ..dialects.errors import InvalidModelError, OutOfMemoryError
from ..dialects.graph.blobs import BlobAttr, MiniContext
from ..dialects.graph.bounds import cuts_of
from ..dialects.graph.host import NAME, ROLE, attributes_of_arguments
from ..dialects.graph.interpreter import input_names, output_names
from ..dialects.graph.kv_cache_attributes import CacheAttr, cache_of
from ..dialects.graph.output_labels import KEYS, LABELS, labels_of
from ..dialects.graph.values import numpy_dtype
from ..dialects.sizes.size_attributes import SIZES, symbols_of_module
from ..dialects.symbols import symbol_named
from ..lowering.levels import argument_roles, level_of
from ..lowering.module_text import own_errors
from ..passes.memory.advise_weights import MAP
from ..passes.memory.insert_checks import CHECKS, STATUS
from ..passes.memory.report.memory_report import plan_summary
from .device import Array
from .kept.begun_model import BegunModel, PlacedWeight, weights_in
from .limits import memory_for
from .memory.host_memory import aligned_bytes
from .specs import CacheSpec, RunCheck, Signature, TensorSpec

_READ = (StringAttr("input"), StringAttr("cache"))  # the roles of inputs
WEIGHT_ALIGNMENT = 64  # bytes: a cache line, and the widest vector
# What main's arguments are for, in the order of the pointers that it is called with.
ROLES = re.compile(
    r"(?:(?:input|cache) ?)*(?:output ?)*(?:arena(?: sizes)?(?: status)?(?: weights)?(?: stop)?(?: times)?(?: team)?)?"
)


def entry_of(module: ModuleOp) -> Operation:
    """The function @main, at any level. Raises InvalidModelError if there is none with a body."""
    main = symbol_named(module, "main")
    if main is None or not main.regions[0].blocks:
        raise InvalidModelError("the module has no function @main")
    return main


def check_signature(module: ModuleOp) -> None:
    """Raises InvalidModelError for a `main` whose arguments don't fit the calling convention, which would be unsafe."""
    main = entry_of(module)
    if level_of(module) in ("graph", "kernels"):
        input_specs(module)
        return
    roles = argument_roles(main)
    if not ROLES.fullmatch(" ".join(role or "-" for role in roles)):
        raise InvalidModelError(
            f"@main takes {', '.join(role or 'what has no role' for role in roles)}; graph.role must say: inputs, "
            "outputs, arena, sizes, status, weights, stop, times, team"
        )
    for role in ("input", "output"):
        specs_of(module, role)
    blocks = _weights(module)
    there = {
        "arena": plan_summary(main).arena_bytes if "arena" in roles else 0,
        SIZES: 8 * len(symbols_of_module(module)),
        STATUS: 8 * len(run_checks(module)),
        "weights": max((offset + blob.nbytes.data for blob, offset in blocks), default=0),
        "stop": 8,
    }
    for role, nbytes in there.items():
        for spec in specs_of(module, role):
            if spec.nbytes != nbytes:
                raise InvalidModelError(f"@main takes {spec.nbytes} bytes of {role}; the module tells of {nbytes}")


def input_specs(module: ModuleOp) -> tuple[TensorSpec, ...]:
    """Names, shapes and types of the inputs."""
    main = entry_of(module)
    if not isinstance(main, FuncOp) or level_of(module) not in ("graph", "kernels"):
        return specs_of(module, "input")
    return tuple(_spec(name, argument.type) for name, argument in zip(input_names(main), main.args, strict=True))


def output_specs(module: ModuleOp) -> tuple[TensorSpec, ...]:
    """Names, shapes and types of the outputs."""
    main = entry_of(module)
    if not isinstance(main, FuncOp) or level_of(module) not in ("graph", "kernels"):
        return signature_of(module).outputs
    types = main.function_type.outputs
    return tuple(_spec(name, type) for name, type in zip(output_names(main), types, strict=True))


def specs_of(module: ModuleOp, role: str) -> tuple[TensorSpec, ...]:
    """The arguments of `main`, on buffers, with a role; one without a name is named by the role and a number.

    Caches are among the inputs: for each, the part that is an input.
    """
    main = entry_of(module)
    roles = _READ if role == "input" else (StringAttr(role),)
    specs: list[TensorSpec] = []
    for attributes, argument in zip(attributes_of_arguments(main), main.regions[0].blocks[0].args, strict=True):
        if attributes.data.get(ROLE) in roles:
            name, cache = attributes.data.get(NAME), cache_of(attributes)
            text = name.data if isinstance(name, StringAttr) else f"{role}{len(specs)}"
            # The llvm level has pointers, with their types beside them.
            type = attributes.data.get("graph.type", argument.type) if cache is None else cache.past
            spec = _spec(text, type)
            labels, keys = labels_of(attributes, LABELS), labels_of(attributes, KEYS)
            if labels or keys:
                spec = replace(spec, labels=labels, keys=keys)
            specs.append(spec)
    return tuple(specs)


def signature_of(module: ModuleOp) -> Signature:
    """The inputs and outputs of `main`, on buffers; the counts of bounded outputs follow the model's outputs."""
    inputs, specs, caches = specs_of(module, "input"), list(specs_of(module, "output")), _caches(module)
    for cache in sorted(caches.values(), key=lambda cache: cache.place):
        specs.insert(cache.place, _spec(cache.output.data, cache.present))
    cuts = tuple(cut for each in _attributes_of(module, StringAttr("output")) if (cut := cuts_of(each)))
    shown = len(specs) - len(cuts)
    for spec, cut in zip(specs[shown:], cuts, strict=True):
        whole = spec.shape == () and spec.dtype == np.int64
        if not whole or any(number >= shown or axis >= len(specs[number].shape) for number, axis in cut):
            raise InvalidModelError(f"@main: '{spec.name}' is no count of results that are there")
    rooms = {number: _spec(inputs[number].name, cache.room) for number, cache in caches.items()}
    return Signature(
        inputs=inputs,
        outputs=tuple(replace(spec, bounded=bounded_axes(cuts, number)) for number, spec in enumerate(specs[:shown])),
        counts=tuple(specs[shown:]),
        caches=tuple(CacheSpec(number, cache.place, rooms[number], cache.axis) for number, cache in caches.items()),
        cuts=cuts,
        checks=run_checks(module),
    )


def _caches(module: ModuleOp) -> dict[int, CacheAttr]:
    """The caches of `main`, on buffers, by input number."""
    found = map(cache_of, _attributes_of(module, *_READ))
    return {number: cache for number, cache in enumerate(found) if cache is not None}


def _attributes_of(module: ModuleOp, *roles: StringAttr) -> list[DictionaryAttr]:
    """The attributes of the arguments of `main` with one of these roles."""
    return [each for each in attributes_of_arguments(entry_of(module)) if each.data.get(ROLE) in roles]


def _spec(name: str, type: Attribute) -> TensorSpec:
    if not isinstance(type, MemRefType | TensorType):
        raise InvalidModelError(f"@main: '{name}' is {type}, no tensor and no buffer")
    shape = tuple(cast("MemRefType[Attribute]", type).get_shape())
    if DYNAMIC_INDEX in shape:
        raise InvalidModelError(f"@main: '{name}' has dimensions of unknown size")
    with own_errors():
        return TensorSpec(name, shape, numpy_dtype(cast("MemRefType[Attribute]", type).element_type))


def run_checks(module: ModuleOp) -> tuple[RunCheck, ...]:
    """The run-time checks of a module on buffers, one per slot of its status; see insert-checks."""
    for attributes in _attributes_of(module, StringAttr(STATUS)):
        match attributes.data.get(CHECKS):
            case ArrayAttr(data=(_, *_) as checks):
                return tuple(map(_run_check, checks))
            case _:
                raise InvalidModelError(f"@main takes a {STATUS}, but {CHECKS} does not say of what")
    return ()


def _run_check(check: Attribute) -> RunCheck:
    match check:
        case ArrayAttr(data=(StringAttr(data=subject), IntegerAttr(value=IntAttr(data=size)))):
            return RunCheck(subject, size)
        case ArrayAttr(data=(StringAttr(data=message),)):
            return RunCheck(message)
        case _:
            raise InvalidModelError(f"@main: {CHECKS} holds {check} instead of an op and a size, or a message")


def weight_segment(module: ModuleOp, ctx: MiniContext, begun: BegunModel | None = None) -> Array:
    """All weights in one read-only block, laid out by place-weights.

    In memory, or mapped from the file that was begun for the model. Code that releases weights needs them in a file: a
    temporary one, if none was begun. Raises OutOfMemoryError if there is no room for it.
    """
    blocks = _weights(module)
    total = max((offset + blob.nbytes.data for blob, offset in blocks), default=0)
    placed = [PlacedWeight(offset, blob.nbytes.data, ctx.blobs.parts(blob)) for blob, offset in blocks]
    mapped: Array | None = None
    if begun is None and symbol_named(module, MAP) is not None:
        with TemporaryFile() as file:
            written = weights_in(file, total, placed)
        mapped = None if written is None else written.data
    elif total and begun is not None:
        mapped = begun.write_weights(total, placed)
    if mapped is not None:
        return mapped
    if symbol_named(module, MAP) is not None:
        raise OutOfMemoryError(f"weights_memory: {total} bytes of weights must lie in a file, and there is no room")
    with memory_for(f"{total} bytes of weights"):
        segment = aligned_bytes(total, WEIGHT_ALIGNMENT)
    for blob, offset in blocks:
        ctx.blobs.copy(blob, segment[offset : offset + blob.nbytes.data])
        ctx.blobs.release()
    segment.flags.writeable = False
    return segment


def _weights(module: ModuleOp) -> list[tuple[BlobAttr, int]]:
    """The blobs of the weight segment with their offsets in bytes."""
    blocks: list[tuple[BlobAttr, int]] = []
    for entry in cast("ArrayAttr[ArrayAttr[Attribute]]", module.attributes.get("kernel.weights", ArrayAttr([]))):
        blob, offset = entry.data
        assert isinstance(blob, BlobAttr)
        blocks.append((blob, cast("IntegerAttr[IntegerType]", offset).value.data))
    return blocks
