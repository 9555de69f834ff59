"""Translation of llvm-dialect modules to LLVM IR text.

Block arguments become phi nodes, constants become operands. Supports the operations that lower-to-llvm produces and
their close relatives; any other raises CompileError.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..op_facts import fail, integers_of
from .debug_lines import Line, debug_file, with_debug_lines
from .instruction_text import (
    INLINE,
    PRINTERS,
    FunctionText,
    ModuleText,
    argument_attributes,
    parameter_attributes,
    property_of,
)
from .llvm_text import constant_text, symbol


def emit_llvm_ir(
    module: ModuleOp, shared: AbstractSet[str] = frozenset(), sources: list[Operation | None] | None = None
) -> str:
    """The LLVM IR text of an llvm-dialect module. Raises CompileError for an unsupported operation.

    Functions named in `shared` are visible to other parts of the same code. With `sources`, which receives the op of
    each line, or None, instructions have debug locations: their line in this text, which assembly then refers to.
    """
    text = ModuleText()
    lines: list[str] = []
    found: list[Operation | None] = []
    file = "" if sources is None else debug_file(text)
    for op in module.ops:
        if isinstance(op, llvm.FuncOp):
            made = _function(op, text, shared)
            if sources is not None and op.body.blocks:
                made = with_debug_lines(made, op.sym_name.data, len(lines), text, file)
        elif isinstance(op, llvm.GlobalOp):
            made = [(_global(op, text), None)]
        else:
            fail(op, "this operation is not supported in LLVM IR")
        lines += (line for line, _ in made)
        found += (source for _, source in made)
    lines += text.declarations.values()
    if sources is not None:
        sources += [*found, *[None] * (len(lines) - len(found))]
    named = (f"{name} = !{{{', '.join(nodes)}}}" for name, nodes in text.named_metadata.items())
    metadata = (f"!{number} = {node}" for number, node in enumerate(text.metadata))
    return "\n".join([*lines, *named, *metadata, ""])


def _global(op: llvm.GlobalOp, text: ModuleText) -> str:
    if op.value is None or op.constant is None:
        fail(op, "only initialised constants are supported here")
    linkage = op.linkage.linkage.data
    alignment = f", align {op.alignment.value.data}" if op.alignment else ""
    return (
        f"{symbol(op.sym_name.data)} = {'' if linkage == 'external' else linkage} unnamed_addr constant "
        f"{text.type(op.global_type)} {constant_text(op.value, op.global_type)}{alignment}"
    )


def _function(op: llvm.FuncOp, text: ModuleText, shared: AbstractSet[str]) -> list[Line]:
    inputs = op.function_type.inputs.data
    parameters = [
        f"{text.type(each)}{parameter_attributes(op, extra)}"
        for each, extra in zip(inputs, argument_attributes(op, len(inputs)), strict=True)
    ]
    name, linkage = op.sym_name.data, op.linkage.linkage.data
    head = f"{text.type(op.function_type.output)} {symbol(name)}"
    attributes = _function_attributes(op)
    if not op.body.blocks:
        text.declarations[name] = f"declare {head}({', '.join(parameters)}){attributes}"
        return []
    body = _BodyText(text, op)
    arguments = op.body.blocks[0].args
    named = [f"{parameter} {body.names[argument]}" for parameter, argument in zip(parameters, arguments, strict=True)]
    visible = "" if linkage == "external" else "hidden " if name in shared else f"{linkage} "
    first = f"define {visible}{head}({', '.join(named)}){attributes} {{"
    return [(first, None), *body.lines(op.body.blocks), ("}", None)]


def _function_attributes(op: Operation) -> str:
    given = property_of(op, "passthrough")
    texts = [""]
    for each in cast("ArrayAttr[Attribute]", given).data if given else ():
        if isinstance(each, StringAttr):
            texts.append(each.data)
        else:
            key, value = (cast(StringAttr, part).data for part in cast("ArrayAttr[Attribute]", each).data)
            texts.append(f'"{key}"="{value}"')
    return " ".join(texts)


class _BodyText(FunctionText):
    """Names all values of a function first, since branches and phi nodes refer forward, then emits it."""

    def __init__(self, module: ModuleText, function: llvm.FuncOp) -> None:
        super().__init__(module)
        self._incoming: dict[Block, dict[Block, Sequence[SSAValue]]] = {}
        names = self.names
        for number, block in enumerate(function.body.blocks):
            self.labels[block] = f"b{number}"
            for argument in block.args:
                names[argument] = f"%v{len(names)}"
            for op in block.ops:
                if op.results:
                    constant = INLINE.get(op.name)
                    names[op.results[0]] = constant(op) if constant else f"%v{len(names)}"
            assert block.last_op is not None, "every block ends with a terminator"
            self._note_jumps(block, block.last_op)

    def _note_jumps(self, block: Block, last: Operation) -> None:
        for successor, values in _jumps(last):
            incoming = self._incoming.setdefault(successor, {})
            if block in incoming and list(incoming[block]) != list(values):
                fail(last, "both branches lead to one block with different arguments")
            incoming[block] = values

    def lines(self, blocks: Iterable[Block]) -> list[Line]:
        """The text of all blocks, with the ops that instructions were made from."""
        lines: list[Line] = []
        names = self.names
        for number, block in enumerate(blocks):
            lines.append((f"{self.labels[block]}:", None))
            if number:
                lines += ((line, None) for line in self._phi_nodes(block))
            for op in block.ops:
                if op.name in INLINE:
                    continue
                printer = PRINTERS.get(op.name)
                if printer is None:
                    fail(op, "this operation is not supported in LLVM IR")
                text = printer(self, op)
                lines.append((f"  {names[op.results[0]]} = {text}" if op.results else f"  {text}", op))
        return lines

    def _phi_nodes(self, block: Block) -> list[str]:
        lines: list[str] = []
        incoming = self._incoming.get(block, {})
        for argument in block.args:
            ways = ", ".join(
                f"[ {self.names[values[argument.index]]}, %{self.labels[source]} ]"
                for source, values in incoming.items()
            )
            lines.append(f"  {self.names[argument]} = phi {self.type(argument.type)} {ways}")
        return lines


def _jumps(last: Operation) -> list[tuple[Block, Sequence[SSAValue]]]:
    """The successors of a terminator, with the values passed to their arguments."""
    operands, successors = last.operands, last.successors
    if len(successors) < 2:
        return [(block, operands) for block in successors]
    _, then, _ = integers_of(last, "operandSegmentSizes")
    return [(successors[0], operands[1 : 1 + then]), (successors[1], operands[1 + then :])]
