"""What Benchsite asks of every server under test beside the load itself. No Django."""

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

COUNTERS_TIMEOUT_S = 5.0
KEPT_TIMEOUT_S = 5  # of one answer, over a connection that is kept
UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})  # categories of Unicode
MAX_SURVEYED = 8  # tables or patterns
MAX_SURVEYED_KEYS = 1_000
MAX_SERVER_TEXT = 300  # characters of a text that a server sent, on pages and in logs


def printable(text: str) -> str:
    """The text with a replacement for each character that controls, formats or separates."""
    for character in set(text):
        if unicodedata.category(character) in UNPRINTABLE:
            text = text.replace(character, "\N{REPLACEMENT CHARACTER}")
    return text


def plain_text(text: object, limit: int = MAX_SERVER_TEXT) -> str:
    """The beginning of a text that somebody else's server sent, on one line and without control characters."""
    line = printable(" ".join(str(text)[: limit + 1].split()))
    if len(line) > limit:
        return f"{line[: limit - 1]}…"
    return line


class AdministrationError(Exception):
    """The server did not answer, or refused what was asked. The message is fit for a page: it holds no password."""


class DriverError(AdministrationError):
    """What a driver gave up with, such as a timeout of its own. The next call may succeed."""


class MarkerNameTaken(AdministrationError):
    """Something that is no marker has the marker's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a server answers, and as whom it is asked."""

    host: str
    port: int
    user: str = ""
    password: str = ""
    database: str = ""
    ssl: str = ""  # as the client property says it; empty: the system has no such property
    pems: tuple[str, str, str] = field(default=("", "", ""), repr=False)  # CA, client's certificate and its key

    def __repr__(self) -> str:
        return f"Address({self.user}@{self.host}:{self.port}/{self.database})"


@dataclass(frozen=True, slots=True)
class Counters:
    """The counters of all nodes of a cluster together; docs/developers/adding-a-system.md lists their names."""

    counts: Mapping[str, float] = field(default_factory=dict)  # since the servers' start
    values: Mapping[str, float] = field(default_factory=dict)  # at this moment


@dataclass(frozen=True, slots=True)
class Connections:
    """How many a server has, and the most that it allows; of several limits that which leaves the fewest."""

    used: int
    limit: int

    @property
    def free(self) -> int:
        return self.limit - self.used


@dataclass(frozen=True, slots=True)
class Survey:
    """What a server of somebody else holds, and what would fail a benchmark of it.

    `data`: tables, or patterns of keys, beside the data set, each with its number of records, which may be estimated;
    negative where they are not counted.
    `obstacles`: replica, read_only, cluster_mode, no_create (of the table). `connections` None: the server states none.
    """

    data: Mapping[str, int] = field(default_factory=dict)
    obstacles: Sequence[str] = ()
    connections: Connections | None = None


class Administration(Protocol):
    """One server under test. While a run measures it is asked for its counters alone, once a second.

    Every method but `close` raises AdministrationError.
    """

    address: Address

    def ping(self) -> None:
        """Returns if the server answers and is ready for work."""

    def prepare(self, settings: Mapping[str, str]) -> None:
        """Makes what the address speaks of and a fresh server does not have, such as its database, with those of the
        `settings` that belong to its schema; `replication_factor` is one of them. By default: nothing.
        """
        return

    def server_version(self) -> str:
        """The version number, as the server says it."""

    def read_commit(self) -> str:
        """The commit that the server says it was built of; empty: it does not say. By default it does not."""
        return ""

    def data_folder(self) -> str:
        """The folder the server keeps its data in, by which ours is told from another on the same port."""

    def read_settings(self, names: Iterable[str]) -> dict[str, str]:
        """The settings in force, as a new client's session sees them. Names the server does not know are left out."""

    def replicas(self) -> int:
        """Copies that are connected and keep up."""

    def topology(self) -> dict[str, str]:
        """What else must be the same before and after a run, such as versions, nodes and replication; with `nodes_up`
        where Benchsite starts clusters of the system.
        """

    def list_nodes(self) -> list[tuple[str, int]]:
        """IP address and port of each node of the cluster, as the server names them to clients. By default none."""
        return []

    def open_counters(self) -> AbstractContextManager[Callable[[], Counters]]:
        """Within, each call of the function reads the counters, over one connection that stays open. It raises
        AdministrationError, also where the server takes longer than COUNTERS_TIMEOUT_S.
        """

    def survey(self, table: str) -> Survey:
        """Reads little: MAX_SURVEYED_KEYS keys, or the database's own statistics. By default nothing is stated."""
        return Survey()

    # --- the data set: what `workers.provision.ownership` needs to know and to do

    key_batch: int  # how many keys one call of `count_keys` or `delete_keys` takes
    has_tables: bool  # whether each table is a target of its own

    def content(self, table: str) -> str:
        """An example of the target's content for a message; empty where it holds nothing, not even a marker."""

    def size(self, table: str) -> int:
        """How many records and other entries the target holds, without the marker and what belongs to its records."""

    def read_marker(self, table: str) -> str:
        """The JSON text of the target's marker; empty where there is none. Raises MarkerNameTaken, too."""

    def write_marker(self, table: str, marker: str, *, replaces: str, fields: Sequence[str] = ()) -> bool:
        """Writes the marker into a target that exists, in one step with the check that it still has the marker
        `replaces` (empty: none). False: another process was first. Raises AdministrationError too where the target
        lacks one of the record's `fields`.
        """

    def create_table(self, table: str, fields: Sequence[str], marker: str) -> bool:
        """Makes the table of a data set with its marker, in one step. False where it exists or none is needed."""
        return False

    def drop_empty_table(self, table: str) -> bool:
        """Drops the table with its marker if no row is left in it; without tables, deletes the marker of an empty
        target. Answers whether it did.
        """

    def count_keys(self, table: str, keys: Sequence[str]) -> int:
        """How many of the records with these keys are there."""

    def delete_keys(self, table: str, keys: Sequence[str]) -> int:
        """Deletes the records with these keys and nothing else. Answers how many there were."""

    def shut_down(self) -> bool:
        """Tells the server to end and to keep its data. False: the server does so at its stop signal anyway."""
        return False

    def close(self) -> None:
        """Ends what was started here to ask it, if anything. Another call starts it again."""
        return
