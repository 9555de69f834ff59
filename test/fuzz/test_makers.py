"""Every operator that is supported has a maker, which makes it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from backend.pages import HOW
from backend.support import foreign, operators
from fuzz.graphs import grown, makers_of

WITHOUT: Mapping[str, str] = {
    "ai.onnx.ml.SVMClassifier": "its classes vote in pairs, and a rounding may turn a vote; in its own tests",
    "ai.onnx.ml.ZipMap": "it makes a sequence of maps, which only leaves a model",
}
"""Operators that have none, and why."""


def supported() -> list[str]:
    """ONNX's own, and those of others with their domain in front."""
    own = [name for name, operator in operators().items() if operator.how in HOW]
    return [*own, *(f"{domain}.{name}".removeprefix(".") for domain, names in foreign().items() for name in names)]


def test_every_supported_operator_has_a_maker() -> None:
    missing = {name for name in supported() if not makers_of(name)}
    assert missing == set(WITHOUT)


@pytest.mark.slow
def test_makers_make_what_they_name() -> None:
    for name in sorted({*supported()} - {*WITHOUT}):
        grown(7, [name])  # raises where no graph holds it


def test_an_operator_that_nobody_makes_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"no graph holds Relu \(. makers\), RandomNormal \(0 makers\)"):
        grown(7, ["Relu", "RandomNormal"])
