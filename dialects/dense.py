"""A repair of xDSL's parser: floats in `dense<...>` that are written as their bits.

xDSL prints infinities, NaN and some other floats as `0x7F800000`, in dense attributes too, but there it
reads them back as that integer's value.
"""

from typing import Any

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute
from xdsl.parser import AttrParser

_ELEMENT: Any = vars(AttrParser)["_TensorLiteralElement"]
_OF_NUMBERS = _ELEMENT.to_type


def _to_type(element: Any, parser: AttrParser, element_type: Attribute) -> Any:
    if isinstance(element_type, AnyFloat) and element.span.text[:2] in ("0x", "0X"):
        bits = int(element.value).to_bytes(element_type.compile_time_size, "little")
        return element_type.unpack(bits, 1)[0]
    return _OF_NUMBERS(element, parser, element_type)


def mend_dense_floats() -> None:
    """Mends the parser for the whole process."""
    _ELEMENT.to_type = _to_type
