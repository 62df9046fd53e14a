"""Known signs of trouble in what a client says, for the reason of a failed run.

A client ends with exit code 0 after nearly every mishap, so what it wrote is the only thing to go by. The list here is
short on purpose: the lines are quoted, and a person reads them.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from benchsite.core.formatting import printable
from runs.ycsb.redact import redact_beginning

MAX_LINE_LENGTH: Final = 300  # characters of a line that is quoted
MAX_SYMPTOMS: Final = 6  # different symptoms that are kept


@dataclass(frozen=True, slots=True)
class Symptom:
    """One sign of trouble: what it means in plain words, the line itself, and how often it was seen."""

    kind: str
    meaning: str
    line: str
    times: int = 1


# kind, meaning, and the phrases that tell it; the first kinds are nearer to the cause.
_PHRASES: Final[tuple[tuple[str, str, tuple[str, ...]], ...]] = (
    ("failed", "the client's binding gave up", (r"BENCHSITE FAILED\b",)),
    ("error", "the client's binding reports errors of the database", (r"BENCHSITE ERROR\b",)),
    ("memory", "the client ran out of memory", (r"java\.lang\.OutOfMemoryError",)),
    ("class", "a class is missing from the client", (r"ClassNotFoundException", r"NoClassDefFoundError")),
    (
        "main",
        "the client could not be started",
        ("Could not find or load main class", "Unrecognized VM option", "Could not create the Java Virtual Machine"),
    ),
    (
        "connect",
        "the database could not be reached",
        ("[Cc]onnection refused", "ConnectException", "UnknownHostException", "No route to host", "connect timed out"),
    ),
    ("login", "the database refused the login", ("authentication failed", "Access denied", "NOAUTH", "WRONGPASS")),
    (
        "binding",
        "the database could not be connected to",
        ("Error initializing datastore bindings", "Unknown DB ", "Could not initialize DB", r"\bDBException"),
    ),
    (
        "workload",
        "the workload could not be set up",
        (
            "WorkloadException",
            "Unknown request distribution",
            "Missing property: ",
            "Invalid combination of insertstart",
        ),
    ),
    ("number", "a property is not a number", ("NumberFormatException",)),
    ("insert", "an insert failed and its thread ended", ("Error inserting, not retrying any more",)),
    ("threads", "there are fewer operations than threads", ("the threadcount is bigger than recordcount",)),
    ("thread", "a thread of the client died", ("thread has thrown", "Exception in thread ")),
    (
        "crash",
        "the client crashed",
        (
            r"^panic: ",
            r"^fatal error: ",
            r"^thread \S+ panic(?:ked at|:)",
            r"^error: [A-Z][A-Za-z]+$",
            "terminate called after",
            "[Ss]egmentation fault",
            r"\(core dumped\)",
            "AddressSanitizer",
            r"^Traceback \(most recent call last\)",
        ),
    ),
    ("stuck", "a thread did not stop when it should", ("Still waiting for thread",)),
    ("export", "the summary could not be written", ("Could not export measurements", "Failed to open hdr histogram")),
    (
        "exception",
        "an exception was thrown",
        (
            r"^(?:Caused by: )?(?:[a-z_][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error)\b",
            # Behind a binding's own words, as YCSB's JDBC binding prints it.
            r"(?:[a-z_][\w$]*\.){2,}[A-Z][\w$]*(?:Exception|Error): ",
        ),
    ),
)
_KNOWN: Final = tuple((kind, meaning, re.compile("|".join(phrases))) for kind, meaning, phrases in _PHRASES)


# Every sign has one of these words in it, and few lines without a sign do: looking for them first is much faster.
WORDS: Final = (
    "BENCHSITE", "Error", "xception", "efused", "Could not", "could not", "Unrecognized VM", "No route", "timed out",
    "ailed", "denied", "NOAUTH", "WRONGPASS", "Unknown ", "Missing property", "Invalid combination", "threadcount is",
    "has thrown", "waiting for thread", "panic", "fatal error", "error: ", "terminate called", "egmentation fault",
    "core dumped", "AddressSanitizer", "Traceback (",
)  # fmt: skip


_WORD: Final = re.compile("|".join(map(re.escape, WORDS)))


class SymptomCounter:
    """Counts the signs of trouble line by line; each line counts for the first kind it fits."""

    def __init__(self) -> None:
        self._lines: dict[str, str] = {}  # the first of each kind, quoted
        self._times: Counter[str] = Counter()

    def take(self, line: str) -> None:
        text = line.strip()[:MAX_LINE_LENGTH]
        if _WORD.search(text) is None:
            return

        for kind, _, pattern in _KNOWN:
            if pattern.search(text):
                if kind not in self._lines:
                    self._lines[kind] = _quote(line)
                self._times[kind] += 1
                return

    def adopt(self, later: "SymptomCounter") -> None:
        """Add what another one counted."""
        self._lines = later._lines | self._lines
        self._times += later._times

    def most_telling(self) -> tuple[Symptom, ...]:
        """The different signs, the most telling first."""
        symptoms = []
        for kind, meaning, _ in _KNOWN:
            if kind in self._lines:
                symptoms.append(Symptom(kind, meaning, self._lines[kind], self._times[kind]))
        return tuple(symptoms[:MAX_SYMPTOMS])


def _quote(line: str) -> str:
    """The beginning of a line without secrets. A server's text in it may have characters that control or reorder."""
    text = redact_beginning(line.strip(), MAX_LINE_LENGTH).replace("\t", " ")
    return printable(text, "\N{REPLACEMENT CHARACTER}")


def find_symptoms(lines: Iterable[str]) -> tuple[Symptom, ...]:
    """The different signs of trouble in the lines, the most telling first."""
    counter = SymptomCounter()
    for line in lines:
        counter.take(line)
    return counter.most_telling()


def describe(symptoms: Iterable[Symptom]) -> str:
    """One sentence per symptom, for the reason of a failed run; empty where there is none."""
    sentences = []
    for symptom in symptoms:
        times = ""
        if symptom.times > 1:
            times = f" ({symptom.times} times)"
        sentences.append(f"{symptom.meaning[0].upper()}{symptom.meaning[1:]}{times}: {symptom.line}")
    return "\n".join(sentences)
