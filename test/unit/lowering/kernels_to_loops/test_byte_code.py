"""The inner loop of a product of bytes is the machine's own instruction, on sums that stay in registers."""

from __future__ import annotations

import re

import numpy as np
import pytest
from byte_cases import product
from graph_runs import build

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
    m = build([product((rows, 64), (64, 96), types), product((2 * rows, 96), (96, 160), types)])
    m.module.attributes["kernel.target"] = target_attribute(EngineConfig(threads=1), cpu)
    pipelines.run_phases(m.ctx, m.module, pipelines.phases())
    text = emit_assembly(emit_llvm_ir(m.module), machine_of(cpu_of(m.module)))
    return [found[2] for found in LOOP.finditer(text)]


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("cpu", "rows", "instruction", "count"),
    [
        ("x86_64-linux-gnu:sapphirerapids", 14, r"vpdpbusd\s", 28),
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
