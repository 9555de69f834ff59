"""Helpers of the repaired dialects: result shapes, and replacement of a dialect's operations."""

from collections.abc import Sequence
from typing import cast

from xdsl.dialect_interfaces import DialectInterface
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.utils.exceptions import VerifyException


def shaped_like(element: Attribute, like: Attribute) -> Attribute:
    """`element`, or a vector of it with the shape of `like` if that is a vector."""
    if isinstance(like, VectorType):
        vector = cast("VectorType[Attribute]", like)
        return VectorType(element, vector.shape, vector.scalable_dims)
    return element


def scalar_of(value_type: Attribute) -> Attribute:
    """The element type of a vector type; any other type unchanged."""
    if isinstance(value_type, VectorType):
        return cast("VectorType[Attribute]", value_type).element_type
    return value_type


def expect_same_shape(a: Attribute, b: Attribute) -> None:
    """Raises VerifyException unless both are scalars, or vectors of one shape."""
    shapes = [cast("VectorType[Attribute]", t).get_shape() if isinstance(t, VectorType) else None for t in (a, b)]
    if shapes[0] != shapes[1]:
        raise VerifyException(f"expected scalars or vectors of the same shape, got {a} and {b}")


def replace_operations(
    dialect: Dialect, operations: Sequence[type[Operation]], attributes: Sequence[type[Attribute]] = ()
) -> Dialect:
    """The dialect with `operations` added, replacing those of the same name, and `attributes` added."""
    names = {operation.name for operation in operations}
    kept = [operation for operation in dialect.operations if operation.name not in names]
    interface = dialect.get_interface(DialectInterface)
    interfaces = [] if interface is None else [interface]
    return Dialect(dialect.name, [*kept, *operations], [*dialect.attributes, *attributes], interfaces)
