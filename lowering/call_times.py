"""The buffer in which the code of a profiled model notes its kernel calls: i64, with times in nanoseconds.

    [0, 2 calls)        of each call its total, and how often it was made
    [2 calls]           how many calls were made, all together
    behind it           of the first TURNS of these, in their order: the call's number, when it began, what it took

The numbers up to the third line must be 0 before a run. A call in a loop is made in each turn, one in a branch perhaps
never.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Integers: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"

CLOCK = "mini_infer_clock"
NOTE = "mini_infer_note_call"
TURNS = 16384  # 400 KB; a loop of 1,000 turns over 16 kernels


def length(calls: int) -> int:
    """The number of elements."""
    return 2 * calls + 1 + 3 * TURNS


def totals(times: Integers, calls: int) -> Integers:
    """[calls, 2]: nanoseconds and number of each call."""
    return times[: 2 * calls].reshape(calls, 2)


def turns(times: Integers, calls: int) -> Integers:
    """[turns, 3]: which call, its begin, and its nanoseconds, in order."""
    noted = min(int(times[2 * calls]), TURNS)
    return times[2 * calls + 1 : 2 * calls + 1 + 3 * noted].reshape(noted, 3)


def note_ir() -> str:
    """LLVM IR text of the function that notes a call which began at %begin, and is over now."""
    return f"""\
define void @{NOTE}(ptr %times, i64 %call, i64 %calls, i64 %begin) nounwind noinline {{
  %now = call i64 @{CLOCK}()
  %taken = sub i64 %now, %begin
  %first = shl i64 %call, 1
  %total_at = getelementptr i64, ptr %times, i64 %first
  %total = load i64, ptr %total_at
  %new_total = add i64 %total, %taken
  store i64 %new_total, ptr %total_at
  %runs_at = getelementptr i64, ptr %total_at, i64 1
  %runs = load i64, ptr %runs_at
  %new_runs = add i64 %runs, 1
  store i64 %new_runs, ptr %runs_at
  %behind = shl i64 %calls, 1
  %count_at = getelementptr i64, ptr %times, i64 %behind
  %count = load i64, ptr %count_at
  %new_count = add i64 %count, 1
  store i64 %new_count, ptr %count_at
  %fits = icmp ult i64 %count, {TURNS}
  br i1 %fits, label %note, label %done
note:
  %place = mul i64 %count, 3
  %before_turn = getelementptr i64, ptr %count_at, i64 %place
  %call_at = getelementptr i64, ptr %before_turn, i64 1
  store i64 %call, ptr %call_at
  %begin_at = getelementptr i64, ptr %before_turn, i64 2
  store i64 %begin, ptr %begin_at
  %taken_at = getelementptr i64, ptr %before_turn, i64 3
  store i64 %taken, ptr %taken_at
  br label %done
done:
  ret void
}}
"""
