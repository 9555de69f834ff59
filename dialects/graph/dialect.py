"""The graph dialect's ops and attributes, for parsers; the ops are collected from the files of ops/."""

from __future__ import annotations

from types import ModuleType

from xdsl.ir import Dialect, Operation

from ..modules import modules_below
from . import ops
from .blobs import BlobAttr
from .cache_attributes import CacheAttr
from .packing import unpack


def ops_of(module: ModuleType) -> list[type[Operation]]:
    """The ops that a module defines: the classes under `irdl_op_definition`, not their bases."""
    classes = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Operation)]
    own = [each for each in classes if each.__module__ == module.__name__]
    return [each for each in own if "get_irdl_definition" in vars(each)]


Graph = Dialect(
    "graph", [op for module in (*modules_below(ops.__name__), unpack) for op in ops_of(module)], [BlobAttr, CacheAttr]
)
