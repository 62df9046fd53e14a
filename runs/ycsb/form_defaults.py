"""What the command line and the properties in a file say about a run, to begin a form with. Pure.

Nothing here is taken for granted: a person sees it, and may say otherwise.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl

from runs.ycsb.command import PERCENTILES, read_options
from runs.ycsb.properties import (
    CORE_WORKLOADS,
    MAX_RECORDS,
    WORKLOAD_PROPERTIES,
    YCSB_WARM_UP,
    convert_version_1_warm_up,
)
from runs.ycsb.readers.results import ReadRun

_LETTER: Final = re.compile(r"workload_?([a-f])(?![a-z])", re.IGNORECASE)
# Options that decide what a write or a read waits for, and the name that a durability mode of the catalog has for each.
_DURABILITY: Final = {
    name: name
    for name in (
        "cassandra.readconsistencylevel", "cassandra.writeconsistencylevel", "clientbuffering", "couchbase.persistTo",
        "couchbase.replicateTo", "couchbase.syncMutationResponse", "durability", "jdbc.autocommit",
        "memcached.checkOperationStatus", "postgresql.synchronous_commit", "redis.wait.replicas",
    )
} | {
    "couchbase.checkFutures": "couchbase.syncMutationResponse",
    "mongodb.readPreference": "readPreference",
}  # fmt: skip
# Options of mongodb.url, whose names have no case, and the words of mongodb.writeConcern.
_MONGODB_URL: Final = {
    "w": "w", "j": "journal", "journal": "journal", "readconcernlevel": "readConcernLevel",
    "readpreference": "readPreference",
}  # fmt: skip
# Options that name the servers, and the port where it stands apart.
_SERVERS: Final = ("db.url", "hosts", "mongodb.url", "redis.host", "memcached.hosts", "couchbase.host", "as.host")
_PORTS: Final = ("port", "redis.port")
# Options that name what a client uses within its servers.
DATABASE: Final = (
    "as.namespace", "cassandra.keyspace", "columnfamily", "couchbase.bucket", "db.url", "mongodb.database",
    "mongodb.url", "redis.database",
)  # fmt: skip
_WRITE_CONCERNS: Final[Mapping[str, Mapping[str, str]]] = {
    "errors_ignored": {"w": "0"}, "unacknowledged": {"w": "0"}, "acknowledged": {"w": "1"},
    "journaled": {"w": "1", "journal": "true"}, "replica_acknowledged": {"w": "2"}, "majority": {"w": "majority"},
    # Words of YCSB 0.1.4; later ones ignore them.
    "none": {"w": "0"}, "normal": {"w": "0"}, "safe": {"w": "1"}, "replicas_safe": {"w": "2"},
}  # fmt: skip
OWN_PERCENTILES: Final = ",".join(f"{percentile:g}" for percentile in PERCENTILES)
MAX_INTEGER: Final = 2_147_483_647


@dataclass(frozen=True, slots=True)
class Hints:
    """Totals over all clients. None and empty: nothing says so."""

    threads: int | None = None
    target_ops_s: int | None = None
    records: int | None = None
    letter: str = ""  # of YCSB's own workload
    binding: str = ""  # "mongodb", "com.yahoo.ycsb.db.RedisClient": as the command line has it
    connection: Mapping[str, str] = field(default_factory=dict)  # db.url, which tells what JDBC's binding drove
    properties: Mapping[str, str] = field(default_factory=dict)  # of the workload


def read_hints(clients: Sequence[ReadRun]) -> Hints:
    """The plan of one run by what its clients were told."""
    threads: list[int | None] = []
    targets: list[int | None] = []
    for run in clients:
        options = stated_options(run)
        threads.append(_get_threads(run, options))
        targets.append(_whole(options.get("target", "")))
    first = {}
    if clients:
        first = stated_options(clients[0])
    properties = build_workload(first)

    return Hints(
        threads=_total(threads),
        target_ops_s=_total(targets) or None,
        records=_up_to(properties.get("recordcount", ""), MAX_RECORDS),
        letter=_letter(first.get("file", "")),
        binding=first.get("db", "mongodb" if "mongodb.url" in first else ""),
        connection={"db.url": first["db.url"]} if "db.url" in first else {},
        properties=properties,
    )


def build_workload(options: Mapping[str, str]) -> dict[str, str]:
    """Workload properties among a client's options, or those of YCSB's own workload file that they name."""
    stated = {name: options[name] for name in options if name in WORKLOAD_PROPERTIES or name == YCSB_WARM_UP}
    if options.get("hdrhistogram.percentiles") == OWN_PERCENTILES:  # Benchsite wrote this client's property file.
        stated = convert_version_1_warm_up(stated)
    return {**_mix(_letter(options.get("file", ""))), **stated}


def read_durability(options: Mapping[str, str]) -> dict[str, str]:
    """A client's options of durability, under the names that the catalog's modes use."""
    concerns = {mode_name: options[name] for name, mode_name in _DURABILITY.items() if name in options}
    concerns |= _WRITE_CONCERNS.get(options.get("mongodb.writeConcern", "").lower(), {})
    _, _, query = options.get("mongodb.url", "").partition("?")
    for name, value in parse_qsl(query):
        if name.lower() in _MONGODB_URL:
            concerns[_MONGODB_URL[name.lower()]] = value
    return concerns


def get_servers(options: Mapping[str, str]) -> frozenset[str]:
    """The servers that a client's options name, as host and port."""
    port = next((f":{options[name]}" for name in _PORTS if name in options), "")
    servers = set()
    for option in _SERVERS:
        # mongodb://user:password@host:27017,other:27017/database?options
        address = re.sub("^.*?://|^.*@", "", options.get(option, ""))
        hosts, *_ = re.split("[/?;]", address)
        for server in hosts.split(","):
            _, _, host = server.rpartition("@")
            host = host.strip().lower()
            if host:
                servers.add(host if ":" in host else f"{host}{port}")
    return frozenset(servers)


def read_database(options: Mapping[str, str]) -> dict[str, str]:
    """The names within the servers in a client's options; of an address everything but users, hosts and ports."""
    return {name: re.sub("(//|@)[^/?;]*", r"\1", options[name]) for name in DATABASE if name in options}


def stated_options(run: ReadRun) -> dict[str, str]:
    """Every option and property of a client; what the command line says last counts, as in YCSB."""
    return dict(read_options(run.command, tuple(run.properties.items())))


def _get_threads(run: ReadRun, options: Mapping[str, str]) -> int | None:
    stated = _whole(options.get("threadcount", ""))
    if stated:
        return stated
    # YCSB starts one thread unless it is told otherwise. Nobody knows where nothing was written down, or where a file
    # that is not here may have told it.
    has_unread_file = "file" in options and not _letter(options["file"])
    return 1 if run.command and not has_unread_file else None


def _total(parts: Iterable[int | None]) -> int | None:
    """The sum of all clients; None where one of them says nothing."""
    counts = list(parts)
    total = sum(part for part in counts if part is not None)
    if counts and None not in counts and total <= MAX_INTEGER:
        return total
    return None


def _whole(text: str) -> int | None:
    return _up_to(text, MAX_INTEGER)


def _up_to(text: str, most: int) -> int | None:
    if re.fullmatch(r"[0-9]{1,19}", text, re.ASCII) and 0 < int(text) <= most:
        return int(text)
    return None


def _letter(file: str) -> str:
    match = _LETTER.search(file.rsplit("/", 1)[-1])
    return match[1].upper() if match else ""


def _mix(letter: str) -> dict[str, str]:
    """YCSB's own workload of that letter, without the number of records."""
    return {name: value for name, value in CORE_WORKLOADS.get(letter, {}).items() if name != "recordcount"}
