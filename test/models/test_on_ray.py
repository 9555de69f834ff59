"""Models on a cluster of Ray's, with real Ray: datasets, workers that die, requests."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models.build import mobilenet
from models.judging import assert_same_bits
from onnx import ModelProto

import mini_infer as mi
from mini_infer.dialects.graph.values import Array
from mini_infer.runtime.cluster import deployment, infer
from mini_infer.runtime.cluster.nodes import Model

ray: Any = pytest.importorskip("ray", reason="Ray is not installed: pip install 'mini-infer[ray]'")
pytestmark = pytest.mark.slow

COUNT = 50
X = np.random.default_rng(5).standard_normal((COUNT, 3, 28, 28)).astype(np.float32)


def model() -> ModelProto:
    return mobilenet(batch="batch")


@pytest.fixture(scope="module")
def expected() -> dict[str, Array]:
    """What one engine makes of all rows."""
    return mi.compile(model(), 1, dims={"batch": COUNT}, cache=False)({"x": X})


@pytest.fixture(scope="module")
def data() -> Generator[Any]:
    """ray.data, on a cluster of this machine with four cores, whether it has them or not."""
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    yield import_module("ray.data")
    ray.shutdown()


def dataset(data: Any) -> Any:
    """Rows with the numbers of the pictures, and the pictures."""
    pictures = ray.put(X)

    def with_pictures(batch: dict[str, Array]) -> dict[str, Array]:
        return {"number": batch["id"], "picture": ray.get(pictures)[batch["id"]]}

    return data.range(COUNT).map_batches(with_pictures, batch_format="numpy")


def workers() -> list[int]:
    """The processes that are workers of this one's cluster."""
    parents: dict[int, int] = {}
    named: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(process.name)] = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            if b"MapBatches(Worker)" in (process / "cmdline").read_bytes():
                named.append(int(process.name))
        except OSError:  # it has ended
            continue

    def is_ours(number: int) -> bool:
        return number == os.getpid() or (number in parents and is_ours(parents[number]))

    return [number for number in named if is_ours(number)]


def by_number(rows: list[dict[str, Any]]) -> dict[str, Array]:
    rows.sort(key=lambda row: row["number"])
    assert [row["number"] for row in rows] == list(range(COUNT))
    return {name: np.stack([row[name] for row in rows]) for name in rows[0] if name != "number"}


def test_a_dataset_has_a_result_for_each_row(data: Any, expected: dict[str, Array], tmp_path: Path) -> None:
    settings: dict[str, Any] = {"rows": 8, "dim": "batch", "batch_size": 11, "cache": str(tmp_path)}
    made = infer(
        dataset(data), model().SerializeToString(), workers=2, columns={"x": "picture"}, keep=["number"], **settings
    )
    assert_same_bits(by_number(made.take_all()), expected)
    assert len([*(tmp_path / "models").glob("*.entry")]) == 1


def test_what_a_worker_leaves_undone_is_done_again(data: Any, expected: dict[str, Array], tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(model().SerializeToString())
    settings: dict[str, Any] = {"rows": 2, "dim": "batch", "batch_size": 2, "cache": str(tmp_path / "cache")}
    made = infer(dataset(data), path, workers=2, columns={"x": "picture"}, keep=["number"], **settings)
    rows: list[dict[str, Any]] = []
    for row in made.iter_rows():
        if not rows:
            victims = workers()
            assert victims
            os.kill(victims[0], signal.SIGKILL)
        rows.append(row)
    assert_same_bits(by_number(rows), expected)


def test_workers_of_a_node_share_the_weights(data: Any, tmp_path: Path) -> None:
    class Probe:
        def __init__(self, opened: Model) -> None:
            self.rows = opened.open()

        def told(self) -> tuple[int, list[str]]:
            with open("/proc/self/maps") as file:
                return os.getpid(), [line for line in file.read().splitlines() if ".entry" in line]

    opened = Model(model().SerializeToString(), dim="batch", rows=4, cache=str(tmp_path)).shared()
    probes = [ray.remote(num_cpus=1)(Probe).remote(opened) for _ in range(2)]
    told = ray.get([probe.told.remote() for probe in probes])
    assert told[0][0] != told[1][0]
    (file,) = (tmp_path / "models").glob("*.entry")
    for _, lines in told:
        assert any(str(file) in line and " r--" in line for line in lines), lines


def test_a_column_that_is_not_there_is_named(data: Any, tmp_path: Path) -> None:
    made = infer(dataset(data), model().SerializeToString(), workers=1, dim="batch", cache=str(tmp_path))
    with pytest.raises(Exception, match="the dataset has no column x; it has number, picture"):
        made.take_all()


def test_a_deployment_answers_handles_and_http(data: Any, tmp_path: Path, expected: dict[str, Array]) -> None:
    serve: Any = import_module("ray.serve")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve.start(http_options={"host": "127.0.0.1", "port": port})
    try:
        settings: dict[str, Any] = {"rows": 8, "dim": "batch", "cache": str(tmp_path)}
        handle = serve.run(deployment(model().SerializeToString(), wait=100.0, **settings))
        answers = [handle.infer.remote({"x": x}) for x in X[:8]]  # which are there before any of them is run
        assert len([answer.result(timeout_s=60) for answer in answers]) == 8
        handle = serve.run(deployment(model().SerializeToString(), **settings))
        with pytest.raises(Exception, match=r"input 'x' has shape \[3, 28\] instead of \[3, 28, 28\]"):
            handle.infer.remote({"x": X[0, :, 0]}).result(timeout_s=60)
        answers = [handle.infer.remote({"x": x}) for x in X]
        for number, answer in enumerate(answers):
            assert_same_bits(answer.result(timeout_s=60), {name: array[number] for name, array in expected.items()})
        url = f"http://127.0.0.1:{port}/"
        file = io.BytesIO()
        np.savez(file, x=X[3])
        with np.load(io.BytesIO(_posted(url, file.getvalue(), "application/octet-stream"))) as found:
            assert_same_bits(dict(found), {name: array[3] for name, array in expected.items()})
        body = json.dumps({"x": X[3].tolist()}).encode()
        for name, values in json.loads(_posted(url, body, "application/json")).items():
            np.testing.assert_array_equal(np.array(values, np.float32), expected[name][3])
        for wrong, told in ((b'{"y": 1}', "there is no input"), (b"{", ""), (b"[1]", "no object")):
            with pytest.raises(urllib.error.HTTPError) as error:
                _posted(url, wrong, "application/json")
            assert error.value.code == 400 and told in json.loads(error.value.read())["error"]
        with pytest.raises(urllib.error.HTTPError) as error:
            _posted(url, b"no file", "application/octet-stream")
        assert "the request is no .npz file" in json.loads(error.value.read())["error"]
    finally:
        serve.shutdown()


def _posted(url: str, body: bytes, kind: str) -> bytes:
    request = urllib.request.Request(url, body, {"Content-Type": kind})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read()
