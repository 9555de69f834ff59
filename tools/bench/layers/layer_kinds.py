"""The kinds of single layers, how common each is, and layers drawn of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from ....dialects.errors import ConfigError
from .drawn_layer import Layer
from .movement_layers import Pieces, Placement, Resize, Shuffle, Transpose
from .product_layers import BatchProduct, ColumnProduct, Gemm, HalfProduct, Product, Recurrence, RowProduct
from .row_layers import AlongAxis, Elementwise, Norm, Reduction, Suppression, TopK
from .window_layers import (
    ColumnConv,
    Conv,
    DepthwiseConv,
    FirstConv,
    GatedConv,
    GlobalPool,
    GroupedConv,
    LastConv,
    PointwiseConv,
    Pool,
    RowConv,
    SequenceConv,
    TransposedConv,
)

KINDS: Mapping[str, tuple[int, type[Layer]]] = {
    "conv": (50, Conv),
    "pointwise": (40, PointwiseConv),
    "row_conv": (12, RowConv),
    "column_conv": (15, ColumnConv),
    "sequence_conv": (15, SequenceConv),
    "depthwise": (35, DepthwiseConv),
    "grouped": (15, GroupedConv),
    "first_conv": (15, FirstConv),
    "last_conv": (15, LastConv),
    "gated": (8, GatedConv),
    "transposed": (18, TransposedConv),
    "pool": (25, Pool),
    "global_pool": (8, GlobalPool),
    "product": (35, Product),
    "gemm": (15, Gemm),
    "row": (15, RowProduct),
    "column": (10, ColumnProduct),
    "batch_product": (20, BatchProduct),
    "half": (12, HalfProduct),
    "recurrence": (20, Recurrence),
    "reduction": (25, Reduction),
    "along_axis": (25, AlongAxis),
    "norm": (25, Norm),
    "elementwise": (35, Elementwise),
    "top_k": (8, TopK),
    "suppression": (5, Suppression),
    "transpose": (25, Transpose),
    "pieces": (25, Pieces),
    "placement": (15, Placement),
    "resize": (15, Resize),
    "shuffle": (10, Shuffle),
}
"""Each kind's weight in a draw, and its class."""
MOST_ELEMENTS, MOST_WORK = 6_000_000, 1_500_000_000
"""Elements of operands and results, and multiplications, of a layer."""


@dataclass(frozen=True)
class Case:
    """A layer of a kind. Its name says all of it."""

    kind: str
    layer: Layer

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.layer.text}"

    @property
    def sensible(self) -> bool:
        """Whether there is such a layer, and it isn't too large to be timed."""
        try:
            elements, work = self.layer.size
        except ValueError:
            return False
        return elements <= MOST_ELEMENTS and work <= MOST_WORK


def case_of(name: str) -> Case:
    """The case of a name. Raises ConfigError if there is none."""
    kind, _, text = name.partition(":")
    if kind not in KINDS:
        raise ConfigError(f"{name}: there is no kind {kind}; there are {', '.join(KINDS)}")
    return Case(kind, KINDS[kind][1].read(text))


def drawn_cases(seed: int, kinds: Sequence[str] = ()) -> Iterator[Case]:
    """Endlessly many different cases of the kinds, by default of all. Raises ConfigError for an unknown kind."""
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise ConfigError(f"there is no kind {unknown[0]}; there are {', '.join(KINDS)}")
    random, chosen, seen = Random(seed), list(kinds or KINDS), set[str]()
    weights = [KINDS[kind][0] for kind in chosen]
    misses = 0
    while misses < 1000:
        kind = random.choices(chosen, weights)[0]
        case = Case(kind, KINDS[kind][1].drawn(random))
        misses += 1
        if case.sensible and case.name not in seen:
            misses = 0
            seen.add(case.name)
            yield case
