"""Redis: settings by CONFIG GET, records by their keys, a planned stop that keeps the data in every mode."""

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from workers.provision.administration.base import (
    COUNTERS_TIMEOUT_S,
    KEPT_TIMEOUT_S,
    MAX_SURVEYED,
    MAX_SURVEYED_KEYS,
    Address,
    Administration,
    AdministrationError,
    Connections,
    Counters,
    MarkerNameTaken,
    Survey,
    plain_text,
)
from workers.provision.administration.pem_files import pem_file
from workers.provision.messages import NO_MARKER

ANSWER_TIMEOUT_S = 10.0
PING_TIMEOUT_S = 2.0
# Writing the snapshot of a planned stop takes long when there is much in it.
LONG_TIMEOUT_S = 600.0
# With a text of the server; those of others are redis-py's own.
STATED_ERRORS = (redis.ResponseError, redis.AuthenticationError, redis.BusyLoadingError)
KEY_PART = re.compile(r"(?<=[:/.|_-]).*|\d+.*")  # what tells one key of a kind from another
MARKER_KEY = "benchsite:data-set"
REPLICA = re.compile(r"slave\d+")
# What INFO calls the counters. Reads of keys that are there are hits, of keys that are not (any more) misses.
COUNTS = {
    "cache_hits": "keyspace_hits",
    "cache_misses": "keyspace_misses",
    "evictions": "evicted_keys",
    "commands": "total_commands_processed",
    "network_received_bytes": "total_net_input_bytes",
    "network_sent_bytes": "total_net_output_bytes",
    "log_syncs_delayed": "aof_delayed_fsync",
}
VALUES = {
    "memory_used_bytes": "used_memory",
    "memory_resident_bytes": "used_memory_rss",
    "clients": "connected_clients",
    "log_size_bytes": "aof_current_size",
    "log_syncs_pending": "aof_pending_bio_fsync",
    "log_rewrites_pending": "aof_rewrite_in_progress",
    "snapshots_pending": "rdb_bgsave_in_progress",
    "log_buffer_bytes": "aof_buffer_length",
}
# Sorted sets in which Benchsite's client and YCSB's own keep the keys of all records. They are no records themselves.
INDEXES = ("{table}:index", "_indices")


def product_version(info: Mapping[str, Any]) -> str:
    """The version of Redis, or "Valkey 9.1.2"; Valkey answers redis_version with that of the Redis it can replace."""
    if "valkey_version" in info:
        return f"Valkey {info['valkey_version']}"
    return str(info["redis_version"])


class RedisAdministration(Administration):
    """One Redis server, in the logical database the clients use, asked over a new connection each time unless it
    `keeps_connection`.
    """

    key_batch = 10_000  # one command of some 20 ms, during which Redis serves nobody else
    has_tables = False

    def __init__(self, address: Address, *, keeps_connection: bool = False) -> None:
        self.address = address
        self._kept = self._make_client(KEPT_TIMEOUT_S) if keeps_connection else None

    def ping(self) -> None:
        with self.connect(PING_TIMEOUT_S) as client:
            # INFO, unlike PING, is answered while a data set is still being read.
            if client.info("persistence").get("loading"):
                raise AdministrationError("Redis is still reading its data set.")

    def server_version(self) -> str:
        with self.connect() as client:
            return product_version(client.info("server"))

    def read_commit(self) -> str:
        with self.connect() as client:
            commit = str(client.info("server").get("redis_git_sha1", ""))
        return commit if commit.strip("0") else ""

    def data_folder(self) -> str:
        return self.read_settings(["dir"])["dir"]

    def read_settings(self, names: Iterable[str]) -> dict[str, str]:
        with self.connect() as client, client.pipeline(transaction=False) as pipeline:
            for name in names:
                pipeline.config_get(name)
            answers = cast(list[dict[str, str]], pipeline.execute())
        settings: dict[str, str] = {}
        for answer in answers:
            settings |= answer
        return settings

    def replicas(self) -> int:
        with self.connect() as client:
            replicas = _list_replicas(client.info("replication"))
            offsets = [replica["offset"] for replica in replicas if replica["state"] == "online"]
            # Until its first acknowledgement a replica gets no commands, and a new primary has nothing to acknowledge.
            if 0 in offsets:
                with contextlib.suppress(redis.RedisError):
                    client.publish("benchsite", "")
            return sum(offset > 0 for offset in offsets)

    @contextlib.contextmanager
    def open_counters(self) -> Iterator[Callable[[], Counters]]:
        with self.connect(COUNTERS_TIMEOUT_S) as client:
            yield lambda: self._read_counters(client)

    def _read_counters(self, client: "redis.Redis") -> Counters:
        with self._translate_errors():
            info = client.info()
        counts = {name: info[key] for name, key in COUNTS.items() if key in info}
        values = {name: info[key] for name, key in VALUES.items() if key in info}
        offsets = [replica["offset"] for replica in _list_replicas(info)]
        if offsets:
            values["replication_lag_bytes"] = info["master_repl_offset"] - min(offsets)
        return Counters(counts, values)

    def survey(self, table: str) -> Survey:
        with self.connect() as client:
            size = client.dbsize()
            keys: list[str] = []
            for key in client.scan_iter(count=MAX_SURVEYED_KEYS):
                keys.append(key)
                if len(keys) >= MAX_SURVEYED_KEYS:
                    break
            info = client.info()

        own = {MARKER_KEY, *indexes(table)}
        patterns = Counter(KEY_PART.sub("*", key, count=1) for key in keys if key not in own)
        share = 1.0
        if keys:
            share = max(size / len(keys), 1.0)
        data = {pattern: round(number * share) for pattern, number in patterns.most_common(MAX_SURVEYED)}
        connections = None
        if "maxclients" in info:
            connections = Connections(info["connected_clients"], info["maxclients"])
        return Survey(data, self._find_obstacles(info), connections)

    def _find_obstacles(self, info: Mapping[str, Any]) -> list[str]:
        obstacles = []
        if info.get("role") == "slave":
            obstacles.append("replica")
        if info.get("cluster_enabled"):
            obstacles.append("cluster_mode")
        return obstacles

    def content(self, table: str) -> str:
        with self.connect() as client:
            key = client.randomkey()
        if key is None:
            return ""
        return f"the key {str(key)[:60]!r}"

    def size(self, table: str) -> int:
        with self.connect() as client:
            marked = bool(client.exists(MARKER_KEY))
            return int(client.dbsize()) - marked - (marked and int(client.exists(*indexes(table))))

    def read_marker(self, table: str) -> str:
        with self.connect() as client:
            kind = str(client.type(MARKER_KEY))
            if kind not in ("none", "string"):
                raise MarkerNameTaken(NO_MARKER.format(key=MARKER_KEY, kind=kind))
            return str(client.get(MARKER_KEY) or "")

    def write_marker(self, table: str, marker: str, *, replaces: str, fields: Sequence[str] = ()) -> bool:
        with self.connect() as client:
            if not replaces:
                return bool(client.set(MARKER_KEY, marker, nx=True))
            with client.pipeline() as transaction, contextlib.suppress(redis.WatchError):
                transaction.watch(MARKER_KEY)  # type: ignore[no-untyped-call]
                if transaction.get(MARKER_KEY) == replaces:
                    transaction.multi()
                    transaction.set(MARKER_KEY, marker)
                    transaction.execute()
                    return True
        return False

    def drop_empty_table(self, table: str) -> bool:
        with self.connect() as client, client.pipeline() as transaction, contextlib.suppress(redis.WatchError):
            transaction.watch(MARKER_KEY)  # type: ignore[no-untyped-call]
            if self.size(table) == 0:
                transaction.multi()
                transaction.delete(MARKER_KEY)
                return bool(transaction.execute()[0])
        return False

    def count_keys(self, table: str, keys: Sequence[str]) -> int:
        with self.connect() as client:
            return int(client.exists(*keys))

    def delete_keys(self, table: str, keys: Sequence[str]) -> int:
        with self.connect() as client:
            deleted = int(client.unlink(*keys))
            for index in indexes(table):
                if client.type(index) == "zset":
                    client.zrem(index, *keys)  # Redis removes the index with its last member.
            return deleted

    def shut_down(self) -> bool:
        """Without an append-only file only a snapshot keeps the data; with one, its buffers are written and forced."""
        save = self.read_settings(["appendonly"]).get("appendonly") == "no"
        with self.connect(LONG_TIMEOUT_S) as client:
            client.shutdown(save=save)
        return True

    def topology(self) -> dict[str, str]:
        return {"version": self.server_version(), "nodes_up": str(1 + self.replicas())}

    @contextlib.contextmanager
    def connect(self, timeout_s: float = ANSWER_TIMEOUT_S) -> Iterator["redis.Redis"]:
        with self._translate_errors():
            if self._kept is not None:
                yield self._kept
                return
            with contextlib.closing(self._make_client(timeout_s)) as client:
                yield client

    def _make_client(self, timeout_s: float) -> "redis.Redis":
        return redis.Redis(
            host=self.address.host,
            port=self.address.port,
            username=self.address.user or None,
            password=self.address.password or None,
            db=int(self.address.database or 0),
            decode_responses=True,
            encoding_errors="replace",
            socket_timeout=timeout_s,
            socket_connect_timeout=min(timeout_s, ANSWER_TIMEOUT_S),
            protocol=2,
            driver_info=None,  # Stating it would take two answers of each connection.
            retry=Retry(NoBackoff(), 0),
            **self._tls_options(),
        )

    def _tls_options(self) -> dict[str, Any]:
        ssl = self.address.ssl
        if ssl in ("", "disable"):
            return {}

        ca, certificate, key = map(pem_file, self.address.pems)
        ssl_cert_reqs = "required"
        if ssl == "trust":
            ssl_cert_reqs = "none"

        return {
            "ssl": True,
            "ssl_cert_reqs": ssl_cert_reqs,
            "ssl_check_hostname": ssl == "verify-full",
            "ssl_ca_certs": ca,
            "ssl_certfile": certificate,
            "ssl_keyfile": key,
        }

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except redis.RedisError as error:
            text = plain_text(error) or type(error).__name__
            if isinstance(error, STATED_ERRORS):
                text = f"the server says: {text}"
            raise AdministrationError(f"Redis at {self.address.host}:{self.address.port}: {text}") from error


def _list_replicas(info: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [value for key, value in info.items() if REPLICA.fullmatch(key) and isinstance(value, dict)]


def indexes(table: str) -> list[str]:
    return [index.format(table=table) for index in INDEXES]
