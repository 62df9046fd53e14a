"""Which system the output of a YCSB client speaks of: a proposal for the person who uploads it, never a fact."""

import re
from collections.abc import Iterable, Iterator, Mapping

from runs.catalog.loader import load_catalog
from runs.catalog.records import System

JDBC = frozenset({"jdbc", "jdbcdbclient"})
# Systems that are driven through another one's binding or named together with it: where one of these is spoken of, a
# name of the catalog beside it says how it was driven, not what it was.
LOOKALIKES = frozenset({
    "scylla", "scylladb", "yugabyte", "yugabytedb", "keyspaces", "astra", "cosmos", "cosmosdb", "azurecosmos",
    "documentdb", "keydb", "valkey", "dragonfly", "garnet", "kvrocks", "mysql", "percona", "tidb", "tikv", "cockroach",
    "cockroachdb", "bigtable", "googlebigtable", "maprdb", "aurora", "memorydb", "elasticache", "pebble",
})  # fmt: skip
MAX_CHARACTERS = 2000  # characters looked at


def recognise(name: str, properties: Mapping[str, str] | None = None) -> str | None:
    """The slug of the one system that `name` names, or None where it names none, several or one of another kind.

    `name` is a class as after `-db` (site.ycsb.db.MongoDbClient), a binding as after `ycsb run` (cassandra2-cql), a
    name or alias, or free words such as a file's name. JDBC's binding drives many systems: `properties` of the client
    (db.url) then say which.
    """
    text = name.strip().lower()[:MAX_CHARACTERS]
    named = text.rpartition(".")[2]
    if JDBC & {text, named}:
        return _behind_jdbc(properties or {})
    systems = load_catalog().systems.values()
    exact = [s.slug for s in systems if text in _names(s) or named in s.recognition.classes]
    return _only(exact) or _only(_find_named_systems(text))


def _names(system: System) -> frozenset[str]:
    return frozenset({system.slug, system.name.lower(), *system.aliases, *system.recognition.bindings})


def _behind_jdbc(properties: Mapping[str, str]) -> str | None:
    """What db.url is of; several shards stand behind semicolons and are of one kind."""
    scheme = re.match(r"jdbc:([a-z0-9]+):", properties.get("db.url", "").strip().lower())
    if scheme is None:
        return None
    return _only([s.slug for s in load_catalog().systems.values() if scheme[1] in s.recognition.jdbc])


def _find_named_systems(text: str) -> Iterator[str]:
    """The systems whose names stand in `text` as words, with or without a version's digits behind them."""
    words = re.findall(r"[a-z0-9]+", text)
    spoken = {*words, *(word.rstrip("0123456789") for word in words)}
    if LOOKALIKES & spoken:
        return
    for system in load_catalog().systems.values():
        if _names(system) & spoken:
            yield system.slug


def _only(slugs: Iterable[str]) -> str | None:
    distinct = set(slugs)
    return distinct.pop() if len(distinct) == 1 else None
