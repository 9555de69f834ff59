"""From loops to LLVM IR text: `expand-math`, `lower-to-llvm`, and the printer of the llvm dialect.

Read in this order: split_module.py (parts that are compiled apart), expand_math.py, lower_to_llvm.py (functions),
body.py (what a function body is built with), control_flow.py and *_ops.py (one handler per operation),
emit_llvm_ir.py, runtime_ir.py.
"""
