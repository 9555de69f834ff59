"""What a profiled run tells of its kernel calls: their times, all together and one by one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KernelTime:
    """Nanoseconds of one call in the last run: the total of its `runs` if it is in a loop.

    On "cuda-emulated" there is no time: it counts bytes of global memory that all threads together load and store.
    """

    kernel: str
    node: str
    nanoseconds: int
    runs: int = 1
    loaded_bytes: int | None = None
    stored_bytes: int | None = None

    @property
    def mean_nanoseconds(self) -> float:
        """Of one turn of the loop; 0 for a call in a branch that was not taken."""
        return self.nanoseconds / self.runs if self.runs else 0.0


@dataclass(frozen=True)
class KernelTurn:
    """One call of a kernel in the last run: of a loop, one of its turns. `call` is its number in `plan.calls`."""

    call: int
    kernel: str
    node: str
    begin: int
    """Nanoseconds since the first kernel of the run began."""
    nanoseconds: int
