"""Parts of declarative assembly formats, and of the types in them, that xDSL lacks."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.arith import boolLike
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i1, i64
from xdsl.ir import Attribute
from xdsl.irdl import AttrConstraint, InferenceContext, IRDLOperation, VarConstraint, VerificationContext
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from .replace import expect_same_shape, shaped_like


@dataclass(frozen=True)
class BoolFor(AttrConstraint[Attribute]):
    """i1, or a vector of it with the shape of the type that a variable of other constraints stands for."""

    like: VarConstraint[Attribute]

    @override
    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        boolLike.verify(attr, constraint_context)
        like = constraint_context.get_variable(self.like.name)
        if like is not None:
            expect_same_shape(like, attr)

    @override
    def can_infer(self, var_constraint_names: Set[str]) -> bool:
        return self.like.can_infer(var_constraint_names)

    @override
    def infer(self, context: InferenceContext) -> Attribute:
        return shaped_like(i1, self.like.infer(context))

    @override
    def mapping_type_vars(self, type_var_mapping: object) -> AttrConstraint[Attribute]:
        return self


@irdl_custom_directive
class Word(CustomDirective):
    """A string attribute as a bare identifier."""

    attribute: AttributeVariable

    @override
    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.attribute.set(state, StringAttr(parser.parse_identifier()))

    @override
    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        value = self.attribute.get(op)
        assert isinstance(value, StringAttr)
        printer.print_string(value.data)


class WordOf(CustomDirective):
    """An integer attribute as one of `WORDS`, of which it is the index."""

    WORDS: ClassVar[Sequence[str]]
    TYPE = i64
    QUOTED = False
    attribute: AttributeVariable

    @override
    def parse(self, parser: Parser, state: ParsingState) -> None:
        word = parser.parse_str_literal() if self.QUOTED else parser.parse_identifier()
        if word not in self.WORDS:
            parser.raise_error(f"expected one of {', '.join(self.WORDS)}")
        self.attribute.set(state, IntegerAttr(self.WORDS.index(word), self.TYPE))

    @override
    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        value = self.attribute.get(op)
        assert isinstance(value, IntegerAttr)
        word = self.WORDS[value.value.data]
        printer.print_string(f'"{word}"' if self.QUOTED else word)


@irdl_custom_directive
class ConditionTypes(CustomDirective):
    """The types of a condition and of values: of the values alone where the condition is i1."""

    condition: TypeDirective
    values: TypeDirective

    @override
    def parse(self, parser: Parser, state: ParsingState) -> None:
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        self.condition.set(state, [i1, *types][-2:-1])
        self.values.set(state, types[-1:])

    @override
    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        types = [*self.condition.get(op), *self.values.get(op)]
        printer.print_list(types[types[0] == i1 :], printer.print_attribute)
