"""What one YCSB client is told: its command line and its whole property file, as written for it and read of others."""

import hashlib
import math
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Final, Literal

from runs.ycsb.errors import SplitError
from runs.ycsb.messages import DURATION_UNKNOWN
from runs.ycsb.properties import (
    CLIENT_COUNT,
    CLIENT_NUMBER,
    FIRST_INSERT,
    INSERT_RETRIES,
    INSERT_RETRY_INTERVAL,
    MAX_INT,
    inserts,
)

WORKLOAD_CLASS: Final = "site.ycsb.workloads.CoreWorkload"
EXPORTER_CLASS: Final = "site.ycsb.measurements.exporter.TextMeasurementsExporter"
PERCENTILES: Final = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99)
DEFAULT_HEAP: Final = "-Xmx512m"
JVM_OPTIONS: Final = ("-Xms256m", DEFAULT_HEAP)  # of every client
# A run of seconds ends before the code of the second compiler has paid for its compilation: in their first seconds
# clients of Redis on a shared core did 4,100 and 5,500 operations for each second of CPU time, and 13,900 and 19,600
# without it.
SHORT_RUN_S: Final = 30
SHORT_LOAD_RECORDS: Final = 500_000  # by one client
SHORT_RUN_JVM_OPTIONS: Final = (*JVM_OPTIONS, "-XX:TieredStopAtLevel=1")
# Clients connect after the agreed instant and their last interval is short, so each process runs this much longer
# than the part that is measured.
TAIL_S: Final = 1
# Of an open load: operations per second of one client.
OPEN_RATE: Final = "open.rate"
LATE_CLIENT_S: Final = 0.25  # a client that connects late begins later by so much or more
# No client is thought to be faster; only the predicted key space of zipfian workloads with inserts depends on it.
FASTEST_CLIENT_OPS_S: Final = 50_000
MAX_RETRY_DELAY_MS: Final = 60_000  # that Benchsite's client takes

_OPTIONS: Final = {"-threads": "threadcount", "-target": "target", "-db": "db", "-P": "file"}
MAX_COMMAND_LENGTH: Final = 50_000  # characters
MAX_TEXT_LENGTH: Final = 500  # characters of what is looked at

# Numbers, dates and status lines come out the same wherever a client runs.
_LOCALE: Final = ("-Duser.timezone=UTC", "-Duser.language=en", "-Duser.country=US")


def java_command(
    java: str,
    jars: Sequence[str],
    *,
    main_class: str,
    arguments: Sequence[str] = (),
    jvm_options: Sequence[str] = (),
) -> list[str]:
    """The argv of one client. The heap is always explicit; the locale and time zone cannot be overridden."""
    heap = [DEFAULT_HEAP]
    if any(option.startswith("-Xmx") for option in jvm_options):
        heap = []
    return [java, *heap, *jvm_options, *_LOCALE, "-cp", os.pathsep.join(jars), main_class, *arguments]


def choose_jvm_options(*, duration_s: int | None, inserts: int) -> tuple[str, ...]:
    """Java's options for a client that runs so long, or one that inserts so many records without an end by time."""
    is_short = duration_s < SHORT_RUN_S if duration_s else inserts < SHORT_LOAD_RECORDS
    return SHORT_RUN_JVM_OPTIONS if is_short else JVM_OPTIONS


def split(total: int, parts: int, *, noun: str = "threads") -> list[int]:
    """Share `total` out as evenly as possible, the larger shares first; every part gets at least one.

    Raises SplitError, naming both numbers, when there is not enough for every part.
    """
    if parts < 1:
        raise SplitError("There is no client to share anything out to.")
    if total < parts:
        raise SplitError(
            f"{total} {noun} cannot be shared out over {parts} clients: every client needs at least one. "
            f"Use at least {parts} {noun}, or fewer clients."
        )
    share, rest = divmod(total, parts)
    return [share + (1 if part < rest else 0) for part in range(parts)]


def split_target(target_ops_s: int | None, clients: int) -> Sequence[int | None]:
    """The target of each client; None without a target. Raises SplitError."""
    if not target_ops_s:
        return [None] * clients
    return split(target_ops_s, clients, noun="operations per second")


def client_properties_for_run(
    workload: Mapping[str, str],
    *,
    phase: Literal["load", "measure"] | str,
    client: int,
    clients: int,
    threads: int,
    target_ops_s: int | None = None,
    duration_s: int | None = None,
    warmup_s: int | None = None,
    binding_properties: Mapping[str, str] | None = None,
    first_insert: int | None = None,
    among_inserting: tuple[int, int] | None = None,
    open_load: Mapping[str, str] | None = None,
    is_own_client: bool = False,
) -> dict[str, str]:
    """The property file of client number `client` of `clients`, but for where it writes.

    `workload` is a checked workload; `threads`, `target_ops_s` and `duration_s` are this client's own. A run in phase
    "measure" ends by time alone, so it needs a duration and gets as many operations as it may need; a load ends when
    this client's part of the records is written. `warmup_s`, for clients that `benchsite.Start` starts, lets the
    schedule of a target begin with the measured window; without it YCSB makes up for a late warm-up inside the window.
    `first_insert` is the number behind the last key of a data set that has grown. `among_inserting` numbers the client
    among all clients of the run that insert (its number and how many there are); None: these are the `clients`.
    `open_load` is `open_load_properties`: the target is then its rate. `is_own_client`: of Benchsite's own client.
    """
    dotransactions = "true"
    if phase == "load":
        dotransactions = "false"
    properties = {
        **workload,
        **(binding_properties or {}),
        "workload": WORKLOAD_CLASS,
        "threadcount": str(threads),
        "dotransactions": dotransactions,
        "status": "true",
        "status.interval": "1",
        "measurementtype": "hdrhistogram",
        "measurement.interval": "both" if target_ops_s else "op",
        "hdrhistogram.fileoutput": "true",
        "hdrhistogram.percentiles": ",".join(f"{percentile:g}" for percentile in PERCENTILES),
        "exporter": EXPORTER_CLASS,
    }
    if open_load:
        properties |= open_load
    elif target_ops_s:
        properties["target"] = str(target_ops_s)

    if phase == "load":
        if is_own_client:
            properties = _retry_in_client(properties)
        return properties | _load_part(int(workload["recordcount"]), client, clients)
    if not duration_s or duration_s < 1:
        raise ValueError(DURATION_UNKNOWN)

    if target_ops_s and warmup_s is not None:
        properties["window.start_s"] = str(warmup_s)
    if inserts(workload):
        properties |= _insert_part(*(among_inserting or (client, clients)), first_insert)

    return properties | {
        "operationcount": str(operation_count(workload, duration_s)),
        "maxexecutiontime": str(duration_s),
    }


def open_load_properties(
    *,
    target_ops_s: float,
    arrivals: str,
    patience_ms: float | None,
    profile: Sequence[Sequence[float]],
    client: int,
    clients: int,
    run: str,
) -> dict[str, str]:
    """What client number `client` of `clients` is told of an open load of `target_ops_s` in all.

    Each client offers an equal part. Equal gaps of n clients lie between each other; random ones have seeds of their
    own, made from `run` and the number of the client. Several clients begin together; one that connects too late for
    that is behind by whole gaps.
    """
    patience = "never"
    if patience_ms is not None:
        patience = f"{patience_ms:g}"
    properties = {
        OPEN_RATE: repr(target_ops_s / clients),
        "open.arrivals": arrivals,
        "open.patience_ms": patience,
        "open.shift": repr(client / clients),
        "open.seed": str(make_seed(run, client)),
    }
    if clients > 1:
        gap_s = clients / target_ops_s
        properties["open.begin_every_s"] = repr(math.ceil(LATE_CLIENT_S / gap_s) * gap_s)

    if profile:
        properties["open.profile"] = ",".join(f"{second:.15g}:{percent:.15g}" for second, percent in profile)
    return properties


def make_seed(run: str, client: int) -> int:
    """Of a client's random gaps."""
    return int.from_bytes(hashlib.sha256(f"{run} {client}".encode()).digest()[:6])


def go_ycsb_properties(properties: Mapping[str, str], *, warmup_s: int) -> dict[str, str]:
    """Properties for go-ycsb, from `client_properties_for_run`: it reports each second from the end of its warm-up.

    With a target its warm-up would count as lateness that it makes up for, so plans with both are refused. Its profiler
    would listen on all addresses, and `dropdata` deletes more than this data set.
    """
    java_only = ("exporter", "maxexecutiontime", "status", "window.start_s")
    others = {name: text for name, text in properties.items() if name not in java_only and "hdrhistogram" not in name}
    return others | {
        "measurementtype": "histogram",
        "measurement.interval": "1",
        "outputstyle": "plain",
        "warmuptime": str(warmup_s),
        "debug.pprof": "127.0.0.1:0",
        "dropdata": "false",
    }


def _retry_in_client(properties: dict[str, str]) -> dict[str, str]:
    """With the retries of inserts left to Benchsite's client, which keeps the values of a record.

    YCSB 0.17.0 hands the same values over again, which have been read to their end: empty fields would be stored.
    """
    limit = properties.get(INSERT_RETRIES, "0")
    if limit == "0":
        return properties
    delay_ms = min(1000 * int(properties.get(INSERT_RETRY_INTERVAL, "3")), MAX_RETRY_DELAY_MS)
    own = {"benchsite.retries.insert": limit, "benchsite.retry.delay_ms": str(delay_ms)}
    return {**own, **properties, INSERT_RETRIES: "0"}


def _load_part(records: int, client: int, clients: int) -> dict[str, str]:
    counts = split(records, clients, noun="records")
    return {
        "insertstart": str(sum(counts[:client])),
        "insertcount": str(counts[client]),
        # The zipfian generator reads it even where no operation will run.
        "operationcount": str(records),
    }


def number_inserting(parts: Iterable[tuple[Mapping[str, str], int]]) -> list[tuple[int, int]]:
    """Of workloads and their clients, the ladder's and each group's: the number of the first client among all that
    insert and how many these are, so that no two of them insert the same key.
    """
    counts = [clients if inserts(workload) else 0 for workload, clients in parts]
    return [(sum(counts[:place]), sum(counts)) for place in range(len(counts))]


def _insert_part(client: int, clients: int, first_insert: int | None) -> dict[str, str]:
    """Which keys the client inserts; a client that is alone begins behind the loaded records, as YCSB does."""
    part = {}
    if clients > 1:
        part = {CLIENT_NUMBER: str(client), CLIENT_COUNT: str(clients)}
    if first_insert is not None:
        part[FIRST_INSERT] = str(first_insert)
    return part


def operation_count(workload: Mapping[str, str], duration_s: int) -> int:
    """More operations than the client can do in its time: YCSB 0.17.0 starts no thread when there is no count.

    A zipfian workload that inserts lays out its keys for twice the inserts that this count would make, and throws the
    dice again for every key that is not there yet: the largest possible count would make it search for minutes.
    """
    if inserts(workload) and workload.get("requestdistribution") == "zipfian":
        return min(FASTEST_CLIENT_OPS_S * duration_s, MAX_INT)
    return MAX_INT


# --- Command lines that others wrote ---


@lru_cache(maxsize=32)
def read_options(command: str, properties: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Every option of a command line and every property beside it; what the command line says last counts, as in YCSB.

    Remembered, since the same run is asked several times: nobody changes the answer.
    """
    options = {name: value for name, value in properties if len(value) <= MAX_TEXT_LENGTH}
    words = [word for word in split_command(command) if len(word) <= MAX_TEXT_LENGTH]
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        name, equals, value = following.partition("=")
        if word == "-p" and equals:
            options[name] = value
        elif word in _OPTIONS:
            options[_OPTIONS[word]] = following
    binding = _find_binding(words)
    if binding:
        options.setdefault("db", binding)
    return options


@lru_cache(maxsize=32)
def split_command(command: str) -> tuple[str, ...]:
    """The words of a command line, however it was quoted; of one without end, its beginning.

    Remembered, since the same run is asked several times, and shlex takes one character after the other.
    """
    try:
        return tuple(shlex.split(command[:MAX_COMMAND_LENGTH]))
    except ValueError:
        return tuple(command[:MAX_COMMAND_LENGTH].split())


def _find_binding(words: Sequence[str]) -> str:
    """`bin/ycsb run redis -s ...` and `go-ycsb run mysql` name the binding behind the phase."""
    for phase in ("load", "run"):
        if phase in words[:4] and words.index(phase) + 1 < len(words):
            return words[words.index(phase) + 1]
    return ""
