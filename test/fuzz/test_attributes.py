"""Integer attributes that are zero, negative or beyond all sizes: an answer or a MiniInferError, of every operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import pytest
from backend.support import foreign, single_nodes
from fuzz.attributes import strange_attributes
from fuzz.graphs import grown, makers_of
from fuzz.running import SECONDS, limited, outcome
from onnx import ModelProto

import mini_infer as mi
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.lowering.onnx_to_graph import import_onnx
from mini_infer.lowering.onnx_to_graph.operators import HANDLERS

FOREIGN = [f"{domain}.{name}" for domain, names in foreign().items() for name in names if domain]
# Of ai.onnx.ml those that random graphs hold: what is not ONNX's own has no other model.
OPERATORS = sorted(name for name in [*HANDLERS, *FOREIGN] if "." not in name or makers_of(name))


@cache
def single() -> dict[str, ModelProto]:
    """A model of one node for each operator of ONNX's own: that with most attributes."""
    found: dict[str, ModelProto] = {}
    for case in single_nodes():
        (node,) = case.model.graph.node
        if node.op_type not in found or len(node.attribute) > len(found[node.op_type].graph.node[0].attribute):
            found[node.op_type] = case.model
    return found


def imported(model: ModelProto) -> str:
    """How the import of a model ends; anything else than a MiniInferError is raised."""
    try:
        import_onnx(model, ctx=MiniContext())
    except mi.MiniInferError as error:
        return str(error)
    return "imported"


def strange(operator: str) -> dict[str, ModelProto]:
    """Models of an operator, by what is strange of them."""
    name = operator.rpartition(".")[2]
    model = (single().get(name) if name == operator else None) or grown(7, [operator]).model
    return dict(strange_attributes(model, name))


def wrong(models: Mapping[str, ModelProto], end: Callable[[ModelProto], str]) -> dict[str, str]:
    """What models raise, in one process under limits, that is no refusal; raises Died where that is lost."""

    def errors() -> dict[str, str]:
        found: dict[str, str] = {}
        for what, model in models.items():
            try:
                end(model)
            except Exception as error:
                found[what] = f"{type(error).__name__}: {error}"
        return found

    return limited(errors, SECONDS * len(models)) if models else {}


@pytest.mark.thinned(8)
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_strange_integer_is_imported_or_refused(operator: str) -> None:
    assert wrong(strange(operator), imported) == {}


@pytest.mark.slow
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_strange_integer_is_an_answer_or_refused(operator: str) -> None:
    assert wrong(strange(operator), outcome) == {}


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("LpPool p=0", "(LpPool): p is 0; it must be at least 1"),
        ("TfIdfVectorizer max_skip_count=-1", "n-grams of 2 to 2 numbers with up to -1 skips are invalid"),
        ("TfIdfVectorizer min_gram_length=0", "n-grams of 0 to 2 numbers with up to 0 skips are invalid"),
        (
            "TfIdfVectorizer ngram_indexes=[2147483648, 1, 2, 3, 4, 5, 6]",
            "a constant of 2147483649 elements is too much: import makes 1073741824 bytes in all",
        ),
    ],
)
def test_numbers_that_make_no_sense_are_named(what: str, said: str) -> None:
    operator = what.partition(" ")[0]
    assert said in imported(strange(operator)[what])
