"""Where a revision that is not published yet would stand, for the templates that show published ones."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PreviewPlace:
    number: int
    absolute_pinned: str  # the report's own page: it has no other address yet
    digest: str = "(made when it is published)"
    listed: bool = False
    alone: bool = True
    address: str = ""
    pinned: str = ""
    newest_address: str = ""
    revisions: list[tuple[int, str]] = field(default_factory=list)

    @property
    def newest(self) -> int:
        return self.number
