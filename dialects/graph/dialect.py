"""The graph dialect's ops and attributes, for parsers; the ops are collected from the files of ops/."""

from __future__ import annotations

from xdsl.ir import Dialect, Operation

from ..modules import classes_in, modules_below
from . import ops
from .blobs import BlobAttr
from .kv_cache_attributes import CacheAttr
from .model_nodes import ModelNodesAttr
from .packing import unpack

_CLASSES = [each for module in (*modules_below(ops.__name__), unpack) for each in classes_in(module, Operation)]

Graph = Dialect(
    "graph", [each for each in _CLASSES if "get_irdl_definition" in vars(each)], [BlobAttr, CacheAttr, ModelNodesAttr]
)
"""Its ops are the classes under `irdl_op_definition`, not their bases."""
