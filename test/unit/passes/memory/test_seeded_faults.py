"""Faults sown into GPU code are found; `make faults` counts them."""

from __future__ import annotations

import pytest
from faults.campaign import Fault, all_faults, chosen, judged, sound, verdicts
from faults.kinds import KINDS
from faults.subjects import SUBJECTS, subject

FOUND = 0.88
"""Of all faults, the part that some emulation finds; the others change nothing that anybody could see."""


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", SUBJECTS)
def test_code_without_faults_is_right(name: str) -> None:
    of = subject(name)
    assert of.interpreted(of.module)


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_text_without_faults_is_right(name: str) -> None:
    assert sound(subject(name))


def test_every_kind_of_fault_can_be_made() -> None:
    """In each subject that has an op of the kind."""
    assert all(all_faults()[kind] for kind in KINDS)


@pytest.mark.thinned(5)
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("a barrier is missing", "product in tiles"),
        ("a wait is for too few copies", "product on tensor units"),
        ("a group of copies is not closed", "attention"),
        ("elements of a left fragment are swapped", "product on tensor units"),
        ("elements of a right fragment are swapped", "product on tensor units"),
        ("a register is not set at first", "attention"),
        ("a store is missing", "rows"),
        ("a buffer lies further on in the arena", "convolution in tiles"),
        ("a value comes from another lane", "long rows"),
    ],
)
def test_the_interpreter_finds(kind: str, name: str) -> None:
    verdict = judged(Fault(name, kind, 0), compiled=False)
    assert verdict is not None and verdict.interpreted


def test_the_choice_is_by_seed() -> None:
    assert chosen(40, 1) == chosen(40, 1) != chosen(40, 2)
    assert {fault.kind for fault in chosen(len(KINDS), 3)} == set(KINDS)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_most_faults_are_found_by_some_emulation() -> None:
    found = list(verdicts(chosen(200, 0)))
    missed = [verdict for verdict in found if not verdict.caught]
    assert len(missed) <= (1 - FOUND) * len(found), missed
