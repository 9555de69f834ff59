"""Answers for terminals, of one screen each, from the record of a compile: memory, time, a tensor, a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap
from typing import TypeAlias

from ...dialects.arguments import check_kind, nearest, shown
from ...dialects.errors import ConfigError
from ..reports.plan_tables import aligned, size_text
from .record_data import Mark, RecordData, Step, Tensor

WIDTH = 118
SHOWN = 8
"""Rows of a table."""
MACHINE = ("loops", "llvm", "assembly", "cuda")


def explain(record: RecordData, question: str, name: str | None = None) -> str:
    """The answer to a question: "memory", "time", "tensor" or "node", the latter two with a name.

    Raises ConfigError for another question, and for a name that is not known.
    """
    check_question(question, name)
    lines = WHOLE[question](record) if name is None else ABOUT[question](record, name)
    return "".join(f"{wrapped}\n" for line in lines for wrapped in _wrapped(line))


def _wrapped(line: str) -> list[str]:
    """A line as lines that fit the screen."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return wrap(line, WIDTH, subsequent_indent=indent) if len(line) > WIDTH else [line]


def _short(text: str, most: int) -> str:
    """A text on one line, of which the beginning is left out if it is long."""
    plain = "".join(letter if letter.isprintable() else "?" for letter in text)
    return plain if len(plain) <= most else f"…{plain[1 - most :]}"


def check_question(question: str, name: str | None) -> None:
    """Raises ConfigError for an unknown question, a name that it lacks, or one that it doesn't take."""
    known = (*WHOLE, *ABOUT)
    check_kind("question", question, str)
    if name is not None:
        check_kind("name", name, str)
    if question not in known:
        raise ConfigError(f"explain '{question}'{nearest(question, known)}: there are {', '.join(known)}")
    if question in WHOLE and name is not None:
        raise ConfigError(f"explain {question} takes no name, and '{name}' is given")
    if question in ABOUT and name is None:
        raise ConfigError(f"explain {question}: the name of a {question} is missing")


# memory


def _memory(record: RecordData) -> Iterator[str]:
    memory, live = record.memory, [step.live for step in record.steps]
    proof = "proven minimal for this order" if memory.arena == memory.lower_bound else (
        f"{memory.arena / max(1, memory.lower_bound):.3f} times its lower bound {size_text(memory.lower_bound)}"
    )  # fmt: skip
    yield f"{record.title}: arena {size_text(memory.arena)}, {proof}; {size_text(memory.without_reuse)} without reuse"
    yield (
        f"outside of it: weights {size_text(memory.weights)}, inputs {size_text(memory.inputs)}, "
        f"outputs {size_text(memory.outputs)}"
    )
    if memory.order_bound is not None:
        yield f"no order of the kernels needs less than {size_text(memory.order_bound)}"
    if not memory.arena:
        yield "nothing lies in the arena"
        return
    binding = memory.binding_step
    yield ""
    yield f"What binds: {_step(record, binding)} with {size_text(live[binding])} alive"
    alive = sorted(_alive(record, binding), key=lambda each: -_padded(record, each[1]))
    rows = [("  bytes", "share", "tensor", "why it is alive then")]
    for number, each in alive[:SHOWN]:
        nbytes = _padded(record, each)
        share = f"{nbytes / max(1, live[binding]):.0%}"
        rows.append((size_text(nbytes), share, _short(each.name, 34), _why(record, number, binding)))
    yield from (f"  {line}" for line in aligned(rows, "<><<"))
    if len(alive) > SHOWN:
        yield f"  and {len(alive) - SHOWN} smaller ones"
    yield ""
    yield "What would help:"
    yield from (f"  {line}" for line in _helps(record, alive, live))


def _alive(record: RecordData, step: int) -> Iterator[tuple[int, Tensor]]:
    """The tensors with bytes of their own that are alive at a step."""
    taken: set[tuple[int | None, int | None]] = set()
    for number, each in enumerate(record.tensors):
        place = each.offset, each.end
        if each.offset is not None and each.birth <= step < each.death and place not in taken:
            taken.add(place)
            yield number, each


def _padded(record: RecordData, tensor: Tensor) -> int:
    """The bytes that a tensor takes in the arena."""
    return -(-tensor.bytes // record.memory.alignment) * record.memory.alignment


def _why(record: RecordData, number: int, step: int) -> str:
    tensor = record.tensors[number]
    if tensor.role == "scratch":
        return f"scratch of {record.steps[step].kernel}" if tensor.birth == step else "scratch"
    made = "made by this call" if tensor.birth == step else f"made at step {tensor.birth}"
    later = [at for at in tensor.read_at if at > step]
    if later:
        return f"{made}, read last by {_step(record, later[-1])}"
    return f"{made}, read by this call" if step in tensor.read_at else made


def _helps(record: RecordData, alive: Sequence[tuple[int, Tensor]], live: Sequence[int]) -> Iterator[str]:
    """What a smaller arena would need, from the bytes alive at each step."""
    peak = max(live)
    gains: list[tuple[int, str]] = []
    for _, tensor in alive:
        own, life = _padded(record, tensor), range(tensor.birth, tensor.death)
        left = max(most - (own if at in life else 0) for at, most in enumerate(live))
        if left < peak:
            gains.append((peak - left, f"without {_short(tensor.name, 40)} the most alive would be {size_text(left)}"))
    yield from (text for _, text in sorted(gains, reverse=True)[:3])
    if not gains:
        tied = sum(each == peak for each in live)
        yield f"no tensor alone: {tied} steps have as much alive" if tied > 1 else "no tensor alone"
    binding = record.steps[record.memory.binding_step]
    if binding.schedule == "winograd":
        yield "--winograd compact or off: this call's scratch is its transformed pictures"
    if record.options.get("memory") is None and "cuda" not in record.target and "gpu" not in record.target:
        yield "mini-infer plan MODEL --frontier: smaller plans, and the time that each costs; --memory SIZE takes one"


# time


def _time(record: RecordData) -> Iterator[str]:
    calls = [(number, step) for number, step in enumerate(record.steps) if step.schedule]
    measured = record.run_us is not None
    if record.run_us is not None and record.outside_us is not None:
        limits = [step.limit_us for _, step in calls if step.limit_us is not None]
        floor = f"; the calls' limits add up to {_us(sum(limits))}" if limits else ""
        yield (
            f"{record.title}: {_us(record.run_us)} on {record.threads} thread(s), {_us(record.outside_us)} outside of "
            f"kernels{floor}"
        )
    else:
        yield f"{record.title}: not measured; estimated times{'' if 'gpu' in record.target else ' of one core'}"
    calls.sort(key=lambda each: -_lost(each[1]))
    yield ""
    yield "Calls by what is lost against their limits:" if measured else "Calls by estimated time:"
    rows: list[Sequence[str]] = [("step", "kernel", "schedule", "time", "limit", "by", "lost", "node")]
    for number, step in calls[:SHOWN]:
        node = record.nodes[step.nodes[0]].name if step.nodes else ""
        limit = ("", "", "") if step.limit_us is None else (_us(step.limit_us), step.limited_by, _us(_lost(step)))
        rows.append((str(number), _short(step.kernel, 26), step.schedule, _us(_taken(step)), *limit, _short(node, 28)))
    yield from (f"  {line}" for line in aligned(rows, "><<>><><"))
    yield ""
    yield "Schedules that were considered for them and not taken (estimated):"
    told: set[str] = set()
    for _, step in calls[: 2 * SHOWN]:
        if step.kernel not in told and len(told) < SHOWN:
            told.add(step.kernel)
            yield f"  {step.kernel}: {_candidates(step)}"
    by_schedule: dict[str, float] = {}
    for _, step in calls:
        by_schedule[step.schedule] = by_schedule.get(step.schedule, 0.0) + _taken(step)
    whole = sum(by_schedule.values())
    if whole:
        shares = sorted(by_schedule.items(), key=lambda each: -each[1])[:6]
        yield ""
        yield "By schedule: " + ", ".join(f"{name} {time / whole:.0%}" for name, time in shares)


def _taken(step: Step) -> float:
    return step.us if step.us is not None else step.estimated_us or 0.0


def _lost(step: Step) -> float:
    return _taken(step) if step.limit_us is None else max(0.0, _taken(step) - step.limit_us)


def _us(us: float) -> str:
    return f"{us / 1e3:.2f} ms" if us >= 1e4 else f"{us:.1f} us"


def _candidates(step: Step) -> str:
    best: dict[str, float] = {}
    for name, us in sorted(step.candidates, key=lambda each: each[1]):
        best.setdefault(name, us)
    own = "" if step.estimated_us is None else f"{step.schedule} {_us(step.estimated_us)} taken; "
    others = ", ".join(f"{name} {_us(us)}" for name, us in best.items() if name != step.schedule)
    return own + (others or "no other can carry it out")


# tensors and nodes


def _tensor(record: RecordData, name: str) -> Iterator[str]:
    number = _number(name, [each.name for each in record.tensors], "tensor")
    tensor = record.tensors[number]
    shape = "x".join(map(str, tensor.shape)) if tensor.shape is not None else "of unknown shape"
    role = "without bytes of its own" if tensor.role == "removed" else tensor.role
    yield f"{name}: {tensor.dtype} {shape}, {tensor.bytes:,} bytes, {role}".replace(":  ", ": ")
    if tensor.node is not None:
        node = record.nodes[tensor.node]
        yield f"made by node {node.name} ({node.operator})"
    if tensor.readers:
        yield "read by nodes " + _some([record.nodes[each].name for each in tensor.readers])
    if tensor.role == "removed":
        yield f"became: {tensor.fate or 'nothing'}"
        if tensor.same is not None:
            yield f"the same as {record.tensors[tensor.same].name}"
    elif tensor.offset is not None:
        yield (
            f"in the arena at {tensor.offset:,} to {tensor.end:,}, alive at steps {tensor.birth} to {tensor.death - 1}"
            f"{', written in place' if tensor.inplace else ''}"
        )
        if tensor.read_at:
            yield f"kept alive by {_step(record, tensor.read_at[-1])}, which reads it last"
        together = [
            each
            for other, each in enumerate(record.tensors)
            if other != number and each.offset is not None and other not in tensor.shared
            and each.birth < tensor.death and tensor.birth < each.death
        ]  # fmt: skip
        together.sort(key=lambda each: -each.bytes)
        if together:
            yield "alive at the same time: " + _some([f"{each.name} {size_text(each.bytes)}" for each in together], 4)
        after = [
            each
            for each in record.tensors
            if each.offset is not None and each.end is not None and tensor.end is not None
            and each.birth >= tensor.death and each.offset < tensor.end and tensor.offset < each.end
        ]  # fmt: skip
        if after:
            after.sort(key=lambda each: each.birth)
            yield "its bytes go to " + _some([f"{each.name} (step {each.birth})" for each in after], 4)
        if tensor.shared:
            yield "shares bytes with " + _some([record.tensors[each].name for each in tensor.shared], 6)
    yield from _steps_of("made at" if tensor.role != "removed" else "inside of", record, tensor.steps)
    yield from _steps_of("read at", record, tensor.read_at)
    users = {*tensor.steps, *tensor.read_at}

    def is_about(mark: Mark) -> bool:
        return number in mark.tensors and (not mark.steps or not users.isdisjoint(mark.steps))

    makes = [_of_node(tensor.node), _of_steps(tensor.steps)] if tensor.node is not None else []
    yield from ("", "Through the levels:", *_levels(record, is_about, *makes))


def _node(record: RecordData, name: str) -> Iterator[str]:
    number = _number(name, [each.name for each in record.nodes], "node")
    node = record.nodes[number]
    yield f"{name}: {node.operator}"
    yield "reads " + _some([_named(record, each) for each in node.inputs], 6)
    yield "makes " + _some([_named(record, each) for each in node.outputs], 6)
    if not node.steps:
        yield "no kernel call is left of it: it was folded, or became a view"
    for step in node.steps[:4]:
        call = record.steps[step]
        others = [record.nodes[each].name for each in call.nodes if each != number]
        time = "" if call.us is None else f", {_us(call.us)}"
        limit = "" if call.limit_us is None else f" (limit {_us(call.limit_us)} by {call.limited_by})"
        schedule = f": {call.schedule}" if call.schedule else ""
        yield f"became part of {_step(record, step)}{schedule}{time}{limit}"
        if others:
            yield "  in one kernel with " + _some(others, 6)
    if len(node.steps) > 4:
        yield f"and of {len(node.steps) - 4} calls more"
    changed = [
        each.name
        for each in record.passes
        if any(mark >= 0 and number in record.marks[mark].nodes for _, _, mark in each.changes)
    ]
    if changed:
        yield "changed by " + _some(list(dict.fromkeys(changed)), 10)
    yield from ("", "Through the levels:", *_levels(record, _of_node(number), _of_steps(node.steps)))


About: TypeAlias = "Callable[[Mark], bool]"
"""Whether lines with a mark are about what is asked for."""


def _of_node(node: int) -> About:
    return lambda mark: node in mark.nodes


def _of_steps(steps: Sequence[int]) -> About:
    chosen = frozenset(steps)
    return lambda mark: not chosen.isdisjoint(mark.steps)


def _levels(record: RecordData, *about: About) -> Iterator[str]:
    """For each level how many lines are meant, and the first of them; of code those within kernels.

    Those of the first of `about` by which there are any.
    """
    chosen = [{number for number, mark in enumerate(record.marks) if each(mark)} for each in about]
    for text in record.texts:
        found = ([at for at, mark in enumerate(text.marks) if mark in each] for each in chosen)
        lines = next(filter(None, found), None)
        if lines is None:
            continue
        most = 1 if text.level in MACHINE else 2
        yield f"  {text.level}: {len(lines)} line{'s' if len(lines) > 1 else ''} of {len(text.lines)}"
        first = _largest_group(lines) if text.level in MACHINE else lines
        for at in first[:most]:
            line = f"    {at + 1:>6}  {' '.join(text.lines[at].split())}"
            yield line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"


def _largest_group(lines: Sequence[int]) -> list[int]:
    """The largest group of lines that stand close together."""
    groups: list[list[int]] = []
    for line in lines:
        if groups and line - groups[-1][-1] <= 6:
            groups[-1].append(line)
        else:
            groups.append([line])
    return max(groups, key=len)


def _number(name: str, names: Sequence[str], kind: str) -> int:
    if name not in names:
        raise ConfigError(f"there is no {kind} {shown(name)}{nearest(name, names)}")
    return names.index(name)


def _named(record: RecordData, tensor: int) -> str:
    each = record.tensors[tensor]
    where = each.fate if each.role == "removed" else f"{size_text(each.bytes)} {each.role}"
    return f"{each.name} ({where})" if where else each.name


def _step(record: RecordData, step: int) -> str:
    nodes = record.steps[step].nodes
    node = f", node {_short(record.nodes[nodes[0]].name, 60)}" if nodes else ""
    return f"step {step} {record.steps[step].kernel}{node}"


def _steps_of(what: str, record: RecordData, steps: Sequence[int]) -> Iterator[str]:
    if steps:
        yield f"{what} " + _some([f"step {each} {record.steps[each].kernel}" for each in steps], 6)


def _some(texts: Sequence[str], most: int = 8) -> str:
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


WHOLE: dict[str, Callable[[RecordData], Iterator[str]]] = {"memory": _memory, "time": _time}
"""Questions about a model."""
ABOUT: dict[str, Callable[[RecordData, str], Iterator[str]]] = {"tensor": _tensor, "node": _node}
"""Questions about one of its tensors or nodes."""
