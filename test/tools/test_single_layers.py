"""tools/bench/layers: layers timed beside other engines, kept in a file, and read back from their names."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mini_infer.dialects.errors import ConfigError
from mini_infer.tools.bench.layers import single_layers as command
from mini_infer.tools.bench.layers.layer_kinds import KINDS, case_of, drawn_cases
from mini_infer.tools.bench.layers.layer_times import Measured, error_of
from mini_infer.tools.bench.layers.single_layers import ordered, read_layers, single_layers, summary
from mini_infer.tools.bench.turns import OURS

SOFTMAX, GEMM = (
    "along_axis:op=Softmax,shape=3x5,axis=0",
    "gemm:batch=,rows=2,depth=8,columns=3,bias=bias,activation=Relu,dtype=float32",
)
BOXES = "suppression:batch=1,classes=2,boxes=9,most=3"
QUICK: dict[str, Any] = {"against": "onnxruntime", "seconds": 0.001}


def test_layers_are_measured_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "layers.json"
    single_layers(again=[SOFTMAX, BOXES], file=file, **QUICK)
    single_layers(again=[GEMM], file=file, **QUICK)
    printed = capsys.readouterr().out
    assert [name in printed for name in (SOFTMAX, BOXES, GEMM)] == [True] * 3
    kept = read_layers(file)
    assert [name for name, _ in kept] == [SOFTMAX, BOXES, GEMM]
    for each in kept.values():
        assert list(each.least) == list(each.medians) == [OURS, "onnxruntime"]
        assert each.error is not None and each.error < 1e-6
        assert not each.wrong and not each.failed


def test_a_draw_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, done = tmp_path / "layers.json", list[str]()

    def measured(case: Any, *_: object) -> Measured:
        done.append(case.name)
        times = {OURS: 2.0 + len(done), "onnxruntime": 3.0}
        return Measured(case.kind, case.name, 1, times, times)

    monkeypatch.setattr(command, "measure", measured)
    single_layers(count=2, kinds="pool", file=file, **QUICK)
    single_layers(count=3, kinds="pool", file=file, **QUICK)
    assert done == [each.name for each in islice(drawn_cases(1, ["pool"]), 3)]
    single_layers(worst=1, file=file, **QUICK)
    assert done[3] == done[2]  # the slowest beside the peer
    assert len(json.loads(file.read_text())["layers"]) == 3


def test_a_name_says_all_of_a_layer() -> None:
    cases = list(islice(drawn_cases(7), 300))
    assert {each.kind for each in cases} == set(KINDS)
    assert [case_of(each.name) for each in cases] == cases


def test_errors_of_results() -> None:
    ones, twos = np.ones(2, np.float32), np.full(2, 2, np.float32)
    assert error_of([ones], [twos]) == 0.5
    assert error_of([np.arange(4)], [np.array([0, 1, 2, 0])]) == 0.25
    assert error_of([ones], [np.ones(3, np.float32)]) == float("inf")
    assert error_of([ones], [np.array([1, np.inf], np.float32)]) == float("inf")


def test_shares_and_means_by_kind() -> None:
    times = {"a": 2.0, "b": 0.9, "c": 0.5}
    layers = [Measured("pool", name, 1, {OURS: 1.0, "openvino": time}) for name, time in times.items()]
    alone = Measured("pool", "d", 1, {OURS: 1.0})
    assert [each.name for each in ordered([alone, *layers])] == ["c", "b", "a"]
    table = summary([*layers, alone])
    cells = [list(column.cells) for column in table.columns]
    assert [column[0] for column in cells] == ["all", "3", "33%", "67%", "0.50", "0.97"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"against": "tract"}, "--against tract: there are onnxruntime, openvino"),
        ({"kinds": "pols"}, "there is no kind pols; there are conv, "),
        ({"again": ["pol:op=MaxPool"]}, "there is no kind pol; there are conv, "),
        ({"again": ["gemm:rows=1"]}, "the parameters are batch, rows, depth, columns, bias, activation, dtype"),
        ({"again": [BOXES.replace("9", "x")]}, "invalid literal for int"),
    ],
)
def test_mistakes_are_told_in_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        single_layers(**{**QUICK, **options})


def test_another_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "layers.json"
    file.write_text('{"layers": [{"kind": "pool"}]}')
    with pytest.raises(ConfigError, match=r"layers\.json: it isn't written by single_layers"):
        single_layers(count=1, file=file, **QUICK)
