"""The bytes that a kernel.window covers, in all turns of the loops around it, for verify-arena."""

from __future__ import annotations

from math import prod

import numpy as np

from ....dialects.errors import PlanError
from ....dialects.graph.values import numpy_dtype
from ....dialects.kernel.calls import WindowOp
from ...geometry.boxes import row_major
from .byte_map import Region
from .turn_numbers import numbers_of


def window_region(op: WindowOp, source: Region, name: str, *, exact: bool) -> Region:
    """The bytes of a window, whose source has the bytes `source`.

    Where its places are at uneven distances, those between the first one and the last; a PlanError with `exact`.
    """
    type = op.result.type
    if source.dims or type.get_strides() != row_major(type.get_shape()):
        raise PlanError(f"{name}: a window is a dense part of a dense buffer")
    itemsize = numpy_dtype(type.element_type).itemsize
    count = prod(type.get_shape()) * itemsize
    (offsets,) = numbers_of(op.offset)
    starts = np.unique(offsets) * itemsize
    low, high = int(starts[0]), int(starts[-1]) + count
    if low < 0 or high > source.run:
        raise PlanError(f"{name}: a window covers bytes [{low}, {high}) of a buffer of {source.run}")
    distances = set(np.diff(starts).tolist())
    if max(distances, default=0) <= count:
        return Region(source.space, source.owner, source.start + low, (), high - low)
    if len(distances) == 1:
        return Region(source.space, source.owner, source.start + low, ((len(starts), *distances),), count)
    if exact:
        raise PlanError(f"{name}: a window has places at uneven distances")
    return Region(source.space, source.owner, source.start + low, (), high - low)
