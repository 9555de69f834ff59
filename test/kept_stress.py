"""Two processes that build and read one kept model at once, and are killed at random: `python -m kept_stress 1000`.

Processes are forks of this one, which has the compiler in memory, so that a round takes as long as compiling a small
model. They write the entry in small pieces, so that many are killed in the middle of it. Before a round the entry may
be removed, cut short or changed in one bit. No process may ever come to another result than a compile that keeps
nothing; what was killed doesn't matter to the next ones.
"""

from __future__ import annotations

import io
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from models.build import example_inputs
from models.small import mlp
from no_cache import compile_always
from typing_extensions import override

import mini_infer as mi
from mini_infer.runtime.compile.plan_builder import Builder
from mini_infer.runtime.kept import container
from mini_infer.runtime.kept import model_cache as cache

Array = np.ndarray[Any, np.dtype[Any]]
RIGHT, WRONG, COMPILED = 0, 3, 4
PIECE = 2048  # bytes that are written at once
PAUSE = 0.0005  # seconds between them


class _Slow(io.RawIOBase):
    """A file that is written to in pieces, each of which is on the disk before the next."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    @override
    def write(self, data: Any, /) -> int:
        view = memoryview(data).cast("B")
        for at in range(0, len(view), PIECE):
            self._file.write(view[at : at + PIECE])
            self._file.flush()
            time.sleep(PAUSE)
        return len(view)

    @override
    def seek(self, at: int, whence: int = 0, /) -> int:
        return self._file.seek(at, whence)

    @override
    def truncate(self, size: int | None = None, /) -> int:
        return self._file.truncate(size)


def _written_slowly(
    file: BinaryIO, about: dict[str, Any], blobs: Sequence[container.Blob], names: Sequence[str]
) -> None:
    container.write(_Slow(file), about, blobs, names)  # pyright: ignore[reportArgumentType]


def _worker(work: Callable[[], int]) -> int:
    """The id of a process that ends with what `work` tells."""
    process = os.fork()
    if process:
        return process
    try:
        status = work()
    except BaseException as error:
        print(f"a process ended with {error!r}", file=sys.stderr, flush=True)
        status = WRONG
    os._exit(status)


def stress(rounds: int, seed: int, folder: Path) -> Counter[str]:
    """How processes ended in so many rounds; "wrong" must not be among it."""
    chance, model = random.Random(seed), mlp()
    file = folder / "model.onnx"
    file.write_bytes(model.SerializeToString())
    os.utime(file, (1, 1))
    given, kept = example_inputs(model), folder / "cache"
    mi.compile(file, 1, compile_threads=1, cache=False)  # which imports what it takes
    start = time.perf_counter()
    expected = mi.compile(file, 1, compile_threads=1, cache=False)(given)
    taken = time.perf_counter() - start

    def used() -> int:
        compiled: list[bool] = []
        build = Builder.__call__

        def noting(*arguments: Any) -> Any:
            compiled.append(True)
            return build(*arguments)

        Builder.__call__ = noting  # pyright: ignore[reportAttributeAccessIssue]
        cache.write = _written_slowly
        found = mi.compile(file, 1, compile_threads=1, cache=kept)(given)
        same = all(np.array_equal(expected[name], found[name]) for name in expected)
        return WRONG if not same else COMPILED if compiled else RIGHT

    counts = Counter[str]()
    for _ in range(rounds):
        counts[_disturbed(kept, chance)] += 1
        workers = [_worker(used)]
        time.sleep(chance.choice((0, 0, chance.random() * taken)))
        workers.append(_worker(used))
        if chance.random() < 0.7:
            time.sleep(chance.random() * 1.5 * taken)
            for worker in chance.sample(workers, chance.choice((1, 2))):
                os.kill(worker, signal.SIGKILL)
        for worker in workers:
            status = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
            told = {RIGHT: "found", COMPILED: "compiled", -signal.SIGKILL: "killed"}
            counts[told.get(status, "wrong")] += 1
    counts["unfinished files"] = len(list((kept / "models").glob("*.unfinished")))
    return counts


def _disturbed(kept: Path, chance: random.Random) -> str:
    """Does something to the entry, if there is one, or nothing; what that was."""
    for entry in (kept / "models").glob("*.entry"):
        whole = bytearray(entry.read_bytes())
        match chance.randrange(5):
            case 0 | 1:
                entry.unlink()
                return "removed"
            case 2:
                entry.write_bytes(whole[: chance.randrange(len(whole))])
                return "cut short"
            case 3:
                at = chance.choice([index for index, byte in enumerate(whole) if byte])
                whole[at] ^= 1 << chance.randrange(8)
                entry.write_bytes(whole)
                return "changed"
            case _:
                return "left"
    return "none there"


if __name__ == "__main__":
    compile_always()
    with tempfile.TemporaryDirectory() as made:
        print(stress(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, Path(made)))
