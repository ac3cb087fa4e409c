"""A real browser, driven over a pipe by the DevTools protocol: no driver and no library needed.

Takes a page on disk; gives what the browser makes of it. Remembers everything that the page asks
the network for and everything that goes to the console.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--remote-debugging-pipe",
)

PATIENCE_S = 60.0
"""How long an answer may take on a busy machine."""


def program() -> str | None:
    """The browser of this machine; None without one."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Browser:
    """A browser with one page."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self._loaded = False
        self.requests: list[str] = []
        self.complaints: list[str] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._commands, data) :]
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, page: Path, *, width: int = 1200, scripts: bool = True) -> None:
        """Load a page in a window of this width."""
        self.requests.clear()
        self.complaints.clear()
        self.ask("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.resize(width)
        self._loaded = False
        self.ask("Page.navigate", url=page.as_uri())
        deadline = time.monotonic() + PATIENCE_S
        while not self._loaded:
            assert time.monotonic() < deadline, "the page does not load"
            self._receive()

    def resize(self, width: int) -> None:
        """Give the window another width."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=800,
            deviceScaleFactor=1,
            mobile=False,
        )

    def evaluate(self, expression: str) -> Any:  # noqa: ANN401  # whatever the page has
        """The value of an expression in the page; a promise is waited for."""
        answer = self.ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def _receive(self) -> dict[str, Any]:
        """The next message; events are taken note of."""
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], PATIENCE_S)
            assert ready, "the browser is silent"
            piece = os.read(self._answers, 1 << 20)
            assert piece, "the browser has ended"
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        params = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(params))
            case "Log.entryAdded":
                self.complaints.append(params["entry"]["text"])
            case "Page.loadEventFired":
                self._loaded = True
        return message


@contextmanager
def browser(executable: str) -> Iterator[Browser]:
    """A browser with a profile of its own, which ends and vanishes with the block."""
    profile = tempfile.mkdtemp(prefix="pcapnfs-browser-")
    theirs, commands = (_high(end) for end in os.pipe())
    answers, ours = (_high(end) for end in os.pipe())
    nowhere = os.open(os.devnull, os.O_RDWR)
    process = os.posix_spawn(
        executable,
        [executable, *FLAGS, f"--user-data-dir={profile}"],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_DUP2, nowhere, 1),
            (os.POSIX_SPAWN_DUP2, nowhere, 2),
            (os.POSIX_SPAWN_DUP2, theirs, 3),
            (os.POSIX_SPAWN_DUP2, ours, 4),
        ],
        setpgroup=0,
    )
    for end in (theirs, ours, nowhere):
        os.close(end)
    try:
        yield Browser(commands, answers)
    finally:
        os.close(commands)
        os.close(answers)
        # The group that was made for it above: the browser and its own children.
        os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
        shutil.rmtree(profile, ignore_errors=True)


def _high(end: int) -> int:
    """The same end under a number that does not meet 3 or 4, not inherited."""
    copy = fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(end)
    return copy
