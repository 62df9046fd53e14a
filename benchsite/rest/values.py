"""Values that requests carry, bounded and fit for the database."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints


def plain(text: str) -> str:
    """Text that the database can hold."""
    if "\0" in text:
        raise ValueError("text without NUL characters, please")
    return text


def _moment(moment: datetime) -> datetime:
    """In UTC; a moment without a zone is taken for UTC."""
    if not 1 < moment.year < 9999:
        raise ValueError("a year between 2 and 9998, please")
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


Word = Annotated[str, StringConstraints(max_length=200), AfterValidator(plain)]
Text = Annotated[str, StringConstraints(max_length=20_000), AfterValidator(plain)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80), AfterValidator(plain)]
Moment = Annotated[
    datetime, AfterValidator(_moment), Field(description="RFC 3339, such as 2026-03-01T12:00:00Z; without a zone: UTC.")
]


# What answers say of other rows, made from the rows themselves.
Username = Annotated[str | None, BeforeValidator(lambda user: user.get_username() if user else None)]
NamesOfRows = Annotated[list[str], BeforeValidator(lambda rows: [row.name for row in rows])]
