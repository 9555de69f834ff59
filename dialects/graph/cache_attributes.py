"""Caches: an input and an output of the model that lie in the same memory, which a run updates.

A language model is given the keys and values of the tokens before, and gives back these and those of the new ones.
Where the caller declares the two to be one, nothing of the old ones is moved: the memory has room for the longest there
may be, the past is its beginning along one axis, and what is new is written behind it.

    func.func @main(%past: tensor<1x4x32x16xf32> {graph.name = "past",
        graph.cache = #graph.cache<"present", 1 : i64, tensor<1x4x32x16xf32>, tensor<1x4x33x16xf32>,
                                   tensor<1x4x64x16xf32>>}, %x: ...)
      -> (tensor<8x64xf32>, tensor<1x4x33x16xf32> {graph.name = "present"})

On buffers, `main` has one argument for both, with the role "cache", which is all the room; the output has none.
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
    """What a cache is: the output in its memory (name and number), its type before and after, and that of the room."""

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
    def grows(self) -> bool:
        """Whether past and present are parts of the room."""
        return self.past != self.room or self.present != self.room


def cache_of(attributes: DictionaryAttr) -> CacheAttr | None:
    """What the attributes of an argument say of a cache."""
    found = attributes.data.get(CACHE)
    return found if isinstance(found, CacheAttr) else None
