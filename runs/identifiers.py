"""Ids as requests, forms and folders spell them."""

from uuid import UUID


def parse_uuid(text: str) -> UUID | None:
    """None for what is no UUID."""
    try:
        return UUID(text)
    except ValueError:
        return None
