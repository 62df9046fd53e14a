"""Secrets taken out of properties, command lines and addresses before anything is stored or hashed."""

import re
from typing import Final

HIDDEN: Final = "[redacted]"
_BEYOND: Final = 1_000  # characters; the longest password that is found across a cut

# "num_tokens" of Cassandra and "bypass" are none.
_SECRET_WORD: Final = (
    r"(?:pass(?:word|wd|phrase)|(?<![a-z])pass(?![a-z])|pwd|secret|token(?!s)"
    r"|(?:api|access|private)[-_]?key|credentials?)"
)
REDIS_SECRETS: Final = ("requirepass", "masterauth")  # names of settings that hold no such word
# What is repeated is repeated only so often: otherwise a long line made for it would take for ever.
# The secret's word and the rest of a name, then = or : and the value up to a blank, a quote or the next option.
_ASSIGNED: Final = re.compile(
    rf"""(?P<name>{_SECRET_WORD}[\w.-]{{0,80}}["']?\s{{0,20}}(?:=|:(?!//))[ \t]{{0,20}})"""
    r"""(?P<value>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|(?:\\.|[^\s,;&"'\\])+)""",
    re.IGNORECASE,
)
# user:password@ of an address; the user's name stays, because it helps to find what is wrong.
_ADDRESS: Final = re.compile(
    r"(?P<front>\b[a-z][a-z0-9+.-]{0,40}://[^\s/?#:@\"']{0,200}:)(?P<value>[^\s/?#\"']+)(?=@)", re.IGNORECASE
)
_BEARER: Final = re.compile(r"(?P<front>\b(?:bearer|basic)\s+)(?P<value>[A-Za-z0-9._~+/=-]{8,})", re.IGNORECASE)
_OPTION: Final = re.compile(
    rf"(?P<front>(?:^|\s)(?:--?[\w-]{{0,80}}{_SECRET_WORD}[\w-]{{0,80}}|requirepass|masterauth)[ \t]+)"
    r"(?P<value>[^\s-]\S*)",
    re.IGNORECASE | re.MULTILINE,
)


def redact(text: str) -> str:
    """The text with every secret in it replaced; applying it again changes nothing."""
    text = _ADDRESS.sub(lambda match: match["front"] + HIDDEN, text)
    text = _OPTION.sub(lambda match: match["front"] + HIDDEN, text)
    text = _BEARER.sub(lambda match: match["front"] + HIDDEN, text)
    return _ASSIGNED.sub(lambda match: match["name"] + HIDDEN, text)


def redact_beginning(text: str, longest: int) -> str:
    """The first `longest` characters, redacted.

    More than those is looked at: only the @ behind it tells that an address holds a password.
    """
    return redact(text[: longest + _BEYOND])[:longest]


def is_secret(name: str) -> bool:
    """Whether a property of this name holds a secret."""
    return name.lower() in REDIS_SECRETS or re.search(_SECRET_WORD, name, re.IGNORECASE) is not None
