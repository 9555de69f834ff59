"""Helpers of graph patterns: reading and creating constants, and applying patterns with statistics."""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from inspect import signature
from math import prod
from typing import ClassVar, TypeVar, cast, get_args

import numpy as np
from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriterListener, PatternRewriteWalker, RewritePattern
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.transforms.dead_code_elimination import is_trivially_dead
from xdsl.utils.exceptions import VerifyException

from ....dialects.errors import CompileError, InvalidInputError, InvalidModelError, MiniInferError
from ....dialects.graph.base import GraphOp, describe
from ....dialects.graph.blobs import BlobStore, Source, blob_store
from ....dialects.graph.model_nodes import take_over
from ....dialects.graph.narrow_types import is_narrow
from ....dialects.graph.ops.indexing import IndexedOp
from ....dialects.graph.ops.movement import BroadcastToOp, ReshapeOp
from ....dialects.graph.ops.structure import ConstantOp, WeightOp
from ....dialects.graph.values import (
    AnyTensor,
    Array,
    element_type_of,
    nbytes_of,
    numpy_dtype,
    shape_of,
    tensor,
    type_of,
)
from ....dialects.kernel.targets import CpuAttr, GpuAttr, target_of
from ....dialects.sizes.sizes import is_fixed
from ...statistics import count

SMALL_ELEMENTS = 64  # constants up to this many elements are written out in the IR; larger ones are weights
SCALAR_BYTES = 16384  # weights up to this size are looked at for being one number

OpT = TypeVar("OpT", bound=Operation)
OpG = TypeVar("OpG", bound=GraphOp)
PatternT = TypeVar("PatternT", bound="GraphPattern")

_KINDS = "rewritten_kinds"  # attribute of a method: the kinds of ops that it is for


def defining(value: SSAValue, kind: type[OpT]) -> OpT | None:
    """The op that defines `value`, if it is one of the given kind."""
    owner = value.owner
    return owner if isinstance(owner, kind) else None


def only_use(value: SSAValue, kind: type[OpT]) -> OpT | None:
    """The op that defines `value`, if it is of the given kind and `value` has a single use."""
    owner = value.owner
    return owner if isinstance(owner, kind) and value.has_one_use() else None


def with_operands(op: OpG, operands: Sequence[SSAValue], **changed: Attribute) -> OpG:
    """The same op, not yet in a block, with other operands and some properties changed.

    Result types are inferred by the op's type rule.
    """
    properties = {**op.properties, **changed}
    new = _like(op, operands, properties, op.result_types)
    types = new.infer_types()
    if all(type == old for type, old in zip(types, op.result_types, strict=True)):
        return new
    new.erase()
    return _like(op, operands, properties, types)


def _like(
    op: OpG, operands: Sequence[SSAValue], properties: Mapping[str, Attribute], types: Sequence[Attribute]
) -> OpG:
    return type(op).create(
        operands=operands,
        result_types=types,
        properties=properties,
        attributes=dict(op.attributes),
        location=op.location,
    )


class Constants:
    """Reads values known at compile time and creates new ones."""

    def __init__(self, store: BlobStore) -> None:
        self._store = store
        self._scalars: dict[SSAValue, float | None] = {}

    def array(self, value: SSAValue) -> Array | None:
        """The value as a read-only array, None if it isn't constant. A broadcast array takes no memory."""
        match value.owner:
            case ConstantOp() as op:
                return op.to_numpy()
            case WeightOp() as op:
                return self._store.read(op.blob, type_of(value))
            case BroadcastToOp() as op:
                inner = self.array(op.operands[0])
                return (
                    None if inner is None or not is_fixed(*shape_of(value)) else np.broadcast_to(inner, shape_of(value))
                )
            case _:
                return None

    def indices(self, op: IndexedOp) -> Array | None:
        """The indices of a gather or scatter if they are known. Raises InvalidModelError for one out of range."""
        array = self.array(op.indices)
        if array is not None:
            try:
                op.check_indices(array)
            except InvalidInputError as error:
                raise InvalidModelError(str(error)) from None
        return array

    def is_constant(self, value: SSAValue) -> bool:
        """Whether the value is known at compile time, without reading it."""
        owner = value.owner
        if isinstance(owner, BroadcastToOp):
            return is_fixed(*shape_of(value)) and self.is_constant(owner.operands[0])
        return isinstance(owner, (ConstantOp, WeightOp))

    def scalar(self, value: SSAValue) -> float | None:
        """The common value of all elements of a small constant, or None."""
        if value not in self._scalars:
            self._scalars[value] = self._read_scalar(value)
        return self._scalars[value]

    def _read_scalar(self, value: SSAValue) -> float | None:
        if not isinstance(value, OpResult):
            return None
        owner = value.owner
        if isinstance(owner, BroadcastToOp):
            return self.scalar(owner.operands[0])
        if not isinstance(owner, (ConstantOp, WeightOp)) or nbytes_of(type_of(value)) > SCALAR_BYTES:
            return None
        array = self.array(value)
        if array is None or array.size == 0 or is_narrow(type_of(value).element_type):
            return None
        with np.errstate(invalid="ignore"):  # a signalling NaN
            if not (array == array.flat[0]).all():
                return None
        if array.flat[0] == 0 and array.dtype.kind not in "biu" and len(np.unique(np.signbit(array))) > 1:
            return None
        return array.flat[0].item()

    def is_scalar(self, value: SSAValue, expected: float, tolerance: float = 0.0) -> bool:
        """Whether all elements equal `expected`, up to a relative tolerance."""
        found = self.scalar(value)
        return found is not None and abs(found - expected) <= tolerance * abs(expected)

    def make(self, array: Array, location: LocationAttr) -> ConstantOp | WeightOp:
        """An op for `array`: a constant if small, else a weight with a new blob."""
        if array.size <= SMALL_ELEMENTS:
            return ConstantOp.from_numpy(array, location)
        return WeightOp(self._store.add(array), tensor(element_type_of(array.dtype), array.shape), location)

    def computed(
        self,
        operands: Sequence[SSAValue],
        type: AnyTensor,
        how: str,
        compute: Callable[..., Array],
        location: LocationAttr,
        rows: int = 0,
    ) -> ConstantOp | WeightOp:
        """An op for the result of `compute` on constant operands; a large weight is computed lazily.

        `how` identifies the computation, together with operands and type; `rows` as in BlobStore.add_made.
        """
        count = prod(type.get_shape())
        if count <= SMALL_ELEMENTS:
            return self.make(compute(*map(self.known, operands)), location)

        def fill(arrays: Sequence[Array], out: Array) -> None:
            out[...] = compute(*arrays)

        sources: list[Source] = [
            (each.owner.blob, type_of(each)) if isinstance(each.owner, WeightOp) else self.known(each)
            for each in operands
        ]
        return WeightOp(self._store.add_made(type, sources, how, fill, rows), type, location)

    def known(self, value: SSAValue) -> Array:
        array = self.array(value)
        assert array is not None, "only constants are computed with"
        return array

    def make_as(self, array: Array, element_type: Attribute, location: LocationAttr) -> ConstantOp | WeightOp:
        """The same for an array computed in a wider type, rounded to `element_type`."""
        return self.make(array.astype(numpy_dtype(element_type)), location)


def rewrites(
    rewrite: Callable[[PatternT, OpT, PatternRewriter], None],
) -> Callable[[PatternT, Operation, PatternRewriter], None]:
    """Restricts a pattern's `match_and_rewrite` to ops of its argument's type."""
    (_, op, _) = signature(rewrite, eval_str=True).parameters.values()
    vars(rewrite)[_KINDS] = get_args(op.annotation) or (op.annotation,)
    return cast("Callable[[PatternT, Operation, PatternRewriter], None]", rewrite)


class GraphPattern(RewritePattern, ABC):
    """A local rewrite of graph ops; statistics count it under its class name."""

    def __init__(self, constants: Constants) -> None:
        self.constants = constants

    @classmethod
    @cache
    def label_for(cls, kind: type[Operation]) -> str:
        """The class name in kebab-case; "" if no op of that kind can match."""
        takes = issubclass(kind, getattr(cls.match_and_rewrite, _KINDS, Operation))
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower() if takes else ""


class _CountingApplier(RewritePattern):
    """Erases dead ops, applies the first matching pattern, and counts."""

    def __init__(self, patterns: Sequence[GraphPattern]) -> None:
        self.made: set[Operation] = set()  # by the pattern that matches
        self._patterns = patterns
        self._by_kind: dict[type[Operation], list[tuple[GraphPattern, str]]] = {}
        self.counts: dict[str, int] = {}

    @override
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if is_trivially_dead(op):
            rewriter.erase(op)
            return
        self.made.clear()
        for pattern, label in self._of_kind(type(op)):
            try:
                pattern.match_and_rewrite(op, rewriter)
            except VerifyException as error:
                raise CompileError(f"{describe(op)}: {label}: {error}") from error
            if rewriter.has_done_action:
                self.counts[label] = self.counts.get(label, 0) + 1
                return

    def _of_kind(self, kind: type[Operation]) -> list[tuple[GraphPattern, str]]:
        """The patterns that ops of a kind may match: few, so that the others aren't tried for every op."""
        if kind not in self._by_kind:
            self._by_kind[kind] = [(each, label) for each in self._patterns if (label := each.label_for(kind))]
        return self._by_kind[kind]

    def keep_node(self, op: Operation, new: Sequence[SSAValue | None]) -> None:
        """New ops whose results replace those of an op have the values of its ONNX node."""
        for value in new:
            if value is not None and (owner := value.owner) in self.made:
                take_over(cast("Operation", owner), op)


def _keep_shapes(op: Operation, new: Sequence[SSAValue | None]) -> None:
    """Casts replacements to the spelling of the sizes of the op's results, which users rely on.

    A symbolic size that currently equals a weight's static size may have been replaced by it, or vice versa.
    """
    for old, value in zip(op.results, new, strict=True):
        if value is not None and old.uses and value.type != old.type:
            same = ReshapeOp(value, shape_of(old), location=op.location)
            Rewriter.insert_op(same, InsertPoint.before(op))
            old.replace_all_uses_with(same.result)


def apply_patterns(ctx: Context, module: ModuleOp, pass_name: str, patterns: Sequence[type[GraphPattern]]) -> bool:
    """Applies patterns, the first match first, to a fixed point; counts them. Returns whether IR changed."""
    constants = Constants(blob_store(ctx))
    applier = _CountingApplier([pattern(constants) for pattern in patterns])
    listener = PatternRewriterListener(
        operation_insertion_handler=[applier.made.add],
        operation_replacement_handler=[applier.keep_node, _keep_shapes],
    )
    try:
        PatternRewriteWalker(applier, listener=listener).rewrite_module(module)
    except MiniInferError as error:
        error.__notes__ = []  # the walker notes the module's text, which is long
        raise
    for label, times in applier.counts.items():
        count(ctx, pass_name, label, times)
    return bool(applier.counts)


class PatternPass(ModulePass, ABC):
    """A pass that applies patterns to a fixed point, in modules that contain certain ops and have a certain target."""

    patterns: ClassVar[Sequence[type[GraphPattern]]]
    kinds: ClassVar[tuple[type[Operation], ...]] = ()
    """The pass applies to modules with an op of one of these classes; if empty, to all."""
    machine: ClassVar[type[CpuAttr] | type[GpuAttr] | None] = None
    """The pass applies to modules with such a target; if None, to all."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.machine is not None and not isinstance(target_of(op), self.machine):
            return
        if not self.kinds or any(isinstance(inner, self.kinds) for inner in op.walk()):
            apply_patterns(ctx, op, self.name, self.patterns)
