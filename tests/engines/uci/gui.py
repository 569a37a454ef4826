"""A fake GUI: runs the engine as a process and exchanges lines with it."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
import time

COMMAND = [sys.executable, "-m", "sylvan.engines.uci"]


class Gui:
    """An engine process; a `with` block ends it. By default it uses `material`, which is fast."""

    def __init__(self, command: list[str] | None = None, weights: str = "material") -> None:
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            command or COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.lines: queue.Queue[str] = queue.Queue()
        self.heard: list[str] = []
        self.errors: list[bytes] = []
        for target in (self._listen, self._listen_to_errors):
            threading.Thread(target=target, daemon=True).start()
        if command is None:
            self.send(f"setoption name WeightsFile value {weights}")

    def _listen(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line.decode().rstrip("\n"))

    def _listen_to_errors(self) -> None:
        self.errors.extend(self.process.stderr)

    def send(self, *lines: str | bytes) -> None:
        for line in lines:
            data = line if isinstance(line, bytes) else line.encode()
            self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def until(self, start: str, seconds: float = 20.0) -> str:
        """Return the next line with this prefix; all lines read are in `heard`."""
        end = time.perf_counter() + seconds
        while True:
            try:
                line = self.lines.get(timeout=max(0.001, end - time.perf_counter()))
            except queue.Empty:
                raise AssertionError(
                    f"no {start!r} in {seconds} s; heard {self.heard[-5:]}, {self.errors}"
                ) from None
            self.heard.append(line)
            if line.startswith(start):
                return line

    def ask(self, *lines: str, answer: str = "bestmove", seconds: float = 20.0) -> str:
        self.send(*lines)
        return self.until(answer, seconds)

    def __enter__(self) -> Gui:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
        if not self.process.stdin.closed:
            self.process.stdin.close()
