"""Makes faults by seed and asks both emulations."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest

from isolated import Died, isolated
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from faults.kinds import KINDS
from faults.subjects import SUBJECTS, Subject, subject
from mini_infer.dialects.errors import MiniInferError
from mini_infer.runtime.devices.emulated.batch import op_text

SECONDS = 60  # for one fault in one emulation


@dataclass(frozen=True)
class Fault:
    """One change of a subject's code: of the kind's op of that number."""

    subject: str
    kind: str
    number: int


@dataclass(frozen=True)
class Verdict:
    """What each emulation said: "" where it took the code for right."""

    fault: Fault
    op: str
    interpreted: str = ""
    compiled: str = ""

    @property
    def caught(self) -> bool:
        """Whether one of them found it."""
        return bool(self.interpreted or self.compiled)


def all_faults() -> dict[str, list[Fault]]:
    """Every fault that can be made, by kind."""
    found: dict[str, list[Fault]] = {kind: [] for kind in KINDS}
    for name in SUBJECTS:
        for kind, maker in KINDS.items():
            found[kind] += [Fault(name, kind, n) for n, _ in enumerate(maker.sites(subject(name).module))]
    return found


def chosen(count: int, seed: int) -> list[Fault]:
    """So many faults, of all kinds by turns, as long as there are any."""
    shuffled: list[list[Fault]] = []
    for kind, faults in all_faults().items():
        random.Random(f"{seed} {kind}").shuffle(faults)
        shuffled.append(faults)
    turns = (fault for turn in zip_longest(*shuffled) for fault in turn if fault is not None)
    return [fault for fault, _ in zip(turns, range(count), strict=False)]


def mutated(fault: Fault) -> tuple[ModuleOp, str] | None:
    """The module with the fault, and the op that it was made at; None where that makes no module."""
    module, kind = subject(fault.subject).module.clone(), KINDS[fault.kind]
    op = list(kind.sites(module))[fault.number]
    text = op_text(op).splitlines()[0]
    kind.make(op)
    try:
        module.verify()
    except VerifyException:
        return None
    return module, text


def judged(fault: Fault, *, compiled: bool = True) -> Verdict | None:
    """Both emulations' verdict on a fault, each in a process of its own."""
    made = mutated(fault)
    if made is None:
        return None
    module, text = made
    of = subject(fault.subject)
    verdict = Verdict(fault, text, interpreted=_asked(of.interpreted, module))
    return replace(verdict, compiled=_asked(of.compiled, module)) if compiled else verdict


def _asked(run: Callable[[ModuleOp], bool], module: ModuleOp) -> str:
    """What was found wrong."""

    def answer() -> str:
        try:
            return "" if run(module) else "a wrong result"
        except MiniInferError as error:
            return str(error)

    try:
        return isolated(answer, SECONDS)
    except Died as death:
        return str(death)


def verdicts(faults: list[Fault], *, compiled: bool = True) -> Iterator[Verdict]:
    """The verdicts on those faults that make modules."""
    for fault in faults:
        verdict = judged(fault, compiled=compiled)
        if verdict is not None:
            yield verdict


def sound(of: Subject) -> bool:
    """Whether both emulations take the code without a fault for right."""
    return of.interpreted(of.module) and of.compiled(of.module)
