"""Repairs of xDSL for the whole process, of what it does wrong inside itself; extensions/ adds what it lacks.

test/unit/test_xdsl_repairs.py says of each what xDSL does by itself, and fails once that is mended there: then the
repair goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Block
from xdsl.irdl import IRDLOperation
from xdsl.parser import AttrParser
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, OpTrait, Pure
from xdsl.utils.mlir_lexer import MLIRLexer

__all__ = ["kept_in", "repair_effects", "repair_text"]

T = TypeVar("T")

_DENSE_ELEMENT: Any = vars(AttrParser)["_TensorLiteralElement"]
_number_of = _DENSE_ELEMENT.to_type
_is_numbered = Block.is_default_block_name

# The same strings as xDSL's own pattern, without ever trying again: `++` and `*+` keep what they took.
_STRING = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')


def repair_text() -> None:
    """Repairs what reads and writes a module's text; once is as good as often."""
    # xDSL prints infinities, NaN and some other floats as `0x7F800000`, in dense attributes too, but there it reads
    # them back as that integer's value.
    _DENSE_ELEMENT.to_type = _element_of
    # Where a closing quote is missing, its own pattern takes time exponential in the rest of the line.
    MLIRLexer._unescaped_characters_regex = _STRING  # pyright: ignore[reportPrivateUsage]
    # It takes a label such as ^0 for a name to keep, and then refuses the name with a ValueError.
    Block.is_default_block_name = staticmethod(_is_no_name)
    # It compares values: 0.0 and -0.0 are printed as one number then, and NaN and NaN are two.
    DenseIntOrFPElementsAttr.is_splat = _is_splat


def repair_effects() -> None:
    """Gives operations the memory effects that they have in MLIR, or dead loads stay and equal ones are not merged."""
    from xdsl.dialects import arith, vector  # costs time that a module without them need not take

    effects: dict[type[IRDLOperation], OpTrait] = {
        arith.RemUIOp: Pure(),
        vector.LoadOp: MemoryReadEffect(),
        vector.MaskedLoadOp: MemoryReadEffect(),
        vector.StoreOp: MemoryWriteEffect(),
        vector.MaskedStoreOp: MemoryWriteEffect(),
        vector.CreateMaskOp: Pure(),
        vector.BitcastOp: Pure(),
    }
    for operation, effect in effects.items():
        if not operation.has_trait(type(effect)):
            operation.traits.add_trait(effect)


def kept_in(ctx: Context, name: str, make: Callable[[], T]) -> T:
    """What passes keep in a context under a name, made on first use: contexts of xDSL's own have no place for it."""
    kept = vars(ctx)
    if name not in kept:
        kept[name] = make()
    return kept[name]


def _element_of(element: Any, parser: AttrParser, element_type: Attribute) -> Any:
    """The value of an element of `dense<...>`: a float of its type may be written as its bits."""
    if isinstance(element_type, AnyFloat) and element.span.text[:2] in ("0x", "0X"):
        bits = int(element.value).to_bytes(element_type.compile_time_size, "little")
        return element_type.unpack(bits, 1)[0]
    return _number_of(element, parser, element_type)


def _is_splat(self: DenseIntOrFPElementsAttr) -> bool:
    """Whether there are elements, and all have the same bits."""
    data = self.data.data
    return len(self) > 0 and data == data[: self.get_element_type().compile_time_size] * len(self)


def _is_no_name(name: str) -> bool:
    """Whether a block's label is a mere number, so that the block has no name to keep."""
    return not Block.is_valid_name(name) or _is_numbered(name)
