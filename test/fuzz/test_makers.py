"""Every operator that is supported has a maker, which makes it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from backend.pages import HOW
from backend.support import foreign, operators
from fuzz.graphs import grown, makers_of

ML = foreign()["ai.onnx.ml"]
WITHOUT: Mapping[str, str] = {
    f"ai.onnx.ml.{name}": "at the borders of a model, of random trees and tables in their own tests" for name in ML
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
