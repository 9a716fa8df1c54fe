"""A Chromium without a window, spoken to over two pipes: the DevTools protocol, a message of JSON between NULs.

Only what the tests of the page need: load a file, press keys, ask the page, and hear its errors.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PATIENCE_S = 60.0
_KEYS = {"Enter": ("Enter", 13, "\r"), "Tab": ("Tab", 9, ""), "ArrowDown": ("ArrowDown", 40, "")}

# The protocol is spoken on the descriptors 3 and 4, which may be any of these.
_LAUNCH = """
import os, sys
high = [os.dup(os.dup(os.dup(int(number)))) for number in sys.argv[1:3]]
os.dup2(high[0], 3)
os.dup2(high[1], 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""


class Chromium:
    """A browser with one page."""

    def __init__(self, program: str, profile: Path) -> None:
        self._program = program
        self._profile = profile
        self._number = 0
        self._rest = b""
        self.errors: list[str] = []
        """What the page complained of since it was loaded, its policy's refusals among it."""

    def __enter__(self) -> Self:
        to_browser, self._to = os.pipe()
        self._from, from_browser = os.pipe()
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe"]
        flags.append(f"--user-data-dir={self._profile}")
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, str(to_browser), str(from_browser), self._program, *flags, "about:blank"],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_browser)
        os.close(from_browser)
        (target,) = [one for one in self._call("Target.getTargets", {}, "")["targetInfos"] if one["type"] == "page"]
        attached = self._call("Target.attachToTarget", {"targetId": target["targetId"], "flatten": True}, "")
        self._session: str = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._to)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._from)

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """One command to the page; AssertionError when it refuses."""
        return self._call(method, parameters, self._session)

    def load(self, path: Path, scripts: bool = True, width: int = 1280, dark: bool = False) -> None:
        """Show a file, and wait until it is there."""
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        for url in ("about:blank", path.as_uri()):
            self.errors.clear()
            self._loaded = False
            self.call("Page.navigate", url=url)
            until = time.monotonic() + PATIENCE_S
            while not self._loaded:
                self._hear(until)

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def press(self, key: str) -> None:
        """One key, down and up, where the focus is."""
        name, code, text = _KEYS.get(key, (key, 0, key))
        for kind in ("keyDown", "keyUp"):
            typed = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=name, windowsVirtualKeyCode=code, **typed)

    def _call(self, method: str, parameters: dict[str, Any], session: str) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE_S
        while True:
            answer = self._hear(until)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                found: dict[str, Any] = answer["result"]
                return found

    def _hear(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(until - time.monotonic(), 0))
            assert ready, "Chromium says nothing"
            more = os.read(self._from, 1 << 16)
            assert more, "Chromium has ended"
            self._rest += more
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, parameters: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            self.errors.append(str(parameters["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.errors.append(str(parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.errors.append(parameters["entry"]["text"])


def words(found: Sequence[str]) -> list[str]:
    """Texts without what surrounds them."""
    return [" ".join(text.split()) for text in found]
