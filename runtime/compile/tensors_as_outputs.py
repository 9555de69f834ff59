"""Outputs of an imported module that need no code: constants, weights and inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import BlockArgument, SSAValue

from ...dialects.graph.blobs import MiniContext
from ...dialects.graph.bounds import COUNTS, counts_attr, cuts_of
from ...dialects.graph.host import attributes_of_results, main_of
from ...dialects.graph.interpreter import input_names, output_names
from ...dialects.graph.ops.structure import ConstantOp, WeightOp
from ...dialects.graph.values import type_of
from ..device import Array


def split_outputs(module: ModuleOp, ctx: MiniContext) -> tuple[dict[str, Array | str], tuple[str, ...]]:
    """Removes outputs of main whose values are known; returns those, and the names of the outputs that are left.

    An output that is an input has that input's name as its value.
    """
    main = main_of(module)
    last = cast("ReturnOp", main.body.block.last_op)
    names = output_names(main)
    inputs: dict[SSAValue, str] = dict(zip(main.args, input_names(main), strict=True))
    known: dict[str, Array | str] = {}
    for name, value in zip(names, last.operands, strict=False):
        found = _known(value, inputs, ctx)
        if found is not None:
            known[name] = found
    attributes = attributes_of_results(main)
    is_left = [number >= len(names) or names[number] not in known for number in range(len(last.operands))]
    places = {number: place for place, number in enumerate(n for n, left in enumerate(is_left) if left)}
    kept = ReturnOp(*(last.operands[number] for number in places))
    main.res_attrs = ArrayAttr([_moved(attributes[number], places) for number in places])
    last.detach()
    last.erase()
    main.body.block.add_op(kept)
    main.update_function_type()
    return known, tuple(name for name in names if name not in known)


def _known(value: SSAValue, inputs: Mapping[SSAValue, str], ctx: MiniContext) -> Array | str | None:
    if isinstance(value, BlockArgument):
        return inputs.get(value)
    match value.owner:
        case ConstantOp() as constant:
            return constant.to_numpy()
        case WeightOp() as weight:
            return ctx.blobs.read(weight.blob, type_of(value))
        case _:
            return None


def _moved(attributes: DictionaryAttr, places: Mapping[int, int]) -> DictionaryAttr:
    """The attributes of a result: for a count, with the new numbers of the results that it crops."""
    cuts = cuts_of(attributes)
    if not cuts:
        return attributes
    return DictionaryAttr({**attributes.data, COUNTS: counts_attr([(places[n], axis) for n, axis in cuts])})
