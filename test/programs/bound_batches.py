"""Pictures in batches, on memory that is bound once: OrtValue, IOBinding and profiling.

    python bound_batches.py classifier.onnx

The model takes one input, float32 [batch, 3, height, width], and gives scores, [batch, classes].
"""

# pyright: basic
import json
import os
import sys
import tempfile

import numpy as np
import onnxruntime as ort


def main() -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(sys.argv[1], sess_options=options, providers=["CPUExecutionProvider"])
    image, scores = session.get_inputs()[0], session.get_outputs()[0]
    size = [side if isinstance(side, int) else 32 for side in image.shape[1:]]
    random = np.random.default_rng(0)
    for batch in (1, 4, 3, 8, 4):
        x = random.standard_normal((batch, *size), dtype=np.float32)
        binding = session.io_binding()
        binding.bind_ortvalue_input(image.name, ort.OrtValue.ortvalue_from_numpy(x))
        binding.bind_output(scores.name)
        session.run_with_iobinding(binding)
        (found,) = binding.copy_outputs_to_cpu()
        y = np.empty(found.shape, np.float32)
        binding.clear_binding_outputs()
        binding.bind_output(scores.name, "cpu", 0, np.float32, list(y.shape), y.ctypes.data)
        session.run_with_iobinding(binding)
        (value,) = session.run_with_ort_values([scores.name], {image.name: ort.OrtValue.ortvalue_from_numpy(x)})
        print(batch, "classes", *found.argmax(1), "largest", *np.round(found.max(1), 3))
        print("the same thrice", bool((y == found).all()), bool(np.allclose(value.numpy(), found, atol=1e-5)))
    with tempfile.TemporaryDirectory() as folder:
        options.enable_profiling = True
        options.profile_file_prefix = os.path.join(folder, "trace")
        session = ort.InferenceSession(sys.argv[1], sess_options=options, providers=["CPUExecutionProvider"])
        session.run(None, {image.name: np.zeros((1, *size), np.float32)})
        with open(session.end_profiling(), encoding="utf-8") as file:
            events = json.load(file)
    print("kernels were timed", any(each["cat"] == "Node" and each["dur"] >= 0 for each in events))


if __name__ == "__main__":
    main()
