"""Where a revision stands: its addresses and its place among the others, as its page and its files say them."""

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest

from reports.frozen.link_resolution import Opened


@dataclass(frozen=True, slots=True)
class Place:
    number: int
    newest: int
    digest: str
    listed: bool
    site: str  # "https://bench.example", for what others quote
    token: str
    imported: str  # `Opened.provenance`
    alone: bool = False  # a file on somebody's disk, which has no address

    @property
    def address(self) -> str:
        """Of the newest revision; empty for a file."""
        return "" if self.alone else f"/r/{self.token}"

    newest_address = address

    @property
    def pinned(self) -> str:
        """Of exactly this revision."""
        return f"/r/{self.token}@{self.number}"

    @property
    def absolute(self) -> str:
        return f"{self.site}/r/{self.token}"

    @property
    def absolute_pinned(self) -> str:
        return f"{self.site}{self.pinned}"

    @property
    def revisions(self) -> list[tuple[int, str]]:
        return [(number, f"/r/{self.token}@{number}") for number in range(1, self.newest + 1)]


def place_of(opened: Opened, request: HttpRequest, *, alone: bool = False) -> Place:
    site = settings.PUBLIC_URL.rstrip("/") or f"{request.scheme}://{request.get_host()}"
    return Place(
        opened.number, opened.newest, opened.digest, opened.is_listed, site, opened.token, opened.provenance, alone
    )
