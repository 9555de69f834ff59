"""A headless Chromium driven over its debugging pipe: pages are opened, pointed at and asked."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome-headless-shell")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,900")


class Page:
    """One open page. `errors` are what went wrong in it: exceptions, and messages on its console."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self.errors: list[str] = []
        self._write, self._read = to_browser, from_browser
        self._pending = b""
        self._session: str | None = None
        self._count = 0
        self._loaded = False

    def open(self, path: Path) -> None:
        """Opens a file and waits until it is loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not self._loaded:
            self._note(self._message())

    def ask(self, script: str) -> Any:
        """The value of a JavaScript expression; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def point_at(self, x: float, y: float) -> None:
        """Moves the mouse."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the debugging protocol and its answer; what else arrives is noted."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            found = self._message()
            if found.get("id") == self._count:
                assert "error" not in found, found["error"]
                return found["result"]
            self._note(found)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._pending:
            more = os.read(self._read, 1 << 16)
            assert more, "the browser has gone"
            self._pending += more
        text, self._pending = self._pending.split(b"\0", 1)
        return json.loads(text)

    def _note(self, event: dict[str, Any]) -> None:
        parameters = event.get("params", {})
        match event.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Runtime.exceptionThrown":
                self.errors.append(str(parameters["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if parameters["type"] in ("error", "warning", "assert"):
                self.errors.append(str(parameters["args"]))
            case "Log.entryAdded" if parameters["entry"]["level"] == "error":
                self.errors.append(str(parameters["entry"]))
            case _:
                pass


@contextmanager
def open_page(path: Path, profile: Path) -> Generator[Page]:
    """The file in a browser of its own, whose profile goes to a folder of the caller's."""
    assert BROWSER is not None
    browser_reads, we_write = os.pipe()
    we_read, browser_writes = os.pipe()

    def as_three_and_four() -> None:  # where the browser expects them
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (browser_reads, browser_writes)]
        for end, number in zip(ends, (3, 4), strict=True):
            os.dup2(end, number)

    command = [BROWSER, *FLAGS, f"--user-data-dir={profile}", "--remote-debugging-pipe"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        close_fds=False,
        preexec_fn=as_three_and_four,
    )
    os.close(browser_reads)
    os.close(browser_writes)
    try:
        page = Page(we_write, we_read)
        page.open(path)
        yield page
    finally:
        os.close(we_write)
        os.close(we_read)
        process.terminate()
        process.wait(20)
