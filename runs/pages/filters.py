"""Filters of lists that live in the address: what all of them share."""

from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from typing import ClassVar, Self, TypeVar
from urllib.parse import urlencode

from django.db.models import Model, Q, QuerySet
from django.http import QueryDict

from runs.identifiers import uuid_of
from runs.models.run import Phase

MAX_CHARACTERS = 200  # of one value
MAX_WORDS = 8  # of a search
M = TypeVar("M", bound=Model)


class AddressFilter:
    """A base for frozen dataclasses of texts: each field is one parameter of the address, empty means no restriction.

    `phase` is "measure" unless the address says otherwise, because loads are a means; "any" shows both.
    """

    __slots__ = ()
    q: str
    phase: str
    sort: str
    COLUMNS: ClassVar[Mapping[str, str]]  # field -> the column that must have its value
    CHOICES: ClassVar[Mapping[str, Collection[str]]]  # field -> the values that it may have
    IDS: ClassVar[Collection[str]] = ()  # fields that name a row

    @classmethod
    def from_query(cls, query: QueryDict | Mapping[str, str]) -> Self:
        """Reads the address; a value that cannot be meant is no restriction instead of an empty page."""
        choices = {"phase": {*Phase.values, "any"}, **cls.CHOICES}
        values = {}
        for name in (field.name for field in fields(cls)):  # type: ignore[arg-type]
            text = "".join(c for c in query.get(name) or "" if c.isprintable()).strip()[:MAX_CHARACTERS]
            if name in cls.IDS:
                text = str(uuid_of(text) or "")
            if text and (name not in choices or text in choices[name]):
                values[name] = text
        return cls(**values)

    def query(self, **changes: str) -> str:
        """The query string, only with what differs from the defaults and in one order, so that equal lists have
        equal addresses."""
        changed, plain = replace(self, **changes), type(self)()  # type: ignore[type-var]
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return urlencode([(name, v) for name in names if (v := getattr(changed, name)) != getattr(plain, name)])

    @property
    def active(self) -> bool:
        """Whether anything is restricted; sorting is no restriction."""
        plain = type(self)()
        names = [field.name for field in fields(self) if field.name != "sort"]  # type: ignore[arg-type]
        return any(getattr(self, name) != getattr(plain, name) for name in names)

    @property
    def words(self) -> list[str]:
        """Of the search."""
        return self.q.split()[:MAX_WORDS]

    def narrowed(self, rows: QuerySet[M]) -> QuerySet[M]:
        """The rows that have the chosen values in their columns and are of the chosen phase."""
        chosen = {column: value for name, column in self.COLUMNS.items() if (value := getattr(self, name))}
        if self.phase != "any":
            chosen["phase"] = self.phase
        return rows.filter(Q(**chosen))
