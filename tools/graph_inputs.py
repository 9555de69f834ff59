"""What an imported module wants as inputs, before anything is compiled."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ..dialects.graph import input_names, main_of, numpy_dtype, type_of
from ..runtime.plan import TensorSpec


def graph_input_specs(module: ModuleOp) -> list[TensorSpec]:
    """Names, shapes and types of the inputs of a module at the graph level."""
    main = main_of(module)
    types = [type_of(argument) for argument in main.args]
    return [
        TensorSpec(name, tuple(type.get_shape()), numpy_dtype(type.element_type))
        for name, type in zip(input_names(main), types, strict=True)
    ]
