"""Code with every value of main as an output, which `compare` checks node by node, or kernel by kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import ReturnOp
from xdsl.ir import SSAValue

from ...dialects.graph.blobs import MiniContext
from ...dialects.graph.fixed_sizes import settled
from ...dialects.graph.host import NAME, attributes_of_arguments, handed_on, is_shaped, main_of
from ...dialects.graph.interpreter import output_names
from ...dialects.graph.kv_cache_attributes import CACHE
from ...dialects.graph.ops.structure import ConstantOp, WeightOp
from ...dialects.graph.values import Array
from ...dialects.sizes.sizes import value_at
from ...runtime.compile.plan_builder import Builder
from ...runtime.compile.source import source_of
from ...runtime.compile.source_to_engine import build_engine
from ...runtime.config import EngineConfig
from ...runtime.specs import ordered_shapes
from ..asked_shapes import Shape

Prepare = Callable[[ModuleOp, MiniContext], None]
"""Takes a module at the graph level to where its values are looked at."""


@dataclass(frozen=True)
class ExposedCode:
    """Code with every value of main as an output, and its module, with numbers for sizes."""

    module: ModuleOp
    ctx: MiniContext
    outputs: Mapping[str, str]  # the names of the model's outputs among those values
    run: Callable[[], Mapping[str, Array]]


class ExposedRanges:
    """Compiles for ranges of sizes, with every value of main as an output, and keeps the modules."""

    def __init__(self, model: str, config: EngineConfig, prepare: Prepare) -> None:
        self._made: list[tuple[ModuleOp, MiniContext, ModuleOp, Mapping[str, str]]] = []  # the last compile's is last
        self._prepare = prepare
        self._engine = build_engine(Builder(source_of(model), config, prepare=self._expose))
        self._compiles = {self._engine.plan.family: self._made[-1]}

    def _expose(self, module: ModuleOp, ctx: MiniContext) -> None:
        before = module.clone()
        self._prepare(module, ctx)
        outputs = expose_values(module)
        self._made.append((before, ctx, module.clone(), outputs))

    def at(self, shape: Shape, inputs: Mapping[str, Array]) -> tuple[ModuleOp, ExposedCode]:
        """The graph at a shape, and the code with its module."""
        sizes = {spec.name: spec.shape for spec in shape.specs}
        family = self._engine.plan_for(sizes).family
        assert family is not None
        before, ctx, exposed, outputs = self._compiles.setdefault(family, self._made[-1])
        number = partial(value_at, values=family.values_of(ordered_shapes(self._engine.input_names, sizes)))
        code = ExposedCode(settled(exposed, number), ctx, outputs, partial(self._engine, inputs))
        return settled(before, number), code


def expose_values(module: ModuleOp) -> dict[str, str]:
    """Makes every computed tensor of main an output; returns the new names of the original outputs.

    There are no caches then, since the numbers of outputs change.
    """
    main = main_of(module)
    named = [{name: each.data[name] for name in each.data if name != CACHE} for each in attributes_of_arguments(main)]
    main.arg_attrs = ArrayAttr(map(DictionaryAttr, named))
    block = main.body.block
    computed = [op for op in block.ops if not isinstance(op, ConstantOp | ReturnOp | WeightOp)]
    tensors = (value for op in computed for value in op.results if is_shaped(value))  # scalars only decide
    values: dict[SSAValue, str] = {value: f"value{index}" for index, value in enumerate(tensors)}
    outputs = zip(output_names(main), handed_on(block), strict=True)
    known = {name: values[value] for name, value in outputs if value in values}
    cast("ReturnOp", block.last_op).detach()
    block.add_op(ReturnOp(*values))
    main.update_function_type()
    main.res_attrs = ArrayAttr([DictionaryAttr({NAME: StringAttr(name)}) for name in values.values()])
    return known
