"""Progress of a long step: a line with its duration when it is done, and what it is at in between.

    python benchsite/core/progress.py NAME LOG COMMAND...

runs a command of the set-up as a step, with its output in a log. Standard library only: there may be no packages yet.
"""

import contextlib
import re
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

TERMINAL_INTERVAL_S = 0.2
LOG_INTERVAL_S = 5.0
MAX_DETAIL = 60
SIGNS = "|/-\\"
# What pip and Maven write of a file that they fetch or install.
FETCHED = re.compile(r"(?:Collecting|Downloading(?: from \S+:)?|Using cached) +(\S+)|(Installing) collected packages")
ERROR_LINES = 12


class Step:
    """A context. Writes one line when the step ends well; `tick`, called often, says where it is until then.

    On a terminal that is a line written anew five times a second, elsewhere a line every 5 s.
    """

    def __init__(self, name: str, say: Callable[[str], None] | None = None) -> None:
        self.name = name
        self.say = say or (lambda text: print(text, flush=True))
        self.is_terminal = say is None and sys.stdout.isatty()
        self._interval_s = LOG_INTERVAL_S
        if self.is_terminal:
            self._interval_s = TERMINAL_INTERVAL_S
        self._ticks = 0

    def __enter__(self) -> "Step":
        self._began = self._ticked = time.monotonic()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._rewrite("")
        if kind is None:
            self.say(f"{self.name}: {time.monotonic() - self._began:.1f} s")

    def tick(self, detail: str = "") -> None:
        now = time.monotonic()
        if now - self._ticked < self._interval_s:
            return

        self._ticked = now
        self._ticks += 1
        at = ""
        if detail:
            at = f", {detail[:MAX_DETAIL]}"
        line = f"{self.name}: {now - self._began:.0f} s{at}"
        if self.is_terminal:
            self._rewrite(f"{SIGNS[self._ticks % len(SIGNS)]} {line}")
        else:
            self.say(f"  {line}")

    @contextlib.contextmanager
    def keep_ticking(self) -> Iterator[Callable[[str], None]]:
        """Ticks from a thread, for work that cannot call `tick` often; yields a function that notes the detail."""
        detail = ""
        ended = threading.Event()

        def note(text: str) -> None:
            nonlocal detail
            detail = text

        def tick_until_end() -> None:
            while not ended.wait(TERMINAL_INTERVAL_S):
                self.tick(detail)

        thread = threading.Thread(target=tick_until_end, daemon=True)
        thread.start()
        try:
            yield note
        finally:
            ended.set()
            thread.join()

    def _rewrite(self, line: str) -> None:
        if self.is_terminal:
            sys.stdout.write(f"\r\033[K{line}")
            sys.stdout.flush()


def run_logged(step: Step, argv: Sequence[str], log: Path, **options: Any) -> None:
    """Run a command with its output in `log`; the step says which file it fetches. Raises CalledProcessError."""
    log.parent.mkdir(parents=True, exist_ok=True)
    detail = ""
    with (
        log.open("wb") as file,
        subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0, **options
        ) as process,
    ):
        assert process.stdout is not None
        for block in _blocks(process.stdout):
            file.write(block)
            if names := FETCHED.findall(block.decode(errors="replace")):
                detail = "".join(names[-1]).rsplit("/", 1)[-1]
            step.tick(detail)

    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, argv)


def _blocks(pipe: IO[bytes]) -> Iterator[bytes]:
    """The blocks that come through a pipe until it ends, and empty ones while nothing comes."""
    while True:
        if not select.select([pipe], [], [], TERMINAL_INTERVAL_S)[0]:
            yield b""
        elif block := pipe.read(65_536):
            yield block
        else:
            return


def main(name: str, log: str, *argv: str) -> int:
    try:
        with Step(name) as step:
            run_logged(step, argv, Path(log))
    except subprocess.CalledProcessError as error:
        lines = Path(log).read_text(errors="replace").splitlines()
        print("\n".join([*lines[-ERROR_LINES:], f"{name}: failed. All of its output: {log}"]), file=sys.stderr)
        return error.returncode
    except OSError as error:  # The disk is full, or var/ cannot be written.
        print(
            f"{name}: failed. {error.strerror}: {error.filename or log}. Mend that, and run the same command again.",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
