"""Sizes of run time as values: what a model computes with that hangs on the shapes of its inputs only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, LocationAttr, ModuleOp, i64
from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, prop_def, result_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ..symbolic.polynomials import Symbol
from ..symbolic.sizes import pinned
from .base import GraphOp, require
from .values import AnyTensor, Array, ints, ints_attr, tensor

SYMBOLS = "kernel.symbols"
"""Attribute of a module: the symbols that its sizes hang on, in the order of the table that code reads them from."""

SIZES = "sizes"
"""The role of an argument: that table, of 64-bit numbers."""


@irdl_attr_definition
class SymbolsAttr(Data[tuple[Symbol, ...]]):
    """Symbols with the bounds of their values: `#kernel.symbols<"batch" 1 8, "tokens" 1 512>`."""

    name = "kernel.symbols"

    @classmethod
    @override
    def parse_parameter(cls, parser: AttrParser) -> tuple[Symbol, ...]:
        parser.raise_error("a module with sizes of run time is for reading: it does not say what they hang on")

    @override
    def print_parameter(self, printer: Printer) -> None:
        def symbol(each: Symbol) -> None:
            printer.print_string_literal(each.name)
            printer.print_string(f" {each.low} {each.high}")

        with printer.in_angle_brackets():
            printer.print_list(self.data, symbol)


def symbols_of_module(module: ModuleOp) -> tuple[Symbol, ...]:
    """The symbols of a module's sizes; none where all its shapes are numbers."""
    found = module.attributes.get(SYMBOLS)
    return found.data if isinstance(found, SymbolsAttr) else ()


@irdl_op_definition
class SizesOp(GraphOp):
    """Sizes as a tensor: a constant at each shape."""

    name = "graph.sizes"

    sizes = prop_def(DenseArrayBase[IntegerType])
    result = result_def()

    def __init__(self, sizes: Sequence[int], location: LocationAttr | None = None):
        self._build((), {"sizes": ints_attr(sizes)}, location)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        return [tensor(i64, [len(ints(self.sizes))])]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        return (np.array([pinned(size) for size in ints(self.sizes)], np.int64),)


@irdl_op_definition
class IotaOp(GraphOp):
    """start, start + step, ...: `count` numbers."""

    name = "graph.iota"

    numbers = prop_def(DenseArrayBase[IntegerType])
    """start, count, step"""
    result = result_def()

    def __init__(self, start: int, count: int, step: int, location: LocationAttr | None = None):
        self._build((), {"numbers": ints_attr([start, count, step])}, location)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require(len(ints(self.numbers)) == 3, "needs start, count and step")
        require(self.count >= 0, f"can't have {self.count} elements")
        return [tensor(i64, [self.count])]

    @property
    def start(self) -> int:
        """The first number."""
        return ints(self.numbers)[0]

    @property
    def count(self) -> int:
        """How many there are."""
        return ints(self.numbers)[1]

    @property
    def step(self) -> int:
        """From one to the next."""
        return ints(self.numbers)[2]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        return (pinned(self.start) + pinned(self.step) * np.arange(pinned(self.count), dtype=np.int64),)
