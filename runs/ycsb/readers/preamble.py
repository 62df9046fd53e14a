"""What a client says of itself: the launcher's java command, YCSB's own echo of its arguments, its banner."""

import re
from collections.abc import Mapping
from typing import Final

from runs.ycsb.merged import Phase
from runs.ycsb.redact import HIDDEN, is_secret, redact

COMMAND_LINE: Final = "Command line:"
BANNER: Final = re.compile(r"YCSB Client (\d\S{0,40})")
# A launcher's echo: java, its options, the class of the client, and the arguments.
_JAVA: Final = re.compile(r"\bjava(?:\.exe\"?)?\s")
_CLIENT: Final = re.compile(r"\b(?:com\.yahoo|site)\.ycsb\.Client\b")
_JAR: Final = re.compile(r"[/\\;:]core-(\d+\.\d+(?:\.\d+)?)(?:-SNAPSHOT)?\.jar")
_CLASSPATH: Final = re.compile(r"(\s-(?:cp|classpath)\s+)(\"[^\"]*\"|\S+)")
_LIMIT: Final = re.compile(r"Maximum execution time specified as: (\d{1,12}) secs")
# What MongoDB's binding prints once it is connected; up to 0.1.4 without "client".
CONNECTED: Final = "connection created with mongodb"
_CONNECTION: Final = re.compile(r"^mongo (?:client )?connection created with (mongodb(?:\+srv)?://\S+)")
_MAX_COMMAND_LENGTH: Final = 20_000  # characters of a command that are kept

# Options with a value, and the property that YCSB stores it as.
_OPTIONS: Final = {"-threads": "threadcount", "-target": "target", "-db": "db", "-l": "label"}


class Preamble:
    """Everything that one client says of itself, gathered line by line."""

    def __init__(self) -> None:
        self.arguments: str | None = None  # as YCSB echoes them
        self.echo: str | None = None  # the launcher's
        self.banner: str | None = None
        self.jar: str | None = None
        self.is_new_package = False  # site.ycsb, from 0.17 on
        self.limit_s: str | None = None
        self.mongodb_url: str | None = None

    def __bool__(self) -> bool:
        return not (self.arguments is None and self.echo is None and self.banner is None)

    def take_command_line(self, arguments: str) -> None:
        self.arguments = arguments.strip()[:_MAX_COMMAND_LENGTH]

    def take_echo(self, line: str) -> None:
        jar = _JAR.search(line)
        self.jar = jar[1] if jar else None
        self.is_new_package |= "site.ycsb.Client" in line
        self.echo = _CLASSPATH.sub(r"\1...", line.strip())[:_MAX_COMMAND_LENGTH]

    def take_sentence(self, line: str) -> None:
        """What a sentence of YCSB or of its binding tells of an option."""
        limit, connection = _LIMIT.search(line), _CONNECTION.match(line)
        if limit is not None:
            self.limit_s = limit[1]
        if connection is not None:
            self.mongodb_url = connection[1][:_MAX_COMMAND_LENGTH]

    def fits(self, line: str) -> bool:
        """Whether a launcher's echo may be of the same client: it ends with the arguments that YCSB echoed."""
        return self.echo is None and self.arguments is not None and line.rstrip().endswith(self.arguments)

    def adopt(self, other: "Preamble") -> None:
        """Fill in what another preamble of the same client knows."""
        self.arguments = self.arguments or other.arguments
        self.echo = self.echo or other.echo
        self.banner = self.banner or other.banner
        self.jar = self.jar or other.jar
        self.limit_s = self.limit_s or other.limit_s
        self.mongodb_url = self.mongodb_url or other.mongodb_url
        self.is_new_package |= other.is_new_package

    @property
    def command(self) -> str:
        """The command without its secrets and without the class path."""
        return redact(self.echo or self.arguments or "").strip()

    @property
    def phase(self) -> Phase | None:
        """By -load and -t, of which the last counts, or by dotransactions; without any of them a file may tell it."""
        words = self._words
        if _properties(words).get("dotransactions") == "false" and "-t" not in words:
            return "load"
        for word in reversed(words):
            if word in ("-load", "-t"):
                if word == "-load":
                    return "load"
                return "measure"
        return None

    @property
    def properties(self) -> dict[str, str]:
        """Properties by -p and by the options that stand for one, without their secrets."""
        properties = {}
        if self.limit_s is not None:
            properties["maxexecutiontime"] = self.limit_s
        if self.mongodb_url is not None:
            properties["mongodb.url"] = self.mongodb_url
        properties.update(_properties(self._words))
        return redacted(properties)

    @property
    def _words(self) -> list[str]:
        """Words of the client's own command line, or of its part of the launcher's."""
        if self.arguments is not None:
            return self.arguments.split()
        match = _CLIENT.search(self.echo or "")
        if match:
            return match.string[match.end() :].split()
        return []


def is_echo(line: str) -> bool:
    """Whether the line is a launcher's java command."""
    if ".ycsb.Client" not in line or line.lstrip().startswith("Usage:"):
        return False
    client = _CLIENT.search(line)
    return client is not None and _JAVA.search(line, 0, client.start()) is not None


def redacted(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties with every secret replaced: by its name, or within a value such as an address."""
    return {redact(name): HIDDEN if is_secret(name) else redact(value) for name, value in properties.items()}


def _properties(words: list[str]) -> dict[str, str]:
    """The echo has no quotes any more, so a value goes on until the next word with a hyphen in front."""
    properties: dict[str, str] = {}
    name = ""
    for at, word in enumerate(words):
        before = ""
        if at:
            before = words[at - 1]
        if before == "-p" and "=" in word:
            name, _, value = word.partition("=")
            properties[name] = value
        elif before in _OPTIONS:
            properties[_OPTIONS[before]] = word
            name = ""
        elif word.startswith("-"):
            name = ""
        elif name:
            properties[name] += " " + word

    if "-s" in words:
        properties.setdefault("status", "true")
    return properties
