"""What xDSL does wrong by itself, and that it is repaired. A test whose first half fails says: this repair can go."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from functools import cache
from typing import Any

import pytest
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, StringAttr, VectorType, f32
from xdsl.parser import Parser
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, OpTrait, Pure
from xdsl.utils.exceptions import ParseError
from xdsl.utils.mlir_lexer import MLIRLexer

from mini_infer.dialects.extensions.arith import Arith
from mini_infer.dialects.extensions.vector import Vector
from mini_infer.lowering.module_text import module_context

# In a process of its own, where nothing of ours is imported.
ALONE = """
import json
import sys
from xdsl.context import Context
from xdsl.dialects import arith, cf, func, vector
from xdsl.dialects.builtin import Builtin, DenseIntOrFPElementsAttr, VectorType, f32
from xdsl.parser import Parser
from xdsl.utils.mlir_lexer import MLIRLexer

ctx = Context()
for dialect in (Builtin, func.Func, cf.Cf):
    ctx.load_dialect(dialect)

def complaint(text):
    try:
        Parser(ctx, text).parse_module()
    except Exception as error:
        return type(error).__name__
    return ""

MAKING
VERIFYING
ops = [each for dialect in (arith.Arith, vector.Vector) for each in dialect.operations]
print(json.dumps({
    "float": Parser(ctx, "dense<[0x7F800000]> : tensor<1xf32>").parse_attribute().get_values()[0],
    "strings": MLIRLexer._unescaped_characters_regex.pattern,
    "letters": Parser(ctx, '"\\\\C3\\\\A9"').parse_attribute().name,
    "sizes": [complaint(text) for text in SIZES],
    "label": complaint(LABEL),
    "splats": [DenseIntOrFPElementsAttr.from_list(VectorType(f32, [2]), each).is_splat() for each in SPLATS],
    "made": made_operations(),
    "verified": verified_operations(),
    "traits": {op.name: [type(trait).__name__ for trait in op.traits.traits] for op in ops},
}))
"""
MAKING = """
def made_operations():
    calls = 0
    def count(frame, event, argument):
        nonlocal calls
        calls += event == "call"
    from xdsl.dialects import arith, cf, scf
    from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
    from xdsl.ir import Block, Region
    number = arith.ConstantOp(IntegerAttr(1, i64)).result
    arith.AddiOp(number, number)
    sys.setprofile(count)
    add = arith.AddiOp.create(operands=[number, number], result_types=[i64])
    add.results[0], StringAttr("a")
    sys.setprofile(None)
    created, calls = calls, 0
    sys.setprofile(count)
    built = arith.AddiOp(number, number)
    sys.setprofile(None)
    jump = cf.BranchOp(Block(arg_types=[i64]), number)
    outer = scf.ExecuteRegionOp.create(regions=[Region(Block([scf.YieldOp(number)]))], attributes={"a": i64})
    places = [[use.operation.name, use.index] for each in (number, jump.successors[0]) for use in each.uses]
    inside = outer.regions[0].parent is outer
    inside = inside and type(add.results[:1]) is type(add.results)
    return [created, calls, *map(str, (add, built, jump, outer, add.properties, add.location, places, inside))]
"""
VERIFYING = """
def verified_operations():
    from xdsl.dialects import arith, vector
    from xdsl.dialects.builtin import IntegerAttr, VectorType, f32, i32, i64
    from xdsl.ir import Block, Region
    number, other = (arith.ConstantOp(IntegerAttr(1, type)).result for type in (i64, i32))
    given = [number, number]
    wrong = [
        arith.AddiOp.create(operands=[number, other], result_types=[i64]),
        arith.AddiOp.create(operands=[number], result_types=[i64]),
        arith.AddiOp.create(operands=given, result_types=[f32]),
        arith.AddiOp.create(operands=given, result_types=[i64, i64]),
        arith.AddiOp.create(operands=given, result_types=[i64], regions=[Region()]),
        arith.AddiOp.create(operands=given, result_types=[i64], successors=[Block()]),
        vector.LoadOp.create(operands=given, result_types=[VectorType(i64, [4])]),
    ]
    complaints = []
    for op in wrong:
        try:
            op.verify_()
            complaints.append("")
        except Exception as error:
            complaints.append(str(error))
    add = arith.AddiOp(number, number)
    add.verify()
    calls = 0
    def count(frame, event, argument):
        nonlocal calls
        calls += event == "call"
    sys.setprofile(count)
    add.verify()
    sys.setprofile(None)
    return [calls, *complaints]
"""
LABEL = 'func.func @f() {\n  "cf.br"()[^0] : () -> ()\n^0:\n  func.return\n}'

SIZES = [
    f"builtin.module {{ func.func private @f({type}{'}' if '{' in type else ')'} }}"
    for type in (
        "tensor<(n * 2)xf32>",
        "tensor<2x(n * 2)x3xf32>",
        "memref<4x(n)xf32, strided<[(n * 2), 1]>>",
        "memref<4xf32, strided<[1], offset: (n * 2)>>",
        "i64) attributes {a = array<i64: 1, (n * 2)>, b = (n) : index",
        "i64) attributes {a = (n * 2) : index, b = (i64) -> i64",
    )
]

OWN: re.Pattern[str] = MLIRLexer._unescaped_characters_regex  # pyright: ignore[reportPrivateUsage]


@cache
def alone() -> dict[str, Any]:
    """What xDSL does without us."""
    program = (
        ALONE.replace("MAKING", MAKING)
        .replace("VERIFYING", VERIFYING)
        .replace("LABEL", repr(LABEL))
        .replace("SIZES", repr(SIZES))
        .replace("SPLATS", "((0.0, -0.0), (float('nan'), float('nan')))")
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


def test_bits_of_floats_in_dense_attributes() -> None:
    assert alone()["float"] == float(0x7F800000), "xDSL reads 0x7F800000 as infinity now"
    attribute = Parser(module_context(), "dense<[0x7F800000]> : tensor<1xf32>").parse_attribute()
    assert isinstance(attribute, DenseIntOrFPElementsAttr) and attribute.get_values() == (float("inf"),)


def test_a_string_that_is_not_closed() -> None:
    """`(?:[^"]+|...)*` splits a line in 2^n ways before it gives up; ours takes every character once."""
    assert alone()["strings"] == OWN.pattern.replace("++", "+").replace("*+", "*"), "xDSL's pattern is another now"
    for text in (r'"a\n\22b"', '""', r'"\0Fx"'):
        assert (found := OWN.match(text)) and found[0] == text
    with pytest.raises(ParseError, match="closing string literal"):
        Parser(module_context(), '"' + "a" * 100_000).parse_module()


def test_strings_with_letters_beyond_ascii() -> None:
    assert alone()["letters"] == "bytes", "xDSL reads what it writes of é now"
    for letters in ("é", "节点", '\x7f\n"'):
        attribute = StringAttr(letters)
        assert Parser(module_context(), str(attribute)).parse_attribute() == attribute
    assert isinstance(Parser(module_context(), r'"\FF"').parse_attribute(), BytesAttr)


def test_sizes_of_run_time_where_integers_are() -> None:
    assert alone()["sizes"] == ["ParseError"] * len(SIZES), "xDSL reads an expression in parentheses now"
    for text in SIZES:
        head = "builtin.module attributes {kernel.symbols = #kernel.symbols<dim n = 4 in [1, 8]>} "
        text = head + text.removeprefix("builtin.module ")
        module = str(Parser(module_context(), text).parse_module())
        assert "(n * 2)" in module
        assert str(Parser(module_context(), module).parse_module()) == module


def test_blocks_labelled_by_a_number() -> None:
    assert alone()["label"] == "ValueError", "xDSL takes ^0 now"
    assert "^bb1:" in str(Parser(module_context(), LABEL).parse_module())


def test_splats_have_the_same_bits() -> None:
    """Or a constant of zeros loses the signs of some in the text, and one of NaN alone is taken for a table."""
    assert alone()["splats"] == [True, False], "xDSL compares bits now"
    for numbers, expected in (((0.0, -0.0), False), ((math.nan, math.nan), True), ((2.0, 2.0), True)):
        attribute = DenseIntOrFPElementsAttr.from_list(VectorType(f32, [2]), numbers)
        assert attribute.is_splat() is expected
        assert Parser(module_context(), str(attribute)).parse_attribute() == attribute


def test_operations_are_made_in_fewer_steps() -> None:
    names: dict[str, Any] = {"sys": sys}
    exec(MAKING, names)
    calls, built, *made = names["made_operations"]()
    theirs, built_by_theirs, *expected = alone()["made"]
    assert made == expected
    assert calls < 0.75 * theirs, f"xDSL makes an operation in {theirs} calls now"
    assert built < 0.75 * built_by_theirs, f"xDSL builds an operation in {built_by_theirs} calls now"


def test_operations_are_verified_in_fewer_steps_with_the_same_complaints() -> None:
    names: dict[str, Any] = {"sys": sys}
    exec(VERIFYING, names)
    calls, *complaints = names["verified_operations"]()
    theirs, *expected = alone()["verified"]
    assert complaints == expected
    assert all(complaints)
    assert calls < 0.75 * theirs, f"xDSL verifies an operation in {theirs} calls now"


EFFECTS: dict[str, type[OpTrait]] = {
    "arith.remui": Pure,
    "vector.load": MemoryReadEffect,
    "vector.maskedload": MemoryReadEffect,
    "vector.store": MemoryWriteEffect,
    "vector.maskedstore": MemoryWriteEffect,
    "vector.create_mask": Pure,
    "vector.bitcast": Pure,
}


def test_memory_effects() -> None:
    operations = {each.name: each for dialect in (Arith, Vector) for each in dialect.operations}
    for name, effect in EFFECTS.items():
        assert effect.__name__ not in alone()["traits"][name], f"{name} has its effect in xDSL now"
        assert operations[name].has_trait(effect)
