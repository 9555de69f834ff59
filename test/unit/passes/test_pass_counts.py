"""Statistics of passes: totals, and what a table of them says."""

from __future__ import annotations

from mini_infer.passes.pass_counts import SHOWN_IN_IR, PassStatistics


def test_modifications_are_what_passes_report() -> None:
    """Differences that show in the IR are the same changes, seen from outside."""
    found = PassStatistics()
    found.add("fold-relu", "relu-of-relu", 2)
    found.add("cse", "equal", 3)
    found.add("fold-relu", "relu-of-relu")
    for what in SHOWN_IN_IR:
        found.add("cse", what, 100)
    assert found.modifications == 6 and repr(found) == "PassStatistics(6 changes, 0 steps in 0.00 s)"


def test_a_table_ends_with_the_total_and_what_was_ignored() -> None:
    found = PassStatistics(amounts={("plan-arena", "bytes saved"): 4096}, isolated=["lost", "alone"])
    found.add("cse", "equal", 3)
    assert found.format().splitlines() == [
        "     3  cse         equal",
        "  4096  plan-arena  bytes saved",
        "     3  modifications in all",
        "nodes connected to nothing, ignored: lost, alone",
    ]
    assert PassStatistics().format() == "no pass was run\n"
