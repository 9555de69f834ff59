"""LLVM IR text of single instructions: one function per operation of the llvm dialect."""

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, SymbolRefAttr
from xdsl.dialects.llvm import ALL_FCMP_FLAGS, ALL_ICMP_FLAGS, GEP_USE_SSA_VAL, FastMathAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..op_facts import fail, integers_of
from .llvm_text import constant_text, symbol, type_text

_NO_ATTRIBUTES = DictionaryAttr({})
_BINARY = (
    *("add", "sub", "mul", "sdiv", "udiv", "srem", "urem", "shl", "lshr", "ashr", "and", "or", "xor"),
    *("fadd", "fsub", "fmul", "fdiv", "frem"),
)
_CASTS = (
    *("trunc", "zext", "sext", "sitofp", "uitofp", "fptosi", "fptoui", "fpext", "fptrunc", "bitcast"),
    *("ptrtoint", "inttoptr"),
)
_PARAMETER_ATTRIBUTES = {"llvm.noalias": "noalias", "llvm.nocapture": "captures(none)"}
_LOOP_ADVICE = {
    # name in loop_annotation: (metadata that disables, metadata with a number)
    "unroll": ('!"llvm.loop.unroll.disable"', '!"llvm.loop.unroll.count"'),
    "vectorize": ('!"llvm.loop.vectorize.enable", i1 false', '!"llvm.loop.vectorize.width"'),
    "interleave": ('!"llvm.loop.interleave.count", i32 1', '!"llvm.loop.interleave.count"'),
}


class ModuleText:
    """State shared by all functions of a module: types, declarations and metadata."""

    def __init__(self) -> None:
        self.declarations: dict[str, str] = {}
        self.metadata: list[str] = []
        self.named_metadata: dict[str, list[str]] = {}
        self._types: dict[int, tuple[Attribute, str]] = {}

    def type(self, llvm_type: Attribute) -> str:
        """A type's text, memoised."""
        known = self._types.get(id(llvm_type))
        if known is None:
            known = self._types[id(llvm_type)] = (llvm_type, type_text(llvm_type))
        return known[1]

    def add_metadata(self, text: str) -> str:
        """A reference to a new metadata node; `self` in the text refers to the node itself."""
        number = len(self.metadata)
        self.metadata.append(text.replace("self", f"!{number}"))
        return f"!{number}"


class FunctionText:
    """The names of one function's values and blocks."""

    def __init__(self, module: ModuleText) -> None:
        self.module = module
        self.type = module.type
        self.names: dict[SSAValue, str] = {}
        self.labels: dict[Block, str] = {}

    def typed(self, value: SSAValue) -> str:
        """An operand with its type."""
        return f"{self.type(value.type)} {self.names[value]}"

    def label(self, block: Block) -> str:
        """A branch target."""
        return f"label %{self.labels[block]}"


def property_of(op: Operation, name: str) -> Attribute | None:
    """A property; in ops parsed from custom assembly it may be an attribute instead."""
    return op.properties.get(name) or op.attributes.get(name)


def argument_attributes(op: Operation, arguments: int) -> list[DictionaryAttr]:
    """The attribute dictionaries of a function's or call's arguments."""
    given = cast("ArrayAttr[DictionaryAttr] | None", property_of(op, "arg_attrs"))
    return [_NO_ATTRIBUTES] * arguments if given is None else list(given.data)


def parameter_attributes(op: Operation, given: DictionaryAttr) -> str:
    """The attributes of one argument, each preceded by a space."""
    texts = [""]
    for name, value in given.data.items():
        if name == "llvm.align" and isinstance(value, IntegerAttr):
            texts.append(f"align {value.value.data}")
        elif name in _PARAMETER_ATTRIBUTES:
            texts.append(_PARAMETER_ATTRIBUTES[name])
        elif not name.startswith("graph."):  # attributes that give the role of main's arguments
            fail(op, f"the argument attribute {name} is not supported in LLVM IR")
    return " ".join(texts)


def _name(op: Operation) -> str:
    return op.name.removeprefix("llvm.")


def _flags(op: Operation) -> str:
    flags = property_of(op, "fastmathFlags")
    if isinstance(flags, FastMathAttr) and flags.data:
        return " ".join(flags.data) + " "
    return ""


def _binary(text: FunctionText, op: Operation) -> str:
    a, b = op.operands
    flags = _flags(op)
    overflow = op.properties.get("overflowFlags")
    if isinstance(overflow, IntegerAttr):
        flags = ("", "nsw ", "nuw ", "nsw nuw ")[overflow.value.data]
    for name, word in (("isExact", "exact "), ("isDisjoint", "disjoint ")):
        if name in op.properties:
            flags += word
    return f"{_name(op)} {flags}{text.typed(a)}, {text.names[b]}"


def _negate(text: FunctionText, op: Operation) -> str:
    return f"fneg {_flags(op)}{text.typed(op.operands[0])}"


def _cast(text: FunctionText, op: Operation) -> str:
    return f"{_name(op)} {text.typed(op.operands[0])} to {text.type(op.results[0].type)}"


def _compare_integers(text: FunctionText, op: Operation) -> str:
    predicate = ALL_ICMP_FLAGS[cast(IntegerAttr, op.properties["predicate"]).value.data]
    a, b = op.operands
    return f"icmp {predicate} {text.typed(a)}, {text.names[b]}"


def _compare_floats(text: FunctionText, op: Operation) -> str:
    predicate = ALL_FCMP_FLAGS[cast(IntegerAttr, op.properties["predicate"]).value.data]
    a, b = op.operands
    return f"fcmp {_flags(op)}{predicate.lstrip('_')} {text.typed(a)}, {text.names[b]}"


def _select(text: FunctionText, op: Operation) -> str:
    return f"select {_flags(op)}{', '.join(map(text.typed, op.operands))}"


def _alignment(op: Operation) -> str:
    alignment = property_of(op, "alignment")
    return f", align {alignment.value.data}" if isinstance(alignment, IntegerAttr) else ""


def _nontemporal(text: FunctionText, op: Operation) -> str:
    return f", !nontemporal {text.module.add_metadata('!{i32 1}')}" if property_of(op, "nontemporal") else ""


def _check_plain(op: Operation) -> None:
    ordering = op.properties.get("ordering")
    if (isinstance(ordering, IntegerAttr) and ordering.value.data) or "volatile_" in op.properties:
        fail(op, "atomic and volatile accesses are not supported")


def _load(text: FunctionText, op: Operation) -> str:
    _check_plain(op)
    loaded = text.type(op.results[0].type)
    hint = _nontemporal(text, op)
    return f"load {loaded}, {text.typed(op.operands[0])}{_alignment(op)}{hint}"


def _store(text: FunctionText, op: Operation) -> str:
    _check_plain(op)
    value, pointer = op.operands
    hint = _nontemporal(text, op)
    return f"store {text.typed(value)}, {text.typed(pointer)}{_alignment(op)}{hint}"


def _element_pointer(text: FunctionText, op: Operation) -> str:
    pointer, *dynamic = op.operands
    values = iter(dynamic)
    indices = [
        text.typed(next(values)) if index == GEP_USE_SSA_VAL else f"i64 {index}"
        for index in integers_of(op, "rawConstantIndices")
    ]
    inbounds = "inbounds " if "inbounds" in op.properties else ""
    element = text.type(op.properties["elem_type"])
    return f"getelementptr {inbounds}{element}, {text.typed(pointer)}, {', '.join(indices)}"


def _stack_buffer(text: FunctionText, op: Operation) -> str:
    element = text.type(op.properties["elem_type"])
    return f"alloca {element}, {text.typed(op.operands[0])}{_alignment(op)}"


def _element(text: FunctionText, op: Operation) -> str:
    return f"{_name(op)} {', '.join(map(text.typed, op.operands))}"


def _shuffle(text: FunctionText, op: Operation) -> str:
    lanes = integers_of(op, "mask")
    if not any(lanes):
        mask = "zeroinitializer"
    else:
        mask = "<" + ", ".join(f"i32 {lane}" if lane >= 0 else "i32 poison" for lane in lanes) + ">"
    return f"shufflevector {', '.join(map(text.typed, op.operands))}, <{len(lanes)} x i32> {mask}"


def _call(text: FunctionText, op: Operation) -> str:
    callee = op.properties.get("callee")
    if not isinstance(callee, SymbolRefAttr):
        fail(op, "indirect calls are not supported")
    result = text.type(op.results[0].type) if op.results else "void"
    arguments = ", ".join(map(text.typed, op.operands))
    return f"call {_flags(op)}{result} {symbol(callee.string_value())}({arguments})"


def _call_intrinsic(text: FunctionText, op: Operation) -> str:
    name = cast(StringAttr, op.properties["intrin"]).data
    types = [text.type(operand.type) for operand in op.operands]
    result = text.type(op.results[0].type) if op.results else "void"
    declarations = text.module.declarations
    if name not in declarations:
        declarations[name] = f"declare {result} {symbol(name)}({', '.join(types)})"
    extras = [parameter_attributes(op, each) for each in argument_attributes(op, len(types))]
    arguments = ", ".join(
        f"{each}{extra} {text.names[operand]}" for each, extra, operand in zip(types, extras, op.operands, strict=True)
    )
    return f"call {_flags(op)}{result} {symbol(name)}({arguments})"


def _assembly(text: FunctionText, op: Operation) -> str:
    strings = (f'"{cast(StringAttr, op.properties[name]).data}"' for name in ("asm_string", "constraints"))
    return f"call {text.type(op.results[0].type)} asm {', '.join(strings)}({', '.join(map(text.typed, op.operands))})"


def _loop_advice(text: FunctionText, op: Operation) -> str:
    """The metadata of a loop's back edge."""
    annotation = op.attributes.get("loop_annotation")
    if not isinstance(annotation, DictionaryAttr):
        return ""
    nodes = ["self"]
    for name, value in annotation.data.items():
        if name not in _LOOP_ADVICE or not isinstance(value, IntegerAttr):
            fail(op, f"loop_annotation has no entry '{name} = {value}'")
        no, count = _LOOP_ADVICE[name]
        advice = no if value.value.data == 1 else f"{count}, i32 {value.value.data}"
        nodes.append(text.module.add_metadata(f"!{{{advice}}}"))
    joined = ", ".join(nodes)
    return f", !llvm.loop {text.module.add_metadata(f'distinct !{{{joined}}}')}"


def _jump(text: FunctionText, op: Operation) -> str:
    return f"br {text.label(op.successors[0])}{_loop_advice(text, op)}"


def _branch(text: FunctionText, op: Operation) -> str:
    then, otherwise = op.successors
    condition = text.typed(op.operands[0])
    return f"br {condition}, {text.label(then)}, {text.label(otherwise)}{_loop_advice(text, op)}"


def _return(text: FunctionText, op: Operation) -> str:
    return f"ret {text.typed(op.operands[0])}" if op.operands else "ret void"


INLINE: dict[str, Callable[[Operation], str]] = {
    "llvm.mlir.constant": lambda op: constant_text(op.properties["value"], op.results[0].type),
    "llvm.mlir.poison": lambda _: "poison",
    "llvm.mlir.undef": lambda _: "undef",
    "llvm.mlir.zero": lambda _: "zeroinitializer",
    "llvm.mlir.addressof": lambda op: symbol(cast(SymbolRefAttr, op.properties["global_name"]).string_value()),
}
PRINTERS: dict[str, Callable[[FunctionText, Operation], str]] = {
    **{f"llvm.{name}": _binary for name in _BINARY},
    **{f"llvm.{name}": _cast for name in _CASTS},
    "llvm.fneg": _negate,
    "llvm.icmp": _compare_integers,
    "llvm.fcmp": _compare_floats,
    "llvm.select": _select,
    "llvm.load": _load,
    "llvm.store": _store,
    "llvm.getelementptr": _element_pointer,
    "llvm.alloca": _stack_buffer,
    "llvm.extractelement": _element,
    "llvm.insertelement": _element,
    "llvm.shufflevector": _shuffle,
    "llvm.call": _call,
    "llvm.call_intrinsic": _call_intrinsic,
    "llvm.inline_asm": _assembly,
    "llvm.br": _jump,
    "llvm.cond_br": _branch,
    "llvm.return": _return,
    "llvm.unreachable": lambda _text, _op: "unreachable",
}
