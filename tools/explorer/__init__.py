"""A compile as one record: levels, passes, kernels, memory and times, tied together by the names of the ONNX graph."""
