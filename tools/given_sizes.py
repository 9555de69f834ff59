"""Sizes of a model's dynamic dimensions inferred from given input arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..dialects.errors import InvalidInputError
from .arrays import arrays_of


def with_given_sizes(model: str, options: Mapping[str, Any], files: Sequence[str]) -> dict[str, Any]:
    """EngineConfig's options, with unbound dimensions taken from the files' arrays.

    Raises InvalidInputError for arrays that don't fit the model.
    """
    if not files or Path(model).suffix in (".mlir", ".mi"):
        return dict(options)
    from ..lowering.onnx_to_graph.declared_inputs import declared_shapes
    from ..lowering.onnx_to_graph.dimension_names import is_calculated

    declared = declared_shapes(model, options["specialize"])
    names = {each for shape in declared.values() for each in shape or () if isinstance(each, str)}
    asked = names - set(options["profile"].dims if "profile" in options else ())
    asked = {name for name in asked if not is_calculated(name, names)}
    dims, shapes = dict[str, int](), dict[str, Sequence[int]](options["shapes"])
    for name, array in arrays_of(files, declared).items():
        shape = declared[name]
        if shape is not None and all(isinstance(each, int) for each in shape):
            continue
        if shape is not None and len(shape) != array.ndim:
            raise InvalidInputError(f"input '{name}' has {len(shape)} dimensions, the array given {array.ndim}")
        if shape is None or "" in shape:
            shapes.setdefault(name, array.shape)
        elif name not in shapes:
            dims |= {str(each): size for each, size in zip(shape, array.shape, strict=True) if each in asked}
    return {**options, "dims": {**dims, **options["dims"]}, "shapes": shapes}
