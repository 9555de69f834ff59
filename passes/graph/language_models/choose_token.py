"""choose-token: a language model gives the next token of each sequence in place of its logits.

before:  func.return %logits, %present : tensor<2x7x512xf32>, ..
after:   %last = graph.reshape (graph.slice %logits [.., 6:7, ..])            tensor<2x512xf32>
         %next = graph.arg_max %last {axis = 1, keepdims}                    tensor<2x1xi64>
         func.return %next, %present

With `top_k` larger than 1, or 0 for the whole vocabulary, the token is drawn: main takes "temperature" and "top_p"
[1], and numbers in [0, 1) as "uniform" [sequences, 1], the only source of chance. Of the `top_k` largest logits, by
descending probability, those are kept before which the probabilities sum up to less than top_p; the token is the first
one up to which the sum of the kept ones exceeds "uniform" times their total.

Runs only where it is asked for. The logits are the first output of floats with three dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, f32, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ....dialects.errors import ConfigError, InvalidModelError
from ....dialects.graph.base import GraphOp, named_location
from ....dialects.graph.host import NAME, main_of
from ....dialects.graph.ops.conversion import CastOp
from ....dialects.graph.ops.elementwise import DivOp, LessEqualOp, LessOp, MinOp, MulOp, SubOp, WhereOp
from ....dialects.graph.ops.indexing import GatherElementsOp
from ....dialects.graph.ops.movement import ReshapeOp, SliceOp
from ....dialects.graph.ops.reduction import ArgMaxOp, CumsumOp, ReduceSumOp, SoftmaxOp
from ....dialects.graph.ops.selection import TopKOp
from ....dialects.graph.ops.structure import ConstantOp
from ....dialects.graph.values import element_type_of_value, is_float, numpy_dtype, shape_of, tensor

TOKEN = "next_token"
"""The name of the output."""


@dataclass(frozen=True)
class ChooseToken(ModulePass):
    """A language model gives the next token of each sequence in place of its logits."""

    name = "choose-token"

    top_k: int = 1

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = main_of(op, self.name)
        end = main.body.block.last_op
        assert end is not None
        places = [
            number
            for number, value in enumerate(end.operands)
            if len(shape_of(value)) == 3 and is_float(element_type_of_value(value))
        ]
        if not places:
            raise InvalidModelError("next_token: the model has no logits, an output of floats [batch, tokens, words]")
        if self.top_k < 0:
            raise ConfigError(f"{self.name}: top_k is {self.top_k}")
        writer = _Writer(main, InsertPoint.before(end))
        words = shape_of(end.operands[places[0]])[2]
        row = writer.last_row(end.operands[places[0]])
        count = min(self.top_k or words, words)
        end.operands[places[0]] = writer.drawn(row, count) if count > 1 else writer.likeliest(row)
        writer.rename_result(places[0])


class _Writer:
    """Appends ops and arguments to main."""

    def __init__(self, main: FuncOp, place: InsertPoint) -> None:
        self.main, self.place = main, place
        self.location = named_location(TOKEN)

    def emit(self, op: GraphOp | ConstantOp) -> SSAValue:
        Rewriter.insert_op(op, self.place)
        op.location = self.location
        return op.results[0]

    def scalar(self, value: float, like: SSAValue) -> SSAValue:
        """A constant of the type of `like`."""
        array = numpy_dtype(element_type_of_value(like)).type(value)
        return self.emit(ConstantOp.from_numpy(array.reshape(()), self.location))

    def argument(self, name: str, type: Attribute) -> SSAValue:
        """A new input."""
        block = self.main.body.block
        attributes = [*(self.main.arg_attrs or ())] or [DictionaryAttr({})] * len(block.args)
        self.main.arg_attrs = ArrayAttr([*attributes, DictionaryAttr({NAME: StringAttr(name)})])
        return block.insert_arg(type, len(block.args))

    def rename_result(self, number: int) -> None:
        """Names a result, and states the types that main has now."""
        results = [*(self.main.res_attrs or ())] or [DictionaryAttr({})] * len(self.main.function_type.outputs)
        results[number] = DictionaryAttr({NAME: StringAttr(TOKEN)})
        self.main.res_attrs = ArrayAttr(results)
        self.main.update_function_type()

    def last_row(self, logits: SSAValue) -> SSAValue:
        """The logits [batch, words] behind the last token, as f32."""
        batch, rows, words = shape_of(logits)
        last = self.emit(SliceOp(logits, (0, rows - 1, 0), (batch, rows, words)))
        row = self.emit(ReshapeOp(last, (batch, words)))
        return row if element_type_of_value(row) == f32 else self.emit(CastOp(row, f32))

    def likeliest(self, row: SSAValue) -> SSAValue:
        """The place of the largest logit, [batch, 1]."""
        return self.emit(ArgMaxOp(row, 1, keepdims=True))

    def drawn(self, row: SSAValue, count: int) -> SSAValue:
        """A token drawn from the `count` most likely ones, [batch, 1]."""
        batch = shape_of(row)[0]
        temperature, top_p = (self.argument(name, tensor(f32, (1,))) for name in ("temperature", "top_p"))
        uniform = self.argument("uniform", tensor(f32, (batch, 1)))
        row = self.emit(DivOp(row, temperature))
        order = self.emit(TopKOp(row, 1, count))
        likely = self.emit(SoftmaxOp(self.emit(GatherElementsOp(row, order, 1)), 1))
        kept = self.emit(LessOp(self.emit(CumsumOp(likely, 1, exclusive=True)), top_p))
        likely = self.emit(WhereOp(kept, likely, self.scalar(0, likely)))
        reached = self.emit(CumsumOp(likely, 1))
        total = self.emit(SliceOp(reached, (0, count - 1), (batch, count)))
        passed = self.emit(LessEqualOp(reached, self.emit(MulOp(uniform, total))))
        # Rounding may take the product up to the total, which no sum exceeds.
        numbers = [self.emit(ReduceSumOp(self.emit(CastOp(each, i64)), (1,), True)) for each in (passed, kept)]
        last = self.emit(SubOp(numbers[1], self.scalar(1, numbers[1])))
        return self.emit(GatherElementsOp(order, self.emit(MinOp(numbers[0], last)), 1))
