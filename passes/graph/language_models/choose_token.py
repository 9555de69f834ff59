"""choose-token: a language model gives the next token of each sequence in place of its logits.

before:  func.return %logits, %present : tensor<2x7x512xf32>, ..
after:   %last = graph.reshape (graph.slice %logits [.., 6:7, ..])            tensor<2x512xf32>
         %next = graph.arg_max %last {axis = 1, keepdims}                    tensor<2x1xi64>
         func.return %next, %present

With a `top_k` other than 1 the token is drawn: main takes "temperature" [1] and numbers in [0, 1) as "uniform"
[sequences, 1], the only source of chance. It is the first one up to which the sum of probabilities exceeds "uniform"
times their total. With 0 all tokens are summed up in their order; otherwise the `top_k` most likely ones, by descending
probability, and of these those before which probabilities sum up to less than the input "top_p" [1].

Runs only where it is asked for. The logits are the first output of floats with three dimensions that is no cache.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
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
from ....dialects.graph.kv_cache_attributes import cache_of
from ....dialects.graph.ops.conversion import CastOp
from ....dialects.graph.ops.elementwise import DivOp, LessEqualOp, LessOp, MinOp, MulOp, SubOp, WhereOp
from ....dialects.graph.ops.indexing import GatherElementsOp
from ....dialects.graph.ops.movement import ReshapeOp, SliceOp
from ....dialects.graph.ops.reduction import ArgMaxOp, CumsumOp, ReduceMaxOp, ReduceSumOp, SoftmaxOp
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
        caches = {cache.place for each in main.arg_attrs or () if (cache := cache_of(each)) is not None}
        places = [
            number
            for number, value in enumerate(end.operands)
            if number not in caches and len(shape_of(value)) == 3 and is_float(element_type_of_value(value))
        ]
        if not places:
            raise InvalidModelError("next_token: the model has no logits, an output of floats [batch, tokens, words]")
        if self.top_k < 0:
            raise ConfigError(f"{self.name}: top_k is {self.top_k}")
        writer = _Writer(main, InsertPoint.before(end))
        words = shape_of(end.operands[places[0]])[2]
        row = writer.last_row(end.operands[places[0]])
        if self.top_k == 1:
            token = writer.likeliest(row)
        elif self.top_k == 0:
            token = writer.drawn_from_all(row)
        else:
            token = writer.drawn(row, min(self.top_k, words))
        end.operands[places[0]] = token
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

    def drawn_from_all(self, row: SSAValue) -> SSAValue:
        """A token drawn from all, [batch, 1]."""
        words = shape_of(row)[1]
        likely = self.likelihoods(row, self.emit(ReduceMaxOp(row, (1,), True)))
        last = self.emit(ConstantOp.from_numpy(np.array(words - 1), self.location))
        return self.emit(MinOp(self.passed(likely), last))

    def drawn(self, row: SSAValue, count: int) -> SSAValue:
        """A token drawn from the `count` most likely ones, [batch, 1]."""
        order = self.emit(TopKOp(row, 1, count))
        best = self.emit(GatherElementsOp(row, order, 1))
        likely = self.likelihoods(best, self.emit(SliceOp(best, (0, 0), (shape_of(best)[0], 1))))
        top_p = self.argument("top_p", tensor(f32, (1,)))
        kept = self.emit(LessOp(self.emit(CumsumOp(likely, 1, exclusive=True)), top_p))
        passed = self.passed(self.emit(WhereOp(kept, likely, self.scalar(0, likely))))
        number = self.emit(ReduceSumOp(self.emit(CastOp(kept, i64)), (1,), True))
        last = self.emit(SubOp(number, self.scalar(1, number)))
        return self.emit(GatherElementsOp(order, self.emit(MinOp(passed, last)), 1))

    def likelihoods(self, row: SSAValue, largest: SSAValue) -> SSAValue:
        """The softmax of logits divided by the temperature; of their differences, which no temperature overflows."""
        below = self.emit(SubOp(row, largest))
        return self.emit(SoftmaxOp(self.emit(DivOp(below, self.argument("temperature", tensor(f32, (1,))))), 1))

    def passed(self, likely: SSAValue) -> SSAValue:
        """How many sums of probabilities are at most "uniform" times their total, [batch, 1].

        By rounding that may be all of them.
        """
        batch, count = shape_of(likely)
        uniform = self.argument("uniform", tensor(f32, (batch, 1)))
        reached = self.emit(CumsumOp(likely, 1))
        total = self.emit(SliceOp(reached, (0, count - 1), (batch, count)))
        passed = self.emit(LessEqualOp(reached, self.emit(MulOp(uniform, total))))
        return self.emit(ReduceSumOp(self.emit(CastOp(passed, i64)), (1,), True))
