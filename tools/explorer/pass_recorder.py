"""PassRecorder: the observer of a compile that keeps the text of each level, and what each pass changed.

A module is printed only where a pass has changed it, which is told by its operations, their operands, types and
attributes being the same objects as before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, NameLoc, StringAttr, UnknownLoc
from xdsl.ir import Operation

from ...dialects.gpu import kernels as gpu
from ...dialects.graph.base import node_name
from ...dialects.graph.blobs import MiniContext
from ...dialects.graph.model_nodes import MODEL, computed_nodes, tensor_names, value_node
from ...dialects.graph.ops.structure import KernelOp
from ...dialects.kernel.calls import CallOp
from ...lowering.gpu_to_cuda.launch_list import CALL
from ...lowering.levels import level_of
from ...lowering.module_text import ComparableTexts
from ...lowering.pipelines import PassRun, Phase, parse_passes
from ...passes.kernels.choose_schedule import Choice, ChooseSchedule, choices_of
from ...passes.memory.analysis.buffers import SCRATCH, int_attribute, label

LOOPS, LAUNCHES = "loops", "launches"
MOST_LINES = 20_000
"""Lines of a module beyond which a pass's changes are only counted."""


@dataclass(frozen=True)
class LineFacts:
    """What a line's op says: the ONNX nodes that it computes, tensors that it makes, and kernels that it belongs to."""

    nodes: tuple[str, ...] = ()
    tensors: tuple[str, ...] = ()
    kernel: str = ""
    """The kernel in whose body it is."""
    of_call: int | None = None
    """The step that it is, or whose call it is."""


@dataclass
class RecordedText:
    """A module's text; by line numbers, from 1, the op that begins there, and what it said then."""

    lines: list[str]
    ops: dict[int, Operation]
    facts: dict[int, LineFacts]


@dataclass
class RecordedPass:
    """A pass with its changes: the sign, the text, the facts of the line."""

    name: str
    level: str
    seconds: float
    before: int
    after: int
    changes: list[tuple[str, str, LineFacts | None]] = field(default_factory=list[tuple[str, str, "LineFacts | None"]])


class PassRecorder:
    """Called before the first pass by `prepare`, and after each by `after`.

    `at_arena` is called once, with the module whose addresses are final, and `at_code` with the module at the level of
    loops or launches, while it is whole.
    """

    def __init__(
        self,
        phases: Sequence[Phase],
        at_arena: Callable[[ModuleOp], object],
        at_code: Callable[[ModuleOp], object],
    ) -> None:
        last = {phase.level: parse_passes(phase.passes)[-1].name for phase in phases if phase.passes}
        self._last_of_arena = last.get("arena", "")
        self._last_of_code = last.get(LOOPS, last.get(LAUNCHES, ""))
        self._at_arena, self._at_code = at_arena, at_code
        self._texts = ComparableTexts(Context(), elide=True)
        self._state: list[object] = []
        self._now = RecordedText([], {}, {})
        self._ops = 0
        self._ctx: MiniContext | None = None
        self.texts: dict[str, RecordedText] = {}
        """The last text of each level, and the imported module's, as level "import"."""
        self.passes: list[RecordedPass] = []
        self.choices: list[Choice] = []

    def prepare(self, module: ModuleOp, ctx: MiniContext) -> None:
        """Notes the module that the passes begin with."""
        self._ctx = ctx
        self._state, self._ops = _state_of(module)
        self._now = self.texts["import"] = self._text(module)
        if level_of(module) == "arena":
            self.texts["arena"], self._last_of_arena = self.texts.pop("import"), ""
            self._at_arena(module)

    def after(self, done: PassRun, module: ModuleOp) -> None:
        """Notes what a pass has changed. Locations at the loops level become those of lines."""
        if done.name == ChooseSchedule.name and self._ctx is not None:
            self.choices = choices_of(self._ctx)
        level = level_of(module)
        made = RecordedPass(done.name, level, done.seconds, self._ops, self._ops)
        self.passes.append(made)
        if level == "llvm":  # the module is in parts by now; its text is the listing's
            return
        if level in (LOOPS, LAUNCHES):  # changes are the whole text, which is many times as long
            self._ops = made.after = sum(1 for _ in module.walk())
            if done.name == self._last_of_code:
                self._now = self.texts[level] = self._text(module, told=level != LOOPS)
                if level == LOOPS:
                    _number(self._now.ops)
                self._at_code(module)
            return
        state, made.after = _state_of(module)
        if len(state) != len(self._state) or any(a is not b for a, b in zip(state, self._state, strict=True)):
            before, self._now = self._now, self._text(module)
            if len(self._now.lines) <= MOST_LINES:
                made.changes = _changes(before, self._now)
        self._state, self._ops = state, made.after
        if level != "arena" or self._last_of_arena:
            self.texts[level] = self._now
        if level == "arena" and done.name == self._last_of_arena:
            self._last_of_arena = ""  # what follows prepares the next level
            self._at_arena(module)

    def _text(self, module: ModuleOp, *, told: bool = True) -> RecordedText:
        """The text; what its lines say is left out unless it is to be `told`."""
        model = module.attributes.pop(MODEL, None)
        text, places = self._texts.numbered_text(module)
        if model is not None:
            module.attributes[MODEL] = model
        ops = {line: op for op, line in places.items()}
        facts: dict[int, LineFacts] = {}
        kernel, steps = "", 0
        for line, op in ops.items() if told else ():
            if isinstance(op, KernelOp | gpu.FuncOp):
                kernel = op.sym_name.data
            elif op.parent_op() is module:
                kernel = ""
            step = None
            if isinstance(op, gpu.LaunchFuncOp):
                step = int_attribute(op, CALL)
            elif isinstance(op, CallOp | memref.LoadOp) and not kernel:
                step, steps = steps, steps + 1
            facts[line] = facts_of(op, kernel, step)
        return RecordedText(text.rstrip("\n").split("\n"), ops, facts)


def facts_of(op: Operation, kernel: str = "", step: int | None = None) -> LineFacts:
    """What an op says."""
    named = node_name(op), value_node(op), *computed_nodes(op)
    tensors = tensor_names(op) or ()
    if SCRATCH in op.attributes:  # as plans call it
        tensors = (f"{label(op)} scratch",)
    return LineFacts(tuple(dict.fromkeys(filter(None, named))), tuple(filter(None, tensors)), kernel, step)


def _state_of(module: ModuleOp) -> tuple[list[object], int]:
    """Objects that are all the same as long as a module is; the number of operations.

    They are kept, so that no new object can be taken for one of them.
    """
    found: list[object] = [*module.attributes.values()]
    count = 0
    for op in module.walk():
        count += 1
        found.append(op)
        found += op.operands
        found += (result.type for result in op.results)
        found += op.properties.values()
        found += op.attributes.values()
    return found, count


def _number(ops: Mapping[int, Operation]) -> None:
    """Gives ops the location of their line; those with a name keep it."""
    file, column = StringAttr(LOOPS), IntAttr(0)
    for line, op in ops.items():
        at = FileLineColLoc(file, IntAttr(line), column)
        match op.location:
            case UnknownLoc():
                op.location = at
            case NameLoc(desc=desc):
                op.location = NameLoc(desc, at)
            case _:
                pass


def line_of(op: Operation) -> int:
    """The line at the loops level in an op's location; 0 without one."""
    at = op.location
    if isinstance(at, NameLoc):
        at = at.location
    return at.line.data if isinstance(at, FileLineColLoc) else 0


def _changes(before: RecordedText, after: RecordedText) -> list[tuple[str, str, LineFacts | None]]:
    """The lines that went, with "-", and those that came, with "+"; "@" separates places."""
    found: list[tuple[str, str, LineFacts | None]] = []
    matcher = SequenceMatcher(None, before.lines, after.lines, autojunk=False)
    for kind, low, high, start, end in matcher.get_opcodes():
        if kind == "equal":
            continue
        found.append(("@", f"line {start + 1}", None))
        found += (("-", before.lines[index], before.facts.get(index + 1)) for index in range(low, high))
        found += (("+", after.lines[index], after.facts.get(index + 1)) for index in range(start, end))
    return found
