"""The project's tests on a GPU, plain and under compute-sanitizer, by pytest in the checkout."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from ....dialects.errors import ConfigError
from .folder import Day, Result

TESTS = Path("test", "cuda")
KEPT = 8000  # characters of the end of what pytest prints
WORKERS = 4  # with pytest-xdist


def checked(choice: str, day: Day, deadline: float) -> Result:
    """How the tests that pytest's option -k chooses went; not done if time was over. Raises ConfigError."""
    del day
    if not TESTS.is_dir():
        raise ConfigError(f"there is no {TESTS} here: tests are run in the folder of a checkout")
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", str(TESTS), "-k", choice]
    command += ["-n", str(WORKERS)] if find_spec("xdist") else []
    paths = os.pathsep.join(filter(None, (str(Path.cwd()), os.environ.get("PYTHONPATH"))))
    env = {**os.environ, "PYTHONPATH": paths}  # for programs that tests start, where the checkout is not installed
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0, env=env
    ) as process:
        try:
            text, _ = process.communicate(timeout=max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # what the tests have started, too
            text, _ = process.communicate()
    counts = {what: int(count) for count, what in re.findall(r"(\d+) (passed|failed|skipped|errors?)\b", text)}
    return {"done": process.returncode in (0, 1), "status": process.returncode, **counts, "output": text[-KEPT:]}


tests = partial(checked, "not sanitizer")
sanitizer = partial(checked, "sanitizer")
