"""`mini-infer quantize`: ONNX models whose weights of products are integers in blocks, for any runtime."""
