"""Strict reading of one TOML table: every key is asked for, of one type, and what nobody asked for is refused."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from runs.catalog.property_schema import unknown_name

R = TypeVar("R")
_SLUG = re.compile(r"[a-z][a-z0-9-]{0,39}")


class CatalogError(ValueError):
    """A catalog file is wrong. The message names the file, the place in it and what would be right."""


class Table:
    """One table of a file. Used as a context manager: leaving it refuses the keys that were never asked for."""

    def __init__(self, content: object, where: str) -> None:
        if not isinstance(content, dict):
            raise CatalogError(f"{where} must be a table")
        self.where = where
        self._content: Mapping[str, object] = content
        self._asked: set[str] = set()

    def __enter__(self) -> "Table":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return
        for key in self._content:
            if key not in self._asked:
                raise self.error(unknown_name(key, self._asked))

    def error(self, message: str) -> CatalogError:
        return CatalogError(f"{self.where}: {message}")

    def __contains__(self, key: str) -> bool:
        return key in self._content

    def names(self) -> tuple[str, ...]:
        """All keys, where they are names the file chose; they count as asked for."""
        self._asked.update(self._content)
        return tuple(self._content)

    def record(self, kind: type[R], **read: Any) -> R:
        """A dataclass: the fields that are not `read` yet by their types; those with a default may be left out."""
        types = get_type_hints(kind)
        readers: dict[object, Any] = {
            str: self.text,
            bool: self.flag,
            int: self.count,
            float | None: self.number,
            tuple[str, ...]: self.texts,
            dict[str, str]: self.mapping,
        }
        for field in dataclasses.fields(kind):  # type: ignore[arg-type]
            key, declared = field.name, types[field.name]
            is_required = field.default is field.default_factory is dataclasses.MISSING
            if key in read:
                continue  # Computed, perhaps of another key.
            if not (is_required or key in self):
                self._asked.add(key)
            elif get_origin(declared) is Literal:
                read[key] = self.word(key, declared)
            else:
                self.value(key)
                read[key] = readers[declared](key)
        return kind(**read)

    def word(self, key: str, allowed: Any) -> Any:
        """The text under `key`, which must be one of the words of a Literal type."""
        text = self.text(key)
        if text not in get_args(allowed):
            raise self.error(f"{key} is {text!r}; it must be one of {', '.join(get_args(allowed))}")
        return text

    def value(self, key: str) -> object:
        self._asked.add(key)
        if key not in self._content:
            raise self.error(f"{key} is missing")
        return self._content[key]

    def _checked(self, key: str, is_right: Callable[[Any], bool], wanted: str, default: Any = None) -> Any:
        """The value under `key`, or the default where it is absent; None: it must not be."""
        self._asked.add(key)
        if default is not None and key not in self:
            return default
        value = self.value(key)
        if not is_right(value):
            raise self.error(f"{key} must be {wanted}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        return str(self._checked(key, _is_text, "a text in quotes", default))

    def slug(self, key: str) -> str:
        slug = self.text(key)
        if not _SLUG.fullmatch(slug):
            raise self.error(f"{key} is {slug!r}: use small letters, digits and hyphens")
        return slug

    def flag(self, key: str) -> bool:
        return bool(self._checked(key, lambda value: isinstance(value, bool), "true or false", False))

    def number(self, key: str) -> float:
        return float(self._checked(key, lambda value: type(value) in (int, float), "a number"))

    def count(self, key: str) -> int:
        return int(self._checked(key, lambda value: type(value) is int and value >= 0, "a whole number, 0 or more", 0))

    def texts(self, key: str, *, required: bool = False) -> tuple[str, ...]:
        def are_texts(value: object) -> bool:
            return isinstance(value, list) and all(map(_is_text, value))

        return tuple(self._checked(key, are_texts, "a list of texts", None if required else ()))

    def mapping(self, key: str) -> dict[str, str]:
        """A table of texts, empty where it is absent."""

        def are_texts(value: object) -> bool:
            return isinstance(value, dict) and all(map(_is_text, value.values()))

        return dict(self._checked(key, are_texts, "a table of texts", {}))

    def table(self, key: str) -> "Table":
        return Table(self.value(key), f"{self.where}, {key}")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def check_slug(name: str, where: str) -> str:
    """`name`, or CatalogError where it could not stand in an address."""
    if not _SLUG.fullmatch(name):
        raise CatalogError(f"{where}: {name!r} must be small letters, digits and hyphens")
    return name
