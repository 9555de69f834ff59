"""The texts of a record: each line with what it is about."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import cast

from ...lowering.gpu_to_cuda.device_program import Launch
from ...runtime.native.code_listing import CodeListing
from .pass_recorder import LineFacts, RecordedText
from .record_data import Marks, Node, Step, Tensor, Text, numbers_of
from .value_tensors import LineUse

_DIRECTIVE = re.compile(r'#line \d+ (".*")$')
_KERNEL = re.compile(r'extern "C" __global__ .*?(\w+)\([^()]*\) \{$')


class TextWriter:
    """Texts with marks."""

    def __init__(
        self,
        nodes: Sequence[Node],
        tensors: Sequence[Tensor],
        steps: Sequence[Step],
        kernels: Sequence[str],
        launches: Sequence[Launch],
    ) -> None:
        self.marks = Marks()
        self._nodes, self._tensors, self._steps = nodes, tensors, steps
        self._node = numbers_of([each.name for each in nodes])
        self._tensor = numbers_of([each.name for each in tensors])
        self._calls: dict[str, list[int]] = {}
        for number, kernel in enumerate(kernels):
            if kernel:
                self._calls.setdefault(kernel, []).append(number)
        self._launched: dict[str, list[int]] = {}
        called = [number for number, kernel in enumerate(kernels) if kernel]
        for each in launches:
            self._launched.setdefault(each.kernel, []).append(called[each.call])

    def mark(self, facts: LineFacts | None, *, final: bool) -> int:
        """The mark of a line, of a text whose calls are the `final` ones or are numbered otherwise."""
        if facts is None:
            return -1
        nodes = [self._node[name] for name in facts.nodes if name in self._node]
        tensors = [self._tensor[name] for name in (*facts.tensors, *facts.nodes) if name in self._tensor]
        steps: list[int] = [] if facts.of_call is None or not final else [facts.of_call]
        if facts.kernel:
            steps += self._launched.get(facts.kernel, self._calls.get(facts.kernel, ()))
            nodes = self._in_all_calls(nodes, steps)
        if not tensors and not facts.kernel:
            tensors = [output for each in nodes for output in self._nodes[each].outputs]
        return self.marks.number(nodes, steps, tensors)

    def _in_all_calls(self, nodes: Sequence[int], steps: Sequence[int]) -> list[int]:
        """The nodes that a line of a kernel stands for in each of its calls, given those of its first call."""
        found = [*nodes]
        first = next((self._steps[step].nodes for step in steps if set(nodes) & set(self._steps[step].nodes)), None)
        for step in steps if first is not None else ():
            others = self._steps[step].nodes
            if first is not None and len(others) == len(first):
                found += (others[first.index(each)] for each in nodes if each in first)
        return found

    def text(self, level: str, text: RecordedText) -> Text:
        """A level's text."""
        final = level in ("arena", "launches")
        marks = [self.mark(text.facts.get(line), final=final) for line in range(1, len(text.lines) + 1)]
        return Text(level, text.lines, marks)

    def machine_texts(
        self,
        loops: Sequence[str],
        facts: Mapping[int, LineUse],
        called: Sequence[int],
        listing: CodeListing,
    ) -> list[Text]:
        """The loops, LLVM IR and assembly; a line of the latter two has the mark of the line that it comes from.

        A line that comes from none, such as those of a function's entry, has that of its function.
        """
        nothing: LineUse = frozenset(), frozenset()
        marks = [self._mark_of_loops(*facts.get(line, nothing), called) for line in range(1, len(loops) + 1)]
        texts = [Text("loops", list(loops), marks)]
        above = marks
        for level, lines, sources in (
            ("llvm", listing.llvm_ir, listing.llvm_ir_sources),
            ("assembly", listing.assembly, listing.assembly_sources),
        ):
            above = [above[source - 1] if source else -1 for source in sources]
            texts.append(Text(level, lines, above, list(sources)))
        return texts

    def cuda(self, lines: Sequence[str]) -> Text:
        """CUDA C++: a line belongs to the launches of its function, and to the node that the last directive names."""
        steps: list[int] = []
        node: list[int] = []
        marks: list[int] = []
        shown: list[str] = []
        for line in lines:
            if (directive := _DIRECTIVE.match(line)) is not None:
                name = cast("str", json.loads(directive[1]))
                node = [self._node[name]] if name in self._node else []
                continue
            if (head := _KERNEL.match(line)) is not None:
                steps = self._launched.get(head[1], [])
            shown.append(line)
            marks.append(self.marks.number(self._in_all_calls(node, steps), steps))
            if line == "}":
                steps, node = [], []
        return Text("cuda", shown, marks)

    def _mark_of_loops(self, calls: frozenset[int], accessed: frozenset[tuple[int, str]], called: Sequence[int]) -> int:
        steps = [called[call] for call in calls if call < len(called)]
        tensors = {
            tensor
            for call, name in accessed
            for tensor in self._of_call(self._tensor.get(name), called[call] if call >= 0 else None)
        }
        return self.marks.number((), steps, tensors)

    def _of_call(self, tensor: int | None, step: int | None) -> set[int]:
        """The tensors of a step that lie in a buffer which the code knows by the name of one tensor in it."""
        if tensor is None or step is None:
            return set() if tensor is None else {tensor}
        own = {*self._steps[step].reads, *self._steps[step].writes, *self._steps[step].scratch}
        return own & {tensor, *self._tensors[tensor].shared} or {tensor}
