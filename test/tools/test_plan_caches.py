"""mini-infer plan of models with caches: what they take for a token, with ranges of sizes, and within a budget."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import pytest
from command_runs import cli, complaint, saved, told
from onnx import parser

import mini_infer as mi
from mini_infer.tools.reports.plan_tables import beside, plan_table

MODEL = """<ir_version: 9, opset_import: ["" : 18]>
g (float[batch, 2, sequence, 16] x, float[batch, 2, past, 16] "past_key_values.0.key",
   float[batch, 2, past, 16] "past_key_values.0.value")
=> (float[batch, 2, sequence, 16] y, float[batch, 2, total, 16] "present.0.key",
    float[batch, 2, total, 16] "present.0.value")
{ y = Relu (x)
  "present.0.key" = Concat <axis = 2> ("past_key_values.0.key", y)
  "present.0.value" = Concat <axis = 2> ("past_key_values.0.value", x) }"""
TOKEN = 2 * 2 * 16 * 4  # bytes in all caches
RANGES = ("--range", "sequence=1,1,8", "--range", "past=0,16,56", "--dim", "batch=1", "-j", "1")
FIXED = ("--dim", "batch=1", "--dim", "sequence=1", "--dim", "past=9", "-j", "1")
NAMED = (
    "caches by their names: past_key_values.0.key=present.0.key and 1 more; --no-cache-names plans without",
    "--cache",
    "past_key_values.0.key=present.0.key",
    "--cache",
    "past_key_values.0.value=present.0.value",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return saved(cast("Any", parser).parse_model(MODEL), tmp_path)


def caches_line(text: str) -> tuple[int, ...]:
    """Bytes now, the caches, bytes of a token, bytes of the room, and its tokens."""
    found = re.search(
        r"^caches +([\d,]+) bytes .* \((\d+)\), outside of the arena\n  a token +([\d,]+) bytes .*\n"
        r"  room +([\d,]+) bytes .* for ([\d,]+) tokens; on a CPU, a page of it takes memory once used$",
        text,
        re.MULTILINE,
    )
    assert found is not None, text
    return tuple(int(each.replace(",", "")) for each in found.groups())


def test_caches_that_passes_add_are_planned_with_ranges(path: Path) -> None:
    """Scales of caches of bytes are inputs that the model doesn't have."""
    token = 2 * 2 * (16 + 4)
    narrow = told("plan", path, *RANGES, "--cache-type", "int8")
    assert caches_line(narrow) == (17 * token, 4, token, 64 * token, 64)
    assert "sequence=1,past=16" in told("run", path, *RANGES, *NAMED[1:], "--cache-type", "int8", "--repeat", "1")


def test_a_plan_tells_what_caches_take(path: Path) -> None:
    named, given = told("plan", path, *FIXED), told("plan", path, *FIXED, *NAMED[1:])
    assert caches_line(named) == caches_line(given) == (10 * TOKEN, 2, TOKEN, 10 * TOKEN, 10)
    assert named.endswith(f"{NAMED[0]}\n") and "by their names" not in given
    without = told("plan", path, *FIXED, "--no-cache-names")
    assert "caches" not in without and "(3), outside" in without
    table = told("plan", path, *FIXED, "--table")
    assert re.search(rf"^past_key_values\.0\.value +{5 * TOKEN:,} .* \(cache\) present\.0\.value$", table, re.MULTILINE)


def test_a_gpu_has_the_same_caches(path: Path) -> None:
    told_of = [caches_line(told("plan", path, *FIXED[:-2], *device)) for device in ((), ("--device", "cuda-emulated"))]
    assert told_of[0] == told_of[1]


def test_a_plan_tells_of_caches_by_length(path: Path) -> None:
    text = told("plan", path, *RANGES)
    rows = re.findall(r"^ *sequence=\d+,past=(\d+) +([\d,]+) ", text, re.MULTILINE)
    assert [(int(past), int(size.replace(",", ""))) for past, size in rows] == [
        (16, 17 * TOKEN),
        (0, TOKEN),
        (56, 64 * TOKEN),
    ]
    assert caches_line(text) == (17 * TOKEN, 2, TOKEN, 64 * TOKEN, 64)
    assert re.search(r"^weights +[\d,]+ bytes", text, re.MULTILINE) and "is cut" not in text


def test_a_budget_cuts_what_is_planned(path: Path) -> None:
    text = told("plan", path, *RANGES, "--cache-memory", f"{20 * TOKEN}")
    assert re.findall(r"^ *(sequence=\d+,past=\d+) ", text, re.MULTILINE) == [
        "sequence=1,past=16",
        "sequence=1,past=0",
        "sequence=1,past=19",
    ]
    assert f"past is cut from 56 to 19 by --cache-memory {20 * TOKEN}\n" in text
    assert caches_line(text)[3:] == (20 * TOKEN, 20)
    assert complaint("plan", path, *RANGES, "--cache-memory", "9").startswith("--cache-memory: 9 bytes hold no token")
    beyond = cli("plan", path, *RANGES, "--cache-memory", "5K", "--at", "past=33")
    assert beyond.exit_code == 1 and "must be from 0 to 18: cache_memory='5K' holds 19 tokens" in beyond.stderr
    assert "does nothing without caches" in complaint("plan", path, *RANGES, "--cache-memory", "5K", "--no-cache-names")


def test_programs_read_of_caches(path: Path, tmp_path: Path) -> None:
    (key, _) = facts("plan", path, *FIXED)["caches"]
    assert key == {
        "input": "past_key_values.0.key",
        "output": "present.0.key",
        "type": "float32",
        "past": [1, 2, 9, 16],
        "present": [1, 2, 10, 16],
        "room": [1, 2, 10, 16],
        "axis": 2,
        "bytes": 5 * TOKEN,
        "room_bytes": 5 * TOKEN,
        "token_bytes": TOKEN // 2,
    }
    found = facts("plan", path, *RANGES, "--cache-memory", f"{20 * TOKEN}")
    assert found["cut"] == {"past": 19}
    assert [each["memory"]["caches_bytes"] // TOKEN for each in found["shapes"]] == [17, 1, 20]
    assert found["shapes"][0]["memory"]["cache_tokens"] == 20
    assert found["shapes"][0]["memory"]["cache_token_bytes"] == TOKEN
    assert found["shapes"][2]["caches"][1]["present"] == [1, 2, 20, 16]


def facts(*arguments: str | Path) -> Any:
    return json.loads(told(*arguments, "--json", "-"))


def test_reports_show_caches(path: Path, tmp_path: Path) -> None:
    page = tmp_path / "arena.html"
    told("plan", path, *FIXED, "--html", page)
    caches = {f"past_key_values.0.{part}": f"present.0.{part}" for part in ("key", "value")}
    plan = mi.plan_memory(path, 1, dims={"batch": 1, "sequence": 1, "past": 9}, caches=caches)
    line = beside(plan)
    assert f"caches {10 * TOKEN / 1000:.3f} kB ({TOKEN} B a token, room for 10), inputs 128 B" in line
    assert line.replace(">", "&gt;") in page.read_text()
    assert f"caches        {10 * TOKEN:>14,} bytes" in plan_table(plan)
    symbolic = mi.plan_memory(
        path,
        1,
        profile=mi.OptimizationProfile(dims={"batch": (1, 1, 1), "sequence": (1, 1, 8), "past": (0, 16, 56)}),
        caches=caches,
    )
    assert (symbolic.tokens, symbolic.token_bytes) == (64, TOKEN)
    assert str(symbolic.caches[0].bytes) == "past * 128 + sequence * 128"
    assert mi.plan_memory(path, 1, dims={"batch": 1, "sequence": 1, "past": 9}).caches == ()
