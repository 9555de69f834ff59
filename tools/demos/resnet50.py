"""ResNet-50 as an ONNX model with seeded weights.

The architecture of He et al. ("Deep residual learning for image recognition", 2015) in the variant that strides in the
3x3 convolutions. Weights are scaled to preserve the variance of activations; batch norms are separate nodes, as
exporters leave them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto

STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))  # number of blocks and width of each stage
EXPANSION = 4


class Builder:
    """Nodes and weights of a model under construction; names follow the layers."""

    def __init__(self, seed: int) -> None:
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []
        self.random = np.random.default_rng(seed)

    def weight(self, name: str, array: np.ndarray[Any, np.dtype[Any]]) -> str:
        """A float32 initialiser."""
        return self.constant(name, array.astype(np.float32))

    def constant(self, name: str, array: np.ndarray[Any, np.dtype[Any]]) -> str:
        """An initialiser of the array's type."""
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def node(self, op: str, inputs: list[str], name: str, **attributes: Any) -> str:
        """A node with one result; returns its name."""
        return self.nodes_of(op, inputs, [f"{name}/out"], name, **attributes)[0]

    def nodes_of(self, op: str, inputs: list[str], results: list[str], name: str, **attributes: Any) -> list[str]:
        """A node with the given result names, which it returns."""
        from onnx import helper

        self.nodes.append(helper.make_node(op, inputs, results, name, **attributes))
        return results

    def conv(self, x: str, name: str, inputs: int, outputs: int, size: int, stride: int = 1, gain: float = 2.0) -> str:
        """A convolution and its batch norm; `gain` is 2 before a ReLU, which halves the variance."""
        scale = np.sqrt(gain / (inputs * size * size))
        weight = self.random.standard_normal((outputs, inputs, size, size)) * scale
        pads, strides = [size // 2] * 4, [stride] * 2
        weights = [self.weight(f"{name}.weight", weight)]
        y = self.node("Conv", [x, *weights], name, kernel_shape=[size] * 2, pads=pads, strides=strides)
        statistics = {
            "scale": self.random.uniform(0.9, 1.1, outputs),
            "bias": self.random.normal(0, 0.05, outputs),
            "mean": self.random.normal(0, 0.05, outputs),
            "var": self.random.uniform(0.9, 1.1, outputs),
        }
        given = [self.weight(f"{name}.bn.{key}", value) for key, value in statistics.items()]
        return self.node("BatchNormalization", [y, *given], f"{name}.bn")

    def relu(self, x: str, name: str) -> str:
        return self.node("Relu", [x], f"{name}/relu")


def resnet50(image: int = 224, classes: int = 1000, seed: int = 0, batch: int = 1) -> ModelProto:
    """A ResNet-50 for RGB pictures of image x image pixels: input "image" [batch, 3, H, W], output "softmax/out"."""
    from onnx import TensorProto, helper

    b = Builder(seed)
    x = b.relu(b.conv("image", "stem", 3, 64, 7, 2), "stem")
    x = b.node("MaxPool", [x], "stem/pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for stage, (blocks, width) in enumerate(STAGES, 1):
        for block in range(blocks):
            name, stride = f"stage{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            y = b.relu(b.conv(x, f"{name}.conv1", channels, width, 1), f"{name}.conv1")
            y = b.relu(b.conv(y, f"{name}.conv2", width, width, 3, stride), f"{name}.conv2")
            y = b.conv(y, f"{name}.conv3", width, EXPANSION * width, 1, gain=0.5)
            if block == 0:
                x = b.conv(x, f"{name}.shortcut", channels, EXPANSION * width, 1, stride, gain=1.0)
                channels = EXPANSION * width
            x = b.relu(b.node("Add", [y, x], f"{name}.add"), name)
    x = b.node("GlobalAveragePool", [x], "pool")
    x = b.node("Flatten", [x], "flatten")
    weight = b.random.standard_normal((classes, channels)) / np.sqrt(channels)
    given = [b.weight("classifier.weight", weight), b.weight("classifier.bias", np.zeros(classes))]
    scores = b.node("Gemm", [x, *given], "classifier", transB=1)
    b.node("Softmax", [scores], "softmax", axis=1)
    graph = helper.make_graph(
        b.nodes,
        "resnet50",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [batch, 3, image, image])],
        [helper.make_tensor_value_info("softmax/out", TensorProto.FLOAT, [batch, classes])],
        b.weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
