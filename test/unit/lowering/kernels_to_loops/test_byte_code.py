"""The inner loop of a product of bytes, or bf16, is the machine's own instruction, on sums that stay in registers."""

from __future__ import annotations

import re

import numpy as np
import pytest
from byte_cases import product
from graph_runs import Case, Model, build
from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.block_weight import BlockWeightOp
from mini_infer.dialects.graph.ops.contraction import MatmulOp
from mini_infer.dialects.kernel.targets import cpu_of
from mini_infer.lowering import pipelines
from mini_infer.lowering.loops_to_llvm.emit_llvm_ir import emit_llvm_ir
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.native.cpu_targets import machine_of, target_attribute
from mini_infer.runtime.native.llvmlite_calls import emit_assembly

LOOP = re.compile(r"^(\.\w+):.*((?:\n(?!\.L).*)*?)\n\s+(?:j\w+|b\.\w+)\s+\1$", re.MULTILINE)


def loops_of(cpu: str, rows: int) -> list[str]:
    """The inner loops of a product of unsigned by signed bytes."""
    types = (np.uint8, np.int8)
    return code_of([product((rows, 64), (64, 96), types), product((2 * rows, 96), (96, 160), types)], cpu)


def code_of(cases: list[Case], cpu: str, changes: str = "") -> list[str]:
    """The inner loops of some cases' code."""
    m = build(cases)
    m.module.attributes["kernel.target"] = target_attribute(EngineConfig(threads=1), cpu)
    pipelines.run_phases(m.ctx, m.module, pipelines.phases(changes=[changes]))
    text = emit_assembly(emit_llvm_ir(m.module), machine_of(cpu_of(m.module)))
    return [found[2] for found in LOOP.finditer(text)]


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("cpu", "rows", "instruction", "count"),
    [
        ("x86_64-linux-gnu:icelake-server", 14, r"vpdpbusd\s", 28),
        ("x86_64-linux-gnu:alderlake", 6, r"vpdpbusd\s", 12),
        ("x86_64-linux-gnu:skylake-avx512", 12, r"vpmaddwd\s", 48),
        ("x86_64-linux-gnu:x86-64-v3", 4, r"vpmaddwd\s", 16),
        ("x86_64-linux-gnu:x86-64", 4, r"pmaddwd\s", 16),
        ("aarch64-linux-gnu:neoverse-n1", 12, r"sdot\s", 24),
        ("aarch64-linux-gnu:neoverse-v1", 12, r"usdot\s", 24),
    ],
)
def test_sums_stay_in_registers(cpu: str, rows: int, instruction: str, count: int) -> None:
    """Each step multiplies every sum once, and nothing of it goes by way of the stack."""
    found = {loop: len(re.findall(instruction, loop)) for loop in loops_of(cpu, rows)}
    loops = [loop for loop, times in found.items() if times and times % count == 0]
    assert loops, found
    for loop in loops:
        assert not re.search(r"%rsp|\[sp", loop), loop


def pairs_product(rows: int, depth: int) -> Case:
    """A product of bf16, rounded by a pass."""
    return lambda m: m(MatmulOp(m.input(rows, depth), m.weight(depth, 96)))


@pytest.mark.parametrize(
    ("cpu", "rows", "instruction", "count"),
    [
        ("x86_64-linux-gnu:znver4", 14, r"vdpbf16ps\s.*zmm", 28),
        ("x86_64-linux-gnu:znver5", 14, r"vdpbf16ps\s.*zmm", 28),
        ("x86_64-linux-gnu:cooperlake", 14, r"vdpbf16ps\s.*zmm", 28),
        ("aarch64-linux-gnu:neoverse-n2", 13, r"bfdot\s", 26),
        ("aarch64-linux-gnu:neoverse-v1", 13, r"bfdot\s", 26),
    ],
)
def test_pairs_of_bf16_are_multiplied_at_once(cpu: str, rows: int, instruction: str, count: int) -> None:
    """Rows are broadcast from memory in pairs, and no element is widened in the loop."""
    cases = [pairs_product(rows, 64), pairs_product(2 * rows, 96)]
    loops = code_of(cases, cpu, "round-products{to=bf16}")
    found = {loop: len(re.findall(instruction, loop)) for loop in loops}
    loops = [loop for loop, times in found.items() if times and times % count == 0]
    assert loops, found
    for loop in loops:
        assert not re.search(r"%rsp|\[sp|vpslld|vfmadd|fmla|\bshl", loop), loop


@pytest.mark.parametrize(
    ("case", "changes", "instruction"),
    [
        (pairs_product(64, 2048), "round-products{to=bf16}", r"tdpbf16ps\s"),
        (product((64, 2048), (2048, 64), (np.uint8, np.int8)), "", r"tdpbusd\s"),
    ],
)
def test_tiles_of_a_matrix_stay_in_registers(case: Case, changes: str, instruction: str) -> None:
    """Two tiles of rows by two of columns: a load for each product."""
    loops = [
        loop for loop in code_of([case], "x86_64-linux-gnu:sapphirerapids", changes) if re.search(instruction, loop)
    ]
    assert loops
    for loop in loops:
        products = len(re.findall(instruction, loop))
        assert products % 4 == 0 and len(re.findall(r"tileloadd\s", loop)) == products
        assert not re.search(r"tilestored|%rsp", loop), loop


def rounded_product(bits: int, rows: int, depth: int) -> Case:
    """A product by a block-quantised weight, whose rows may be rounded to bytes."""

    def case(m: Model) -> SSAValue:
        weight, scale = m.weight(256, depth * bits // 8, dtype=np.uint8), m.weight(256, depth // 32)
        matrix = m(BlockWeightOp(weight, scale, bits=bits, block=32, depth=depth, middle=2 ** (bits - 1)))
        return m(MatmulOp(m.input(rows, depth), matrix, transpose_b=True, lhs_as=i8))

    return case


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("cpu", "bits", "rows", "instruction", "count"),
    [
        ("x86_64-linux-gnu:znver4", 4, 6, r"vpdpbusd\s.*zmm", 96),
        ("x86_64-linux-gnu:sapphirerapids", 2, 1, r"vpdpbusd\s.*zmm", 16),
        ("x86_64-linux-gnu:sapphirerapids", 8, 6, r"vpdpbusd\s.*zmm", 96),
        ("x86_64-linux-gnu:alderlake", 4, 2, r"vpdpbusd\s.*ymm", 32),
        ("x86_64-linux-gnu:x86-64-v4", 4, 6, r"vpmaddubsw\s.*zmm", 24),
        ("x86_64-linux-gnu:x86-64-v4", 8, 1, r"vpmaddwd\s.*zmm", 4),
        ("x86_64-linux-gnu:x86-64-v3", 4, 2, r"vpmaddubsw\s.*ymm", 8),
        ("x86_64-linux-gnu:x86-64-v3", 2, 2, r"vpmaddubsw\s.*ymm", 16),
        ("x86_64-linux-gnu:x86-64", 4, 1, r"pmaddwd\s", 8),
        ("aarch64-linux-gnu:neoverse-n1", 4, 1, r"sdot\s", 16),
        ("aarch64-linux-gnu:neoverse-n1", 8, 1, r"sdot\s", 16),
        ("aarch64-linux-gnu:neoverse-v1", 4, 3, r"sdot\s", 48),
        ("aarch64-linux-gnu:neoverse-v1", 8, 3, r"usdot\s", 48),
    ],
)
def test_numbers_of_few_bits_are_multiplied_as_bytes(
    cpu: str, bits: int, rows: int, instruction: str, count: int
) -> None:
    """A loop has the products of a block, or of a word; numbers are unpacked in registers, and sums stay there."""
    loops = code_of([rounded_product(bits, rows, 256), rounded_product(bits, rows, 512)], cpu)
    found = {loop: len(re.findall(instruction, loop)) for loop in loops}
    assert count in found.values(), found.values()
    for loop in (loop for loop, times in found.items() if times == count):
        assert not re.search(r"mm\d+.*%rsp|%rsp.*mm\d|\b[qd]\d+,.*\[sp", loop), loop
