"""PyTorch's tensors as inputs and outputs, where PyTorch is installed."""

from __future__ import annotations

from typing import Any

import pytest
from onnx import ModelProto, TensorProto, helper

import mini_infer as mi

torch: Any = pytest.importorskip("torch")


def doubled(element_type: int) -> ModelProto:
    x, y = (helper.make_tensor_value_info(name, element_type, [2, 3]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "doubled", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_bfloat16_is_read_and_written_in_place() -> None:
    engine = mi.compile(doubled(TensorProto.BFLOAT16), 1, cache=False)
    x = torch.tensor([[1, -2, 3], [4, -5, 6.5]], dtype=torch.bfloat16)
    assert engine(x).astype("float32").tolist() == (2 * x.float()).tolist()
    assert engine(x.T.contiguous().T).astype("float32").tolist() == (2 * x.float()).tolist()
    y = torch.zeros(2, 3, dtype=torch.bfloat16)
    context = mi.ExecutionContext(engine.plan)
    context.bind_input("x", x)
    context.bind_output("y", y)
    context.execute()
    assert torch.equal(y, 2 * x)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_what_requires_a_gradient_is_to_be_detached(dtype: str) -> None:
    kind = TensorProto.FLOAT if dtype == "float32" else TensorProto.BFLOAT16
    engine = mi.compile(doubled(kind), 1, cache=False)
    x = torch.ones(2, 3, dtype=getattr(torch, dtype), requires_grad=True)
    with pytest.raises(mi.InvalidInputError, match=r"^input 'x': [^\n]*requires? grad[^\n]*detach\(\)[^\n]*$"):
        engine(x)
    assert engine(x.detach()).shape == (2, 3)
