"""The tuner's measurements on this machine, in one file per CPU model in the user's cache.

    {"format": 1, "made_by": "mini_infer 0.1.0 on AuthenticAMD 26 2 1",
     "kernels": {KEY: {"kernel": "conv_3", "taken": 1, "candidates": [{"schedule": "panels", "options": {"mr": 14, ...},
                       "estimated_us": 90.1, "hot_us": 81.2, "cold_us": 95.0, "failed": ""}, ...]}}}

A kernel's key is that of passes/kernels/measured_schedules.py. Compiles read the file, so that the same model gives the
same plan until something is measured again; `digest` is part of the keys of compiled models. Nothing of the compiler is
imported here. An invalid file counts as empty, with a warning that says why.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from ...dialects.atomic_file import atomic_file
from ...dialects.errors import MiniInferError
from ...dialects.json_text import read_json
from ...dialects.regular_file import open_regular, read_regular
from ..file_cache import make_private, user_cache

FORMAT = 1


@dataclass(frozen=True)
class Tried:
    """One candidate schedule: its estimated and measured time in microseconds, or why that is unknown.

    `hot_us` is for repeated runs, `cold_us` for runs after reading as many other bytes as the model's weights have.
    """

    schedule: str
    options: Mapping[str, int]
    estimated_us: float
    hot_us: float | None = None
    cold_us: float | None = None
    failed: str = ""


@dataclass(frozen=True)
class Decision:
    """The candidates tried for a kernel, and the number of the chosen one."""

    kernel: str
    taken: int
    candidates: tuple[Tried, ...]

    @property
    def chosen(self) -> Tried:
        """The chosen candidate."""
        return self.candidates[self.taken]


@dataclass(frozen=True)
class TuningStore:
    """The decisions for one CPU model and one version, in a file."""

    file: Path
    made_by: str

    @classmethod
    def of(cls, cpu: str, folder: Path | None = None) -> TuningStore:
        """The store of a CPU model (kept/cpus.py); in the user's cache, unless a folder is given."""
        version = import_module("mini_infer").__version__
        name = re.sub(r"[^0-9A-Za-z]+", "-", cpu).strip("-").lower() or "cpu"
        return cls((folder or user_cache("tuning")) / f"{name}.json", f"mini_infer {version} on {cpu}")

    def load(self) -> dict[str, Decision]:
        """The decisions by kernel key; empty, with a warning, if the file is invalid.

        A file of another version counts as empty: its options may have another meaning.
        """
        try:
            with open_regular(self.file) as file:
                status = os.fstat(file.fileno())
                if status.st_uid != os.geteuid() or status.st_mode & 0o022:
                    raise ValueError("others may write to it")
                told = read_json(file.read())
            if told["format"] != FORMAT or told["made_by"] != self.made_by:
                return {}
            return {str(key): _decision(each) for key, each in told["kernels"].items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            why = f"there is no {error}" if isinstance(error, KeyError) else getattr(error, "strerror", None) or error
            warnings.warn(
                f"what was measured of kernels is ignored: {self.file} can't be used ({why}); "
                "tune again, or remove the file",
                stacklevel=2,
            )
            return {}

    def add(self, found: Mapping[str, Decision]) -> None:
        """Merges decisions into the file, atomically. Raises MiniInferError if it can't be written."""
        with self._alone():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what can't be understood is written anew
                kernels = {**self.load(), **found}
            told: dict[str, Any] = {"format": FORMAT, "made_by": self.made_by}
            told["kernels"] = {key: asdict(each) for key, each in sorted(kernels.items())}
            with atomic_file(self.file) as stream:
                stream.write(json.dumps(told, indent=1).encode())

    @contextmanager
    def _alone(self) -> Generator[None]:
        """A lock between processes, without which an update between reading and writing would be lost."""
        try:
            make_private(self.file.parent)
            flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe is not waited for
            lock = os.fdopen(os.open(self.file.with_suffix(".lock"), flags), "wb")
        except OSError as error:
            raise MiniInferError(f"{self.file}: can't be written: {error.strerror}") from None
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def digest(self) -> str:
        """A digest of the file's decisions; "" without a file."""
        with suppress(OSError):
            return hashlib.sha256(self.made_by.encode() + read_regular(self.file)).hexdigest()
        return ""


def _decision(told: Any) -> Decision:
    """A decision from JSON. Raises ValueError, KeyError, TypeError or AttributeError if it is invalid."""
    tried = tuple(
        Tried(
            str(each["schedule"]),
            {str(name): int(value) for name, value in each["options"].items()},
            float(each["estimated_us"]),
            None if each["hot_us"] is None else float(each["hot_us"]),
            None if each["cold_us"] is None else float(each["cold_us"]),
            str(each["failed"]),
        )
        for each in cast("list[Any]", told["candidates"])
    )
    taken = int(told["taken"])
    if not 0 <= taken < len(tried):
        raise ValueError(f"kernel {told['kernel']} takes candidate {taken} of {len(tried)}")
    return Decision(str(told["kernel"]), taken, tried)
