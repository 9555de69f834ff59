"""`mini-infer bisect`: which pass makes an output wrong, and which kernel and ONNX node then."""
