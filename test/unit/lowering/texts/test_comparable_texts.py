"""Texts of a module between passes, which are made from texts of before: they are what printing anew gives."""

from __future__ import annotations

from io import StringIO

import pytest
from models.small import SMALL_MODELS
from onnx import ModelProto
from onnx.parser import parse_model
from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

import mini_infer as mi
from mini_infer.lowering import module_text
from mini_infer.lowering.module_text import ComparableTexts
from mini_infer.lowering.pipelines import PassRun
from mini_infer.runtime.compile.plan_builder import Builder
from mini_infer.runtime.compile.source import source_of
from mini_infer.runtime.compile.source_to_engine import build_engine

ODD_NAMES = """
<ir_version: 8, opset_import: ["" : 17]>
odd (float[4,4] x, float[4,4] w) => (float[4,4] y) {
  ["%1"] a = MatMul(x, w)
  ["%a, %0 = \\\\"] b = MatMul(a, a)
  [c] y = Add(b, a)
}
"""


class _Anew(module_text._ModulePrinter):  # pyright: ignore[reportPrivateUsage]
    """Prints every operation and attribute, with one name for each value of all texts."""

    @override
    def enter_scope(self) -> None: ...

    @override
    def exit_scope(self) -> None: ...


@pytest.mark.parametrize("model", [parse_model(ODD_NAMES), SMALL_MODELS["transformer"]()], ids=["names", "network"])
def test_texts_are_those_of_printing_anew(model: ModelProto) -> None:
    texts, anew = ComparableTexts(Context(), elide=True), _Anew(StringIO(), generic=False, elide=True)
    seen = 0

    def observer(done: PassRun, module: ModuleOp) -> None:
        nonlocal seen
        seen += 1
        text, places = texts.numbered_text(module)
        assert text == _printed(anew, module), done.name
        lines = text.split("\n")
        for op, line in places.items():
            assert op.name in lines[line - 1], (done.name, lines[line - 1])

    build_engine(Builder(source_of(model), mi.EngineConfig(threads=1, compile_threads=1), observer=observer))
    assert seen > 40


def _printed(printer: Printer, module: ModuleOp) -> str:
    printer.stream = stream = StringIO()
    printer.print_op(module)
    return stream.getvalue()
