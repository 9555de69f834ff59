"""A transposed convolution along one axis as ordinary convolutions, one per phase of the stride.

Element o of the result, counted before the pads are cut off, sums over the taps t for which o - t * dilation is a
multiple of the stride: x[(o - t * dilation) / stride] * w[t]. Elements whose distance is the stride use the same taps
on adjacent elements of x: together they are a phase, the result of one convolution, written with that stride.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Phase:
    """The result elements stride * q + r for one r, or for several r that have equally many taps.

    `taps` are taps of the transposed convolution in the order in which they are applied to x; where the phase stands
    for all r, those of r = 0, and r uses the taps t + r. `pads` are elements before and after x, negative where x is
    cropped.
    """

    taps: tuple[int, ...]
    dilation: int
    pads: tuple[int, int]


@dataclass(frozen=True)
class PhasedAxis:
    """One axis: its phases, each `longer` elements longer than x, and the position of the result among them.

    Result element o is element (`start` + o) // stride of phase (`start` + o) % stride. `phases` has a single phase for
    all r where they are computed as additional filters of one convolution.
    """

    stride: int
    phases: tuple[Phase, ...]
    longer: int
    start: int

    @property
    def side_by_side(self) -> bool:
        """Whether one convolution computes all phases, as additional filters."""
        return len(self.phases) < self.stride


def phases_apart(
    kernel: int, stride: int, dilation: int, pads: tuple[int, int], output_padding: int
) -> PhasedAxis | None:
    """One convolution per phase; None where a phase has no taps, or taps at unequal distances."""
    tail = (kernel - 1) * dilation + 1 + output_padding - sum(pads)  # the result's size is (size - 1) * stride + tail
    longer = -(-tail // stride) - 1
    phases: list[Phase] = []
    for number in range(stride):
        first = number + pads[0]
        met = sorted(
            ((first - t * dilation) // stride, t) for t in range(kernel) if (first - t * dilation) % stride == 0
        )
        steps = {after - before for (before, _), (after, _) in pairwise(met)} or {1}
        if not met or len(steps) > 1:
            return None
        (step,) = steps
        low = -met[0][0]
        high = longer + met[-1][0]
        phases.append(Phase(tuple(t for _, t in met), step, (low, high)))
    return PhasedAxis(stride, tuple(phases), longer, 0)


def phases_side_by_side(
    kernel: int, stride: int, dilation: int, pads: tuple[int, int], output_padding: int
) -> PhasedAxis | None:
    """One convolution for all phases; None where their taps differ in number or read different elements of x."""
    if dilation != 1 or kernel % stride:
        return None
    count = kernel // stride
    skipped = pads[0] // stride
    longer = -(-(kernel + output_padding - pads[1]) // stride) - 1 - skipped
    low = count - 1 - skipped
    phase = Phase(tuple(reversed(range(0, kernel, stride))), 1, (low, longer + count - 1 - low))
    return PhasedAxis(stride, (phase,), longer, pads[0] - skipped * stride)
