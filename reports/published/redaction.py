"""What a report must not say: names and addresses of machines, connection strings, people. Pure.

Two nets. What comes from a run's specification is taken from a list of known-safe fields (`safe_settings`, and
`reports.published.method`); everything else never gets in. What remains is text, and every text is searched for the
site's own names and for what looks like an address. What is found is replaced unless somebody says that it may stay.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import Any, Final

from runs.ycsb.redact import HIDDEN, is_allowed, is_secret, redact

MAX_VALUE_LENGTH: Final = 60
MIN_NAME: Final = 3  # characters of a name that is looked for
NOT_SHOWN: Final = "not shown"


class Kind(StrEnum):
    """What something that was found is."""

    CREDENTIALS = "credentials"  # never stays
    CONNECTION = "connection string"
    EMAIL = "e-mail address"
    ADDRESS = "address"
    HOST = "host name"
    NAME = "name of a machine, a load generator or a person"
    SITE = "web address"


BECOMES: Final[Mapping[Kind, str]] = {
    Kind.CONNECTION: "[connection string]",
    Kind.EMAIL: "[e-mail address]",
    Kind.ADDRESS: "[address]",
    Kind.HOST: "[host]",
    Kind.SITE: "[web address]",
}

_LABEL: Final = r"[a-z0-9](?:[a-z0-9_-]{0,62})"
_INNER: Final = "local|internal|lan|corp|intra|intranet|home|localdomain|private|svc|test|invalid|example"
_OUTER: Final = "com|net|org|io|de|eu|dev|cloud|edu|gov|app|tech|info|biz"
# Of countries, where a name has another label before: “bench.acme.fr”, and neither “run.sh” nor “README.md”.
_COUNTRY: Final = (
    "at|au|be|br|ca|ch|cn|cz|dk|es|fi|fr|gr|hu|ie|il|in|it|jp|kr|mx|nl|no|nz|pl|pt|ro|ru|se|sg|sk|tr|tw|ua|uk|us|za"
)
_BYTE: Final = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_V6: Final = r"(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}|(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6}|fe80::[0-9a-f:]+"

# Where several begin at one place, the first of them counts: a connection string holds a host name.
_PATTERNS: Final[tuple[tuple[Kind, str], ...]] = (
    (Kind.CONNECTION, r"\bjdbc:[^\s\"'<>]{1,500}"),
    (Kind.CONNECTION, r"\b(?!https?:)[a-z][a-z0-9+.-]{1,30}://[^\s\"'<>)]{1,500}"),
    (Kind.SITE, r"\bhttps?://[^\s\"'<>)]{1,500}"),
    (Kind.EMAIL, r"(?<![\w.+-])[\w.+-]{1,64}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,5}"),
    (Kind.ADDRESS, rf"(?<![\d.\w])(?:{_BYTE}\.){{3}}{_BYTE}(?![\d.])(?::\d+)?"),
    (Kind.ADDRESS, rf"(?<![\w:])(?:{_V6})(?![\w:])"),
    (Kind.HOST, rf"\bip-\d+-\d+-\d+-\d+(?:\.{_LABEL})*"),
    (Kind.HOST, rf"(?<![\w.-])(?:{_LABEL}\.){{1,8}}(?:{_INNER}|{_OUTER})(?![\w-])(?!\.\w)(?::\d+)?"),
    (Kind.HOST, rf"(?<![\w.-])(?:{_LABEL}\.){{2,8}}(?:{_COUNTRY})(?![\w-])(?!\.\w)(?::\d+)?"),
    (Kind.HOST, rf"(?<![\w.:/-])(?=[a-z0-9_.-]*[a-z]){_LABEL}(?:\.{_LABEL}){{0,8}}:\d{{4,5}}(?!\d|:)"),
)
# A web address that tells of a private place, though somebody wrote it on purpose.
_PRIVATE_SITE: Final = re.compile(
    rf"://(?:[^/]*@)?(?:{_BYTE}(?:\.{_BYTE}){{3}}|\[|[a-z0-9_-]+(?:[:/]|$)|[^/:]*\.(?:{_INNER})(?:[:/]|$))",
    re.IGNORECASE,
)
_LOOKS_LIKE: Final = re.compile(
    "|".join(f"(?P<k{n}>{pattern})" for n, (_, pattern) in enumerate(_PATTERNS)), re.IGNORECASE
)
_KINDS: Final = {f"k{n}": kind for n, (kind, _) in enumerate(_PATTERNS)}
_NO_NAME: Final = re.compile(r"(?!)")
# What a name begins and ends at the edge of.
_WORD: Final = re.compile(r"[\w-]+")


def _build_names_pattern(names: Iterable[str]) -> str:
    """Any of these names by itself, and of those that begin alike the longest."""
    joined = "|".join(re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name)))
    return rf"(?<![\w-])(?:{joined})(?![\w-])"


@dataclass(frozen=True, slots=True)
class Found:
    """Something in the report's texts that outsiders perhaps should not read."""

    text: str
    kind: Kind
    becomes: str  # what is shown instead; itself where it stays
    where: tuple[str, ...]  # in which parts of the report

    @property
    def stays(self) -> bool:
        return self.becomes == self.text and self.kind is not Kind.CREDENTIALS


class Redactor:
    """Cleans texts, and remembers what it found.

    `names` are the site's own, with what each becomes ("lab-7" -> "machine 1"). `kept` is what somebody said may stay.
    """

    def __init__(self, names: Mapping[str, str], kept: frozenset[str] = frozenset()) -> None:
        self._kept = kept
        self._names = {name.casefold(): replacement for name, replacement in names.items() if len(name) >= MIN_NAME}
        # A site has thousands of names and a text a few words: only names that begin with one of them are looked for.
        self._by_word: dict[str, list[str]] = {}
        for name in self._names:
            first_word = _WORD.match(name)
            self._by_word.setdefault(first_word.group() if first_word else "", []).append(name)
        self._compiled: dict[frozenset[str], re.Pattern[str]] = {frozenset(): _NO_NAME}
        self._found: dict[str, tuple[Kind, str]] = {}  # text -> its kind, and what it becomes
        self._where: dict[str, dict[str, None]] = defaultdict(dict)  # text -> in which parts of the report
        self._clean: dict[tuple[str, bool], tuple[str, tuple[str, ...]]] = {}

    @property
    def found(self) -> list[Found]:
        """Everything that was found so far, by where it was found first."""
        return [Found(text, kind, becomes, tuple(self._where[text])) for text, (kind, becomes) in self._found.items()]

    def clean(self, text: str, where: str, *, written: bool = False) -> str:
        """The text without what must not be seen. `written`: by somebody for this report, so web addresses stay."""
        cached = self._clean.get((text, written))
        if cached is None:
            cached = self._replace(text, written)
            self._clean[(text, written)] = cached
        clean_text, names = cached
        for name in names:
            self._where[name][where] = None
        return clean_text

    def _replace(self, text: str, written: bool) -> tuple[str, tuple[str, ...]]:
        """The clean text, and what was found in it."""
        names = []
        without_secrets = redact(text)
        if without_secrets != text:
            self._found.setdefault(HIDDEN, (Kind.CREDENTIALS, HIDDEN))
            names.append(HIDDEN)
        parts, end = [], 0
        for kind, match in self._find_matches(without_secrets):
            name = match.group()
            if name not in self._found:
                self._found[name] = (kind, self._choose_replacement(name, kind, written))
            _, becomes = self._found[name]
            names.append(name)
            parts += [without_secrets[end : match.start()], becomes]
            end = match.end()
        parts.append(without_secrets[end:])
        return "".join(parts), tuple(names)

    def _find_names_near(self, text: str) -> frozenset[str]:
        """The site's names that begin with a word of this text."""
        words = {word.casefold() for word in _WORD.findall(text)} | {""}
        return frozenset(chain.from_iterable(self._by_word[word] for word in words & self._by_word.keys()))

    def _find_matches(self, text: str) -> Iterator[tuple[Kind, re.Match[str]]]:
        """The matches from left to right; where several begin at one place, a name, else the first pattern."""
        names = self._find_names_near(text)
        if names not in self._compiled:
            self._compiled[names] = re.compile(_build_names_pattern(names), re.IGNORECASE)
        pattern = self._compiled[names]
        name, other = pattern.search(text), _LOOKS_LIKE.search(text)
        while name or other:
            if name and (other is None or name.start() <= other.start()):
                match, kind = name, Kind.NAME
            else:
                assert other is not None
                match, kind = other, _KINDS[str(other.lastgroup)]
            yield kind, match
            # What was found further on stays found.
            if name and name.start() < match.end():
                name = pattern.search(text, match.end())
            if other and other.start() < match.end():
                other = _LOOKS_LIKE.search(text, match.end())

    def _choose_replacement(self, text: str, kind: Kind, written: bool) -> str:
        if text in self._kept:
            return text
        if kind is Kind.NAME:
            return self._names[text.casefold()]
        if kind is Kind.SITE and written and not _PRIVATE_SITE.search(text):
            names = self._find_names_near(text)
            if not names or not re.search(_build_names_pattern(names), text, re.IGNORECASE):
                return text

        return BECOMES[kind]

    def walk(self, value: Any, where: str, own: Collection[str] = ()) -> Any:
        """A whole structure with every text in it cleaned; Benchsite's `own` and names of entries stay."""
        if isinstance(value, str):
            if len(value) >= MIN_NAME and value not in own:
                return self.clean(value, where)
            return value
        if isinstance(value, dict):
            return {name: self._walk_entry(name, item, where, own) for name, item in value.items()}
        if isinstance(value, list):
            return [self.walk(item, where, own) if isinstance(item, str | list | dict) else item for item in value]
        return value

    def _walk_entry(self, name: str, value: Any, where: str, own: Collection[str]) -> Any:
        """An entry whose name is that of a secret is hidden: its value alone does not tell."""
        if isinstance(value, str) and value and value != HIDDEN and is_secret(name):
            self._found.setdefault(HIDDEN, (Kind.CREDENTIALS, HIDDEN))
            self._where[HIDDEN][where] = None
            return HIDDEN
        return self.walk(value, where, own)


# Settings of these names hold places, people or secrets.
_UNSAFE_NAME: Final = re.compile(
    r"host|addr|url|uri|server|seed|peer|master|primary|replicaof|slave|bind|listen|interface|socket|path|dir|file|"
    r"folder|log|user|owner|account|auth|cert|key|secret|token|pass|email|name|datacenter|rack|region|zone|dsn",
    re.IGNORECASE,
)
# Numbers with a unit, switches, and words as programs write them: none of them is a place.
_SAFE_VALUE: Final = re.compile(
    r"(?:-?\d+(?:\.\d+)?\s?[a-z%]{0,7}|[a-z]+(?:[_-][a-z]+){0,4}|lz4|sha\d{1,3}|utf-?8)", re.IGNORECASE
)


def safe_value(name: str, value: object) -> str:
    """A setting's value where neither its name nor its shape speaks against showing it."""
    text = " ".join(str(value).split())
    if not text:
        return ""
    if is_secret(name):
        return HIDDEN
    if len(text) > MAX_VALUE_LENGTH or (_UNSAFE_NAME.search(name) and not is_allowed(name)):
        return NOT_SHOWN

    is_safe = all(_SAFE_VALUE.fullmatch(part) for part in re.split(r"[\s,;]+", text))
    return text if is_safe else NOT_SHOWN


def safe_settings(settings: Mapping[str, object]) -> str:
    """Settings in one cell: "appendfsync=always, dir=not shown"."""
    return ", ".join(f"{name}={safe_value(name, value)}" for name, value in sorted(settings.items()))
