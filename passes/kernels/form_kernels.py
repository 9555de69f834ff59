"""form-kernels: groups the ops of `main` into kernels and calls them.

before:  %1 = graph.conv %x, %w, %b {...}    %2 = graph.relu %1
after:   %2 = graph.call @conv_0(%x, %w, %b)
         graph.kernel @conv_0(%x, %w, %b) attributes {
             form = #kernel.form<"contraction">, constant_operands = array<i64: 1, 2>} {
           %1 = graph.conv %x, %w, %b {...}    %2 = graph.relu %1    graph.yield %2 }

Groups follow the rules in fusion.py; `fuse=false` gives every op a kernel of its own. Kernels that agree in
body, types and in which operands are weights are one symbol. Reshapes stay in `main`: they only rename bytes.
Constants become weights, but for repeated values in elementwise ops. An op that nobody reads would become a kernel
without results, so dce comes first. Loops and branches stay, with calls inside of them, and so do the scalars that
decide about them.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import LocationAttr, ModuleOp, StringAttr
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.errors import InvalidModelError
from ...dialects.graph.base import ElementwiseOp, GraphOp, describe
from ...dialects.graph.blobs import blob_store
from ...dialects.graph.host import Loop, blocks_of, is_scalar, main_of, state_level
from ...dialects.graph.ops.external import ExternalCallOp
from ...dialects.graph.ops.movement import ReshapeOp
from ...dialects.graph.ops.structure import CallOp, ConstantOp, KernelOp, WeightOp, YieldOp
from ...dialects.graph.values import ints_attr, shape_of, type_of
from ...dialects.kernel.kernel_attributes import FormAttr
from ...dialects.kernel.targets import target_of
from ..statistics import count
from .fusion import Group, external_operands, form_groups
from .schedules import fusion_rules
from .tensor_names import TensorNames

_STRUCTURE = Loop | scf.IfOp | scf.YieldOp | scf.ConditionOp | func.ReturnOp


@dataclass(frozen=True)
class FormKernels(ModulePass):
    """Groups the ops of `main` into kernels and calls them."""

    name = "form-kernels"
    fuse: bool = True
    forbid: tuple[str, ...] = ()
    """Schedules that are not to be taken, so that nothing is fused for their sake."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = main_of(op, self.name)
        blocks = blocks_of(main, self.name)
        for inner in main.body.walk():
            if not (isinstance(inner, GraphOp | _STRUCTURE) or is_scalar(inner)):
                raise InvalidModelError(f"{describe(inner)}: form-kernels doesn't support this op in main")
        _constants_to_weights(ctx, main)
        kernels: dict[str, KernelOp] = {}
        counts: dict[str, int] = {}
        rules = fusion_rules(target_of(op), self.forbid) if self.fuse else None
        groups = [group for block in blocks for group in form_groups(block, rules)]
        names = TensorNames(op)
        reshapes = [each for each in main.body.walk() if isinstance(each, ReshapeOp)]
        named = [names.location(each, [each], each.results) for each in reshapes]
        calls = [names.location(group.root, group.ops, group.results()) for group in groups]
        for reshape, location in zip(reshapes, named, strict=True):
            reshape.location = location
        for group, location in zip(groups, calls, strict=True):
            _outline(op, group, location, kernels, counts)
            count(ctx, self.name, "ops in the kernel of another", len(group.ops) - 1)
        for constant in [inner for inner in main.body.walk() if isinstance(inner, ConstantOp)]:
            if not any(True for _ in constant.results[0].uses):
                Rewriter.erase_op(constant)
        state_level(op, "kernels")


def _constants_to_weights(ctx: Context, main: func.FuncOp) -> None:
    """Constants that aren't splats become weights: code has no tables, and `main` passes buffers only."""
    store = blob_store(ctx)
    for op in list(main.body.walk()):
        if not isinstance(op, ConstantOp):
            continue
        inline = all(isinstance(use.operation, ElementwiseOp) for use in op.results[0].uses)
        if not inline or not op.value.is_splat():
            weight = WeightOp(store.add(op.to_numpy()), type_of(op.results[0]), op.location)
            Rewriter.replace_op(op, weight)


def _outline(
    module: ModuleOp, group: Group, location: LocationAttr, kernels: dict[str, KernelOp], counts: dict[str, int]
) -> None:
    _separate_weights(group)
    operands = external_operands(group.ops)
    results = group.results()
    last = group.ops[-1]
    kernel = _build_kernel(group, operands, results)
    stream = StringIO()
    kernel.sym_name = StringAttr("")
    Printer(stream=stream, print_debuginfo=False).print_op(kernel)
    key = stream.getvalue()
    known = kernels.get(key)
    if known is None:
        stem = _stem(group)
        count = counts.get(stem, 0)
        counts[stem] = count + 1
        kernel.sym_name = StringAttr(f"{stem}_{count}")
        kernels[key] = known = kernel
        module.body.block.add_op(kernel)
    call = CallOp(known.sym_name.data, operands, [value.type for value in results], location=location)
    Rewriter.insert_op(call, InsertPoint.after(last))
    for old, new in zip(results, call.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    for op in reversed(group.ops):
        Rewriter.erase_op(op, safe_erase=False)


def _separate_weights(group: Group) -> None:
    """Duplicates weights that a group reads more than once, as one of them may be packed and the others not.

    A computed one gets a second name.
    """
    seen: set[SSAValue] = set()
    for op in group.ops:
        for index, operand in enumerate(op.operands):
            if operand in seen and isinstance(weight := operand.owner, WeightOp):
                again = weight.clone()
                Rewriter.insert_op(again, InsertPoint.after(weight))
                op.operands[index] = again.result
            seen.add(operand)
    for index in group.root.WEIGHTS:
        value = group.root.operands[index]
        readings = sum([*op.operands].count(value) for op in group.ops)
        if readings > 1 and not isinstance(value.owner, WeightOp):
            renamed = ReshapeOp(value, shape_of(value), location=group.root.location)
            Rewriter.insert_op(renamed, InsertPoint.before(group.root))
            group.root.operands[index] = renamed.result


def _stem(group: Group) -> str:
    """`conv`, `matmul_gelu`, ...: the root, and the last op if it is another one; a user's operator by its name."""
    if isinstance(group.root, ExternalCallOp):
        return group.root.operator.data
    ends = dict.fromkeys((group.root, group.ops[-1]))
    return "_".join(op.name.removeprefix("graph.") for op in ends)


def _build_kernel(group: Group, operands: list[SSAValue], results: list[SSAValue]) -> KernelOp:
    types = [value.type for value in operands]
    kernel = KernelOp("", types, [value.type for value in results], location=group.root.location)
    block = kernel.body.block
    mapped: dict[SSAValue, SSAValue] = dict(zip(operands, block.args, strict=True))
    for op in group.ops:
        for operand in op.operands:
            if operand not in mapped and isinstance(owner := operand.owner, ConstantOp):
                copy = ConstantOp(owner.value)
                block.add_op(copy)
                mapped[operand] = copy.results[0]
        copy = op.clone(mapped)
        for result in copy.results:
            result.name_hint = None  # a kernel is shared by values of any name
        block.add_op(copy)
    block.add_op(YieldOp(*[mapped[value] for value in results]))
    kernel.form = FormAttr.of(group.form)
    constant = [i for i, value in enumerate(operands) if isinstance(value.owner, WeightOp)]
    if constant:
        kernel.attributes["constant_operands"] = ints_attr(constant)
    return kernel
