"""Everything that can be wrong with the YCSB language, each class named for who can mend it.

YcsbError
├── PropertyError          properties were refused: the person who wrote them mends them
├── SplitError             a total cannot be shared out over the clients: the plan is mended
└── OutputError            what a client left behind cannot be used
    ├── SummaryMissing     a summary without a single result in it
    ├── HistogramError     an encoded histogram or a log that is not one
    ├── PackedDataError    stored bytes (intervals, series) that this version cannot read
    ├── UnreadableFile     a file, or a member of an archive, whose bytes cannot be had
    │   ├── DamagedFile    it is cut off or damaged; what came before can be used
    │   └── LimitExceeded  it asks for more than any output of YCSB needs
    └── MergeError         clients that have nothing in common to merge
"""

from collections.abc import Mapping


class YcsbError(ValueError):
    """The base of every error of `runs.ycsb`; its text can be shown to a person as it stands."""


class PropertyError(YcsbError):
    """Properties were refused. `problems` maps each name to what to do about it."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        super().__init__(" ".join(self.problems.values()))


class SplitError(YcsbError):
    """A total is smaller than the number of its parts."""


class OutputError(YcsbError):
    """A client's output cannot be used."""


class SummaryMissing(OutputError):
    """There is no result in the text that should be a summary."""


class HistogramError(OutputError):
    """An encoded histogram cannot be read. `line_number` counts from 1 where it comes from a log."""

    def __init__(self, message: str, line_number: int | None = None) -> None:
        super().__init__(message if line_number is None else f"line {line_number}: {message}")
        self.line_number = line_number


class PackedDataError(OutputError):
    """Stored bytes that this version of the reader does not know."""


class UnreadableFile(OutputError):
    """The bytes of a file cannot be had: an unknown packing, a password, an archive without a directory."""


class DamagedFile(UnreadableFile):
    """The file is cut off or damaged. What was read before stands, or is doubtful where a checksum failed."""

    def __init__(self, message: str, *, is_doubtful: bool = False) -> None:
        super().__init__(message)
        self.is_doubtful = is_doubtful


class LimitExceeded(UnreadableFile):
    """The file unpacks to more than is read of one file: nothing of it is used."""


class MergeError(OutputError):
    """The outputs of the clients have no common window, or there are none."""
