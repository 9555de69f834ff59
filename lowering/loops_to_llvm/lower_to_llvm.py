"""lower-to-llvm: functions on memrefs, loops and vectors become functions of the llvm dialect.

before:  func.func private @scale(%x: memref<8xf32>, %i: index) {
           %v = vector.load %x[%i] : memref<8xf32>, vector<4xf32> ...
after:   llvm.func internal @scale(%x: !llvm.ptr {llvm.noalias, llvm.nocapture}, %i: i64) {
           %p = llvm.getelementptr inbounds %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
           %v = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32> ...

One walk over all operations. Expects memrefs with static strides, one-dimensional vectors, and math already expanded
(the rest calls the C library). Function arguments are assumed not to alias, except in a public function that calls
others: its threads exchange data through them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import func, llvm, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
)
from xdsl.dialects.llvm import CallingConventionAttr, LinkageAttr, LLVMFunctionType, LLVMVoidType
from xdsl.ir import Attribute, Block, Operation
from xdsl.passes import ModulePass

from ...dialects.graph.host import state_level
from ...dialects.kernel.calls import OPERATOR
from ...dialects.kernel.targets import CpuAttr, cpu_of
from ...dialects.sizes.polynomials import Symbol
from ...dialects.sizes.size_attributes import SIZES, symbols_of_module
from ...passes.memory.analysis.buffers import PLAN, argument_with_role
from ..op_facts import fail
from . import arith_ops, control_flow, memref_ops, products, vector_ops
from .body import FunctionBody, Handler
from .half_floats import as_integers
from .types import POINTER, Types, is_half

HANDLERS: dict[str, Handler] = {
    **arith_ops.HANDLERS,
    **products.HANDLERS,
    **memref_ops.HANDLERS,
    **vector_ops.HANDLERS,
    **control_flow.HANDLERS,
}
ROLE, TYPE = "graph.role", "graph.type"  # of an argument of main
_NO_ATTRIBUTES = DictionaryAttr({})
_OWN_MEMORY = DictionaryAttr({"llvm.noalias": UnitAttr(), "llvm.nocapture": UnitAttr()})
_VOID = LLVMVoidType()
_C_CONVENTION = CallingConventionAttr("ccc")
_INTERNAL, _EXTERNAL = LinkageAttr("internal"), LinkageAttr("external")
_FUNCTION_FLAGS = ("noinline", "alwaysinline", "cold")


@dataclass(frozen=True)
class LowerToLlvm(ModulePass):
    """Converts the module to the llvm dialect."""

    name = "lower-to-llvm"

    vector_bits: int = 0
    """Widest vector registers to use, in bits; 0: as the module's `kernel.target` says."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        types = Types()
        target = cpu_of(op)
        vector_bits = self.vector_bits or target.vector_bits.data
        extern: dict[str, LLVMFunctionType] = {}
        lowered: list[Operation] = []
        for top in op.ops:
            if isinstance(top, func.FuncOp):
                lowered.append(_function(top, types, target, vector_bits, extern, symbols_of_module(op)))
            elif isinstance(top, memref.GlobalOp):
                lowered.append(_global(top, types))
            elif top.name.startswith("llvm."):
                lowered.append(top.clone())
            else:
                fail(top, "this operation can't be lowered to LLVM")
        present = {cast(StringAttr, made.properties["sym_name"]).data for made in lowered}
        for name, function_type in extern.items():
            if name not in present:
                lowered.append(_library_function(name, function_type))
        block = op.body.block
        for top in list(op.ops):
            block.detach_op(top)
        block.add_ops(lowered)
        state_level(op, "llvm")


def _function(
    function: func.FuncOp,
    types: Types,
    target: CpuAttr,
    vector_bits: int,
    extern: dict[str, LLVMFunctionType],
    symbols: Sequence[Symbol],
) -> llvm.FuncOp:
    outputs = function.function_type.outputs.data
    if len(outputs) > 1:
        fail(function, f"@{function.sym_name.data}: a function can have one result only")
    inputs = [types.convert(argument) for argument in function.function_type.inputs]
    output = types.convert(outputs[0]) if outputs else _VOID
    declared = function.body.first_block is None
    private = function.sym_visibility is not None and function.sym_visibility.data == "private"
    made = llvm.FuncOp(
        function.sym_name.data,
        LLVMFunctionType(inputs, output),
        _INTERNAL if private and not declared else _EXTERNAL,
        _C_CONVENTION,
        other_props={
            "arg_attrs": _argument_attributes(function, inputs, own=not declared and (private or _is_leaf(function))),
            "passthrough": _passthrough(function, vector_bits),
        },
    )
    made.location = function.location
    made.attributes.update({name: value for name, value in function.attributes.items() if name in (PLAN, OPERATOR)})
    if declared:
        return made
    block = function.body.block
    entry = Block(arg_types=inputs)
    body = FunctionBody(types, HANDLERS, entry, target)
    body.values.update(zip(block.args, entry.args, strict=True))
    if (sizes := argument_with_role(function, SIZES)) is not None:
        body.sizes = body.values[sizes], symbols
    for argument, lowered in zip(block.args, entry.args, strict=True):
        lowered.name_hint = argument.name_hint
    last = body.lower_block(block)
    if not isinstance(last, func.ReturnOp):
        fail(last, "a function must end with func.return")
    body.append(llvm.ReturnOp, body.lowered(last.operands))
    body.finish()
    extern.update(body.extern)
    made.detach_region(0)
    made.add_region(body.region)
    return made


def _is_leaf(function: func.FuncOp) -> bool:
    return not any(isinstance(op, func.CallOp) for op in function.walk())


def _argument_attributes(
    function: func.FuncOp, inputs: Sequence[Attribute], *, own: bool
) -> ArrayAttr[DictionaryAttr] | None:
    """LLVM attributes of arguments: those named `llvm.*`, and noalias for `own` memory.

    The roles of `main`'s arguments are kept, with their types, which an LLVM pointer no longer shows.
    """
    given = function.arg_attrs.data if function.arg_attrs else (_NO_ATTRIBUTES,) * len(inputs)
    attributes: list[DictionaryAttr] = []
    for llvm_type, type, extra in zip(inputs, function.function_type.inputs, given, strict=True):
        kept = {name: value for name, value in extra.data.items() if name.startswith(("llvm.", "graph."))}
        if ROLE in kept:
            kept[TYPE] = type
        said = _OWN_MEMORY if own and llvm_type == POINTER else _NO_ATTRIBUTES
        attributes.append(DictionaryAttr({**said.data, **kept}) if kept else said)
    return ArrayAttr(attributes) if any(each.data for each in attributes) else None


def _passthrough(function: func.FuncOp, vector_bits: int) -> ArrayAttr[Attribute]:
    """Attributes of the LLVM function, from the function's `llvm.noinline` and the like."""
    attributes: list[Attribute] = [StringAttr("nounwind")]
    attributes += [StringAttr(flag) for flag in _FUNCTION_FLAGS if f"llvm.{flag}" in function.attributes]
    if function.body.blocks:
        attributes.append(ArrayAttr([StringAttr("prefer-vector-width"), StringAttr(str(vector_bits))]))
    return ArrayAttr(attributes)


def _library_function(name: str, function_type: LLVMFunctionType) -> llvm.FuncOp:
    """Declares a C library function without side effects."""
    properties = ["nounwind", "willreturn", "memory(none)"]
    return llvm.FuncOp(
        name,
        function_type,
        _EXTERNAL,
        other_props={"passthrough": ArrayAttr([StringAttr(each) for each in properties])},
    )


def _global(op: memref.GlobalOp, types: Types) -> llvm.GlobalOp:
    """A constant table, in row-major order."""
    value = op.initial_value
    if op.constant is None or not isinstance(value, DenseIntOrFPElementsAttr):
        fail(op, f"@{op.sym_name.data}: only constants with values can be lowered")
    layout = types.layout(op.type)
    elements = 1
    for size in op.type.get_shape():
        elements *= size
    made = llvm.GlobalOp(
        llvm.LLVMArrayType(elements, layout.element),
        op.sym_name,
        "internal",
        constant=True,
        value=as_integers(value) if is_half(op.type.element_type) else value,
        alignment=op.alignment.value.data if op.alignment else 64,
    )
    made.location = op.location
    return made
