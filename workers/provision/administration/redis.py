"""Redis: settings by CONFIG GET, records counted by DBSIZE, a planned stop that keeps the data in every mode."""

import contextlib
import re
from collections.abc import Iterable, Iterator
from typing import cast

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from workers.provision.administration.base import Address, AdministrationError

ANSWER_TIMEOUT_S = 10.0
PING_TIMEOUT_S = 2.0
# Emptying a database, and writing the snapshot of a planned stop, take long when there is much in it.
LONG_TIMEOUT_S = 600.0
KEYS_LOOKED_AT = 1000
OUR_KEY = re.compile(r"user[0-9]+")


class RedisAdministration:
    """One Redis server, in the logical database the clients use."""

    def __init__(self, address: Address) -> None:
        self.address = address

    def ping(self) -> None:
        with self._client(PING_TIMEOUT_S) as client:
            # INFO, unlike PING, is answered while a data set is still being read.
            if client.info("persistence").get("loading"):
                raise AdministrationError("Redis is still reading its data set.")
            client.ping()

    def prepare(self) -> None:
        """Nothing: Redis makes its databases by itself."""

    def server_version(self) -> str:
        with self._client() as client:
            return str(client.info("server")["redis_version"])

    def data_folder(self) -> str:
        return self.read_settings(["dir"])["dir"]

    def read_settings(self, names: Iterable[str]) -> dict[str, str]:
        with self._client() as client:
            found: dict[str, str] = {}
            for name in names:
                found.update(cast(dict[str, str], client.config_get(name)))
            return found

    def replicas(self) -> int:
        with self._client() as client:
            state = client.info("replication")
        lines = [value for key, value in state.items() if re.fullmatch(r"slave\d+", key)]
        return sum(isinstance(line, dict) and line.get("state") == "online" for line in lines)

    def create_schema(self, table: str, fieldcount: int, fieldnameprefix: str = "field") -> None:
        self.drop_data(table)

    def drop_data(self, table: str) -> None:
        """Empties the logical database, if what a look into it finds are YCSB's records only."""
        with self._client(LONG_TIMEOUT_S) as client:
            _, keys = cast(tuple[int, list[str]], client.scan(count=KEYS_LOOKED_AT))
            foreign = [key for key in keys if not OUR_KEY.fullmatch(key) and key != _index(table)]
            if foreign:
                raise AdministrationError(
                    f"Database {self.address.database or 0} of this Redis holds keys that are not YCSB's, "
                    f"{foreign[0][:60]!r} among them. Empty it, or choose another by redis.database."
                )
            client.flushdb()

    def count_rows(self, table: str) -> int:
        with self._client() as client:
            return int(client.dbsize()) - int(client.exists(_index(table)))

    def shut_down(self) -> bool:
        """Without an append-only file only a snapshot keeps the data; with one, its buffers are written and forced."""
        save = self.read_settings(["appendonly"]).get("appendonly") == "no"
        with self._client(LONG_TIMEOUT_S) as client:
            client.shutdown(save=save)
        return True

    @contextlib.contextmanager
    def _client(self, timeout_s: float = ANSWER_TIMEOUT_S) -> Iterator["redis.Redis"]:
        client = redis.Redis(
            host=self.address.host,
            port=self.address.port,
            password=self.address.password or None,
            db=int(self.address.database or 0),
            decode_responses=True,
            encoding_errors="replace",
            socket_timeout=timeout_s,
            socket_connect_timeout=min(timeout_s, ANSWER_TIMEOUT_S),
            protocol=2,
            retry=Retry(NoBackoff(), 0),
        )
        try:
            with contextlib.closing(client):
                yield client
        except redis.RedisError as error:
            where = f"{self.address.host}:{self.address.port}"
            raise AdministrationError(f"Redis at {where}: {_words(error)}") from error


def _index(table: str) -> str:
    """The key under which the binding keeps the sorted set of all keys, which is no record."""
    return f"{table}:index"


def _words(error: Exception) -> str:
    return str(error).strip() or type(error).__name__
