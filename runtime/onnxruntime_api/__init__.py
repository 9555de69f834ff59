"""ONNX Runtime's Python interface on top of mini_infer; programs import `mini_infer.onnxruntime`.

See docs/onnxruntime.md. `session.py` is what they use most; `program_runner.py` makes `import onnxruntime` lead here.
"""
