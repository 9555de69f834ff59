"""Assembly formats are parsed at first use, so that their errors are found here."""

from __future__ import annotations

import pytest
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.utils.exceptions import PyRDLOpDefinitionError

from mini_infer.dialects.lazy_formats import format_of
from mini_infer.lowering.registry import dialect_factories


def test_all_formats_are_well_formed() -> None:
    ops = [
        op for factory in dialect_factories().values() for op in factory().operations if issubclass(op, IRDLOperation)
    ]
    formats = [each for op in ops if (each := op.get_irdl_definition()).assembly_format is not None]
    assert len(formats) > 150
    for each in formats:
        format_of(each)


def test_a_malformed_format_is_an_error_where_it_is_used() -> None:
    @irdl_op_definition
    class WrongOp(IRDLOperation):
        name = "test.wrong"
        assembly_format = "$nothing attr-dict"

    with pytest.raises(PyRDLOpDefinitionError, match="parsing of the assembly format"):
        str(WrongOp())
