"""Compiles loop-level MLIR text and calls its functions with numpy arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.context import Context
from xdsl.dialects import builtin, func, math, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from mini_infer.dialects.extensions.arith import Arith
from mini_infer.dialects.extensions.llvm import LLVM
from mini_infer.dialects.extensions.memref import MemRef
from mini_infer.dialects.extensions.vector import Vector
from mini_infer.dialects.kernel.calls import Kernel
from mini_infer.dialects.kernel.targets import CpuAttr
from mini_infer.lowering.loops_to_llvm.emit_llvm_ir import emit_llvm_ir
from mini_infer.lowering.loops_to_llvm.expand_math import ExpandMath
from mini_infer.lowering.loops_to_llvm.lower_to_llvm import LowerToLlvm
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.device import Code as MachineCode
from mini_infer.runtime.native.cpu_targets import machine_of, target_attribute
from mini_infer.runtime.native.llvmlite_calls import compile_to_object, emit_assembly
from mini_infer.runtime.native.loaded_code import loaded

DTYPES: dict[str, Any] = {
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}
"""The element types of the IR in numpy."""


@cache
def context() -> Context:
    """Knows the dialects of the loops and llvm levels."""
    made = Context()
    for dialect in (builtin.Builtin, Arith, func.Func, Kernel, LLVM, math.Math, MemRef, scf.Scf, Vector):
        made.load_dialect(dialect)
    return made


def parse(text: str) -> ModuleOp:
    """A verified module."""
    module = Parser(context(), text).parse_module()
    module.verify()
    return module


def target(cpu: str = "", vector_bits: int = 0) -> CpuAttr:
    """The host, or another CPU by name, with its widest vectors or others."""
    return target_attribute(EngineConfig(threads=1, vector_bits=vector_bits or None), cpu)


def lowered(text: str, vector_bits: int = 0, cpu: str = "") -> ModuleOp:
    """The llvm dialect module of loop-level text, verified."""
    module = parse(text)
    module.attributes["kernel.target"] = target(cpu, vector_bits)
    ExpandMath().apply(context(), module)
    module.verify()
    LowerToLlvm().apply(context(), module)
    module.verify()
    return module


def llvm_ir(text: str, vector_bits: int = 0, cpu: str = "") -> str:
    """LLVM IR text of loop-level text; the llvm dialect module in between must survive print and parse."""
    module = lowered(text, vector_bits, cpu)
    ir = emit_llvm_ir(module)
    assert emit_llvm_ir(parse(str(module))) == ir
    return ir


def assembly(text: str, cpu: str = "", vector_bits: int = 0) -> str:
    """Assembly for `cpu`, by default the host."""
    return emit_assembly(llvm_ir(text, vector_bits, cpu), machine_of(target(cpu, vector_bits)))


class Code:
    """Functions of loop-level text, callable with arrays, ints and floats."""

    def __init__(self, text: str, cpu: str = "", vector_bits: int = 0, opt_level: int = 3) -> None:
        machine = machine_of(target(cpu, vector_bits))
        data = compile_to_object(llvm_ir(text, vector_bits, cpu), machine, opt_level)
        self.code: MachineCode = loaded([data])

    def __call__(self, name: str, *arguments: Any) -> None:
        """Calls a function without results; arrays are passed by the address of their first element."""
        prepare(self.code, name, *arguments)()


def prepare(code: MachineCode, name: str, *arguments: Any) -> Callable[[], None]:
    """A call of a function, ready to be repeated."""
    types: list[Any] = []
    values: list[Any] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            types.append(ctypes.c_void_p)
            values.append(argument.ctypes.data)
        else:
            types.append(ctypes.c_float if isinstance(argument, float) else ctypes.c_int64)
            values.append(argument)
    function = ctypes.CFUNCTYPE(None, *types)(code.address(name))

    def call() -> None:
        assert arguments is not None  # the arrays live as long as the call
        function(*values)

    return call
