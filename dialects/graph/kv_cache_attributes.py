"""Key-value caches: an input and an output of the model that share memory, updated by each run.

A language model takes the keys and values of earlier tokens, and returns them with those of the new ones. If the caller
declares input and output to be one cache, the old ones are not copied: the buffer has the maximal size, the past is its
beginning along one axis, and new elements are written after it.

    func.func @main(%past: tensor<1x4x32x16xf32> {graph.name = "past",
        graph.cache = #graph.cache<"present", 1 : i64, tensor<1x4x32x16xf32>, tensor<1x4x33x16xf32>,
                                   tensor<1x4x64x16xf32>>}, %x: ...)
      -> (tensor<8x64xf32>, tensor<1x4x33x16xf32> {graph.name = "present"})

On buffers, `main` has one argument for both, the whole buffer, with the role "cache", and no argument for the output.
"""

from __future__ import annotations

from typing_extensions import override
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr
from xdsl.ir import ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.exceptions import VerifyException

from .values import AnyTensor

CACHE = "graph.cache"
"""Attribute of an argument of main that is a cache."""


@irdl_attr_definition
class CacheAttr(ParametrizedAttribute):
    """A cache: the output that shares its memory (name and number), and the types of past, present and buffer."""

    name = CACHE
    output: StringAttr
    number: IntegerAttr
    past: AnyTensor
    present: AnyTensor
    room: AnyTensor

    @override
    def verify(self) -> None:
        types = (self.past, self.present, self.room)
        if len({type.element_type for type in types}) > 1 or len({type.get_num_dims() for type in types}) > 1:
            raise VerifyException(f"{self}: past, present and room must be tensors of one kind")

    @property
    def place(self) -> int:
        """The number of the output."""
        return self.number.value.data

    @property
    def axis(self) -> int | None:
        """The axis along which the present is longer than the past; None if they have one size."""
        pairs = enumerate(zip(self.past.get_shape(), self.present.get_shape(), strict=True))
        return next((axis for axis, (before, after) in pairs if before is not after and before != after), None)

    @property
    def grows(self) -> bool:
        """Whether past and present are proper parts of the buffer."""
        return self.past != self.room or self.present != self.room


def cache_of(attributes: DictionaryAttr) -> CacheAttr | None:
    """The cache attribute among an argument's attributes, if any."""
    found = attributes.data.get(CACHE)
    return found if isinstance(found, CacheAttr) else None
