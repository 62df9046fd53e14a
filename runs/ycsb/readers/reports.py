"""Reports that count from the start of a client, as go-ycsb and YCSB-cpp print them, made into status lines."""

from collections.abc import Iterator, Mapping
from typing import Final

from runs.ycsb.status import StatusLine, StatusOperation

_MAX_REPORTS: Final = (
    10_000  # kept; of more, every second one is dropped, which loses nothing but how closely they stand
)


class Reports:
    """The reports of one run, the final one among them or not."""

    def __init__(self) -> None:
        self._reports: list[tuple[float, int, Mapping[str, int], float | None]] = []
        self._step = 1
        self._seen = 0

    def __bool__(self) -> bool:
        return bool(self._reports)

    def add(self, elapsed_s: float, done: int, counts: Mapping[str, int], at_s: float | None = None) -> None:
        """`counts` and `done` are from the start on; `done` counts what the workload asked for."""
        if self._seen % self._step == 0:
            self._reports.append((elapsed_s, done, counts, at_s))
        self._seen += 1
        if len(self._reports) == _MAX_REPORTS:
            self._reports = self._reports[::2]
            self._step *= 2

    def lines(self) -> tuple[StatusLine, ...]:
        """With what each operation did since the report before. Their means cannot be told: they are rounded."""
        return tuple(self._lines())

    def _lines(self) -> Iterator[StatusLine]:
        before: Mapping[str, int] = {}
        for elapsed_s, done, counts, at_s in self._reports:
            operations = {
                name: StatusOperation(count=max(count - before.get(name, 0), 0)) for name, count in counts.items()
            }
            before = counts
            yield StatusLine(int(elapsed_s), done, None, operations, at_s)
