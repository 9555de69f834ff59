"""Attention over caches: every way to mask it is one mask of the one op, and computes what ONNX's reference does."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from graph_cases import random
from import_cases import Case, assert_close, check, computed, computed_of_any_size, imported, kinds, one_node

from mini_infer.dialects.errors import InvalidModelError
from mini_infer.dialects.graph.values import Array

ROWS, KEYS = 3, 5
QUERY, KEY, VALUE = random(2, 4, ROWS, 6), random(2, 2, KEYS, 6, seed=1), random(2, 2, KEYS, 3, seed=2)
PAST = [random(2, 2, 2, 6, seed=3), random(2, 2, 2, 3, seed=4)]
LENGTHS = np.array([3, 5])
KEEP = np.random.default_rng(3).random((ROWS, KEYS)) < 0.7


def masks(keys: int) -> list[Array | None]:
    """None, truth values that leave a row without keys, numbers, and such for fewer keys."""
    some = np.random.default_rng(5).random((2, 1, ROWS, keys)) < 0.6
    some[1, 0, 1] = False
    return [None, some, random(4, ROWS, keys, seed=6), some[..., :-2], random(ROWS, 1, seed=7)]


CACHES: list[tuple[str, list[Array | None]]] = [("none", []), ("past", [*PAST]), ("lengths", [None, None, LENGTHS])]
WINDOWS = [(-1, -1), (0, -1), (1, 0), (-1, 1), (2, 1), (9, 9)]


@pytest.mark.thinned(5)
@pytest.mark.parametrize(("cache", "more"), CACHES, ids=[name for name, _ in CACHES])
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("window", WINDOWS)
def test_masks(cache: str, more: list[Array | None], causal: int, window: tuple[int, int]) -> None:
    attributes: dict[str, Any] = {"is_causal": causal, "left_window_size": window[0], "right_window_size": window[1]}
    for mask in masks(KEYS + (2 if cache == "past" else 0)):
        case = Case("Attention", [QUERY, KEY, VALUE, mask, *more], 25, attributes, results=1)
        assert kinds(imported(one_node(case)[0])[0]).count("attention") == 1
        check(case)


@pytest.mark.parametrize("causal", [0, 1])
def test_older_opsets(causal: int) -> None:
    for opset, (cache, more) in product((23, 24), CACHES[:2]):
        for mask in masks(KEYS + (2 if cache == "past" else 0))[:3]:
            check(Case("Attention", [QUERY, KEY, VALUE, mask, *more], opset, {"is_causal": causal}, results=3))
    check(Case("Attention", [QUERY, KEY, VALUE, None, None, None, LENGTHS], 24, {"is_causal": causal}))


def test_one_key_of_a_mask_is_for_all_of_them_in_opset_23() -> None:
    short = random(ROWS, 1, seed=7)
    whole = np.repeat(short, KEYS, 1)
    cases = (one_node(Case("Attention", [QUERY, KEY, VALUE, mask], 23)) for mask in (short, whole))
    given, repeated = cases
    wanted = next(iter(computed(*repeated).values()))
    for compute in (computed, computed_of_any_size):
        assert_close(next(iter(compute(*given).values())), wanted)


@pytest.mark.parametrize("narrow", [np.float16, np.float64])
def test_values_of_another_type(narrow: Any) -> None:
    case = Case("Attention", [QUERY, KEY, VALUE.astype(narrow), KEEP], 24, results=3)
    got = list(computed(*one_node(case)).values())
    wanted = list(computed(*one_node(Case("Attention", [QUERY, KEY, VALUE, KEEP], 24, results=3))).values())
    assert [each.dtype for each in got] == [np.float32, np.float32, narrow]
    for each, other in zip(got, wanted, strict=True):
        assert_close(each.astype(np.float32), other, 1e-3)


def test_softcap() -> None:
    for mask, causal in product(masks(KEYS)[:3], (0, 1)):
        case = Case("Attention", [QUERY, KEY, VALUE, mask], 24, {"softcap": 0.8, "is_causal": causal})
        assert kinds(imported(one_node(case)[0])[0]).count("attention") == 1
        check(case)


def test_a_step_behind_its_past_needs_no_mask() -> None:
    case = Case("Attention", [QUERY[:, :, :1], KEY[:, :, :1], VALUE[:, :, :1], None, *PAST], 24, {"is_causal": 1})
    assert sorted(kinds(imported(one_node(case)[0])[0])) == ["attention", "concat", "concat"]
    check(case)


@pytest.mark.parametrize(
    ("operands", "attributes", "opset", "message"),
    [
        ([None, *PAST, LENGTHS], {}, 24, "nonpad_kv_seqlen can't be combined with past keys"),
        ([None, PAST[0]], {}, 23, "past keys and past values are given together"),
        ([], {"softcap": -1.0}, 23, "a softcap must be larger than 0"),
        ([], {"left_window_size": -2}, 25, "windows of -2 keys to the left and -1 to the right"),
        ([random(ROWS, 3)], {}, 23, r"a mask of shape \[3, 3\] for 5 keys"),
        ([random(ROWS, 6)], {}, 24, r"a mask of shape \[3, 6\] doesn't broadcast"),
    ],
)
def test_wrong_masks(operands: list[Array | None], attributes: dict[str, Any], opset: int, message: str) -> None:
    case = Case("Attention", [QUERY, KEY, VALUE, *operands], opset, attributes)
    with pytest.raises(InvalidModelError, match=rf"the_node \(Attention\): .*{message}"):
        imported(one_node(case)[0])
