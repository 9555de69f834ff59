"""The table of operators holds what files of handlers define."""

from __future__ import annotations

from collections import Counter

from mini_infer.dialects.modules import modules_below
from mini_infer.lowering.onnx_to_graph import handlers, microsoft, ml
from mini_infer.lowering.onnx_to_graph.operators import HANDLERS


def test_each_operator_is_in_the_table_of_one_file() -> None:
    files = [file for folder in (handlers, microsoft, ml) for file in modules_below(folder.__name__)]
    stated = Counter(operator for file in files for operator in getattr(file, "HANDLERS", ()))
    assert set(stated.values()) == {1}
    assert stated.keys() == HANDLERS.keys()
    assert {"Relu", "Conv", "com.microsoft.FusedConv"} <= HANDLERS.keys()
