"""PostgreSQL: settings as a client's session sees them, one table per data set, its marker in the table's comment."""

import contextlib
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import psycopg
from psycopg import sql

from workers.provision.administration.base import (
    COUNTERS_TIMEOUT_S,
    KEPT_TIMEOUT_S,
    MAX_SURVEYED,
    Address,
    Administration,
    AdministrationError,
    Connections,
    Counters,
    Survey,
    plain_text,
)
from workers.provision.administration.pem_files import pem_file
from workers.provision.messages import ROWS_OF_TABLE

ANSWER_TIMEOUT_S = 10
PING_TIMEOUT_S = 2  # libpq waits no shorter
SSL_MODES = frozenset({"disable", "prefer", "require", "verify-ca", "verify-full"})
KEY_COLUMN = "ycsb_key"
# The marker of a data set is the last line of its table's comment.
MARKER_LINE = "Benchsite data set: "
# The comment of earlier releases, which tells only who made the table.
EARLIER_COMMENT = "A data set of Benchsite; it is dropped and loaded again without asking."
EARLIER_MARKER = '{"created": true}'
MAINTENANCE_DATABASE = "postgres"
# Of the counters those that are values of the moment.
MOMENTARY = frozenset({"replication_lag_bytes", "replication_lag_s", "checkpoints_pending", "vacuums_pending"})
TABLES = """
SELECT relid::regclass::text, greatest(n_live_tup, reltuples)::bigint
FROM pg_stat_user_tables JOIN pg_class ON pg_class.oid = relid
WHERE relid IS DISTINCT FROM to_regclass(%s) ORDER BY 2 DESC, 1 LIMIT %s"""
OBSTACLES = """
SELECT array_remove(ARRAY[
    CASE WHEN pg_is_in_recovery() THEN 'replica'
        WHEN current_setting('transaction_read_only')::bool THEN 'read_only' END,
    CASE WHEN to_regclass(%s) IS NULL
        AND NOT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) THEN 'no_create' END
], NULL)"""
# Of the server, the database and the role that which leaves the fewest. The type of others' sessions may be hidden.
CONNECTIONS = """
WITH sessions AS (
    SELECT datname, usename FROM pg_stat_activity
    WHERE coalesce(backend_type, 'client backend') = 'client backend' AND datname IS NOT NULL)
SELECT used, allowed FROM (
    SELECT count(*), current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true)::int, 0) FROM sessions
    UNION ALL SELECT (SELECT count(*) FROM sessions WHERE datname = current_database()), datconnlimit
        FROM pg_database WHERE datname = current_database() AND datconnlimit >= 0
    UNION ALL SELECT (SELECT count(*) FROM sessions WHERE usename = current_user), rolconnlimit
        FROM pg_roles WHERE rolname = current_user AND rolconnlimit >= 0 AND NOT rolsuper
) AS limits (used, allowed) ORDER BY allowed - used LIMIT 1"""
Session = psycopg.Connection[tuple[Any, ...]]


class DatabaseMissing(AdministrationError):
    """The server answers and has no database of the clients' name."""


class PostgresqlAdministration(Administration):
    """One PostgreSQL server, asked as the clients' role in the clients' database, each time over a new connection
    unless it `keeps_connection`.
    """

    key_batch = 500_000  # some 20 MB, and few scans of the table
    has_tables = True

    def __init__(self, address: Address, *, keeps_connection: bool = False) -> None:
        self.address = address
        self._keeps_connection = keeps_connection
        self._kept: Session | None = None

    def ping(self) -> None:
        with contextlib.suppress(DatabaseMissing), self._session(timeout_s=PING_TIMEOUT_S) as session:
            session.execute("SELECT 1")

    def prepare(self, settings: Mapping[str, str]) -> None:
        """Makes the clients' database where it is not there."""
        with self._session(MAINTENANCE_DATABASE) as session:
            name = self.address.database
            if session.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone() is None:
                session.execute(_named("CREATE DATABASE {}", name))

    def server_version(self) -> str:
        # Distributions add words of their own: "15.18 (Debian 15.18-0+deb12u1)".
        return self.read_settings(["server_version"])["server_version"].split(" ")[0]

    def data_folder(self) -> str:
        # Asked before the clients' database is made.
        with self._session(MAINTENANCE_DATABASE) as session:
            return str(_read_value(session, "SHOW data_directory"))

    def read_settings(self, names: Iterable[str]) -> dict[str, str]:
        query = "SELECT name, current_setting(name, true) FROM unnest(%s::text[]) AS name"
        with self._session() as session:
            rows = session.execute(query, [list(names)]).fetchall()
        return {name: value for name, value in rows if value is not None}

    def replicas(self) -> int:
        return int(self.topology()["nodes_up"]) - 1

    @contextlib.contextmanager
    def open_counters(self) -> Iterator[Callable[[], Counters]]:
        with self._session(timeout_s=int(COUNTERS_TIMEOUT_S)) as session:
            query = counters_query(session.info.server_version)
            yield lambda: self._read_counters(session, query)

    def _read_counters(self, session: "Session", query: str) -> Counters:
        with self._translate_errors():
            cursor = session.execute(query)
            row = cursor.fetchone() or ()

        counts: dict[str, float] = {}
        values: dict[str, float] = {}
        for column, value in zip(cursor.description or (), row, strict=True):
            if value is None:
                continue
            if column.name in MOMENTARY:
                values[column.name] = float(value)
            else:
                counts[column.name] = float(value)

        return Counters(counts, values)

    def survey(self, table: str) -> Survey:
        with self._session() as session:
            with session.pipeline():
                tables = session.execute(TABLES, [table, MAX_SURVEYED])
                connections = session.execute(CONNECTIONS)
                obstacles = _read_value(session, OBSTACLES, [table])
            [(used, limit)] = connections.fetchall()
            return Survey(dict(tables.fetchall()), obstacles, Connections(used, limit))

    def content(self, table: str) -> str:
        with self._session() as session:
            if _exists(session, table) and _read_value(session, _named("SELECT EXISTS (SELECT FROM {})", table)):
                return ROWS_OF_TABLE.format(table=table)
        return ""

    def size(self, table: str) -> int:
        """Counts every row: an estimate could not show a single foreign one."""
        with self._session(timeout_s=None) as session:
            return int(_read_value(session, _named("SELECT count(*) FROM {}", table)))

    def read_marker(self, table: str) -> str:
        with self._session() as session:
            return _comment(session, table)[1]

    def write_marker(self, table: str, marker: str, *, replaces: str, fields: Sequence[str] = ()) -> bool:
        with self._session() as session, _locked(session, table):
            text, present = _comment(session, table)
            if present != replaces or not _exists(session, table):
                return False
            missing = [field for field in (KEY_COLUMN, *fields) if field not in _columns(session, table)]
            if fields and missing:
                raise AdministrationError(
                    f"Table {table} of database {self.address.database} has no column {missing[0]}, which the "
                    "workload's records need. Drop the table, or choose another by the workload's table."
                )
            _write_comment(session, table, text, marker)
        return True

    def create_table(self, table: str, fields: Sequence[str], marker: str) -> bool:
        """The key orders by bytes (collation C), as YCSB's scans expect, whatever the database's own collation."""
        columns = sql.SQL(", ").join(sql.SQL("{} text").format(sql.Identifier(field)) for field in fields)
        with self._session() as session, _locked(session, table):
            if _exists(session, table):
                return False
            session.execute(
                sql.SQL('CREATE TABLE {} ({} text COLLATE "C" PRIMARY KEY, {})').format(
                    sql.Identifier(table), sql.Identifier(KEY_COLUMN), columns
                )
            )
            _write_comment(session, table, "", marker)
        return True

    def drop_empty_table(self, table: str) -> bool:
        with self._session() as session, session.pipeline(), session.transaction():
            session.execute(_named("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", table))
            if session.execute(_named("SELECT FROM {} LIMIT 1", table)).fetchone() is not None:
                return False
            session.execute(_named("DROP TABLE {}", table))
        return True

    def count_keys(self, table: str, keys: Sequence[str]) -> int:
        query = "SELECT count(*) FROM {} JOIN benchsite_keys ON {} = key"
        with self._keys(keys) as session:
            return int(_read_value(session, _named(query, table, KEY_COLUMN)))

    def delete_keys(self, table: str, keys: Sequence[str]) -> int:
        with self._keys(keys) as session:
            deleted = session.execute(_named("DELETE FROM {} USING benchsite_keys WHERE {} = key", table, KEY_COLUMN))
        return deleted.rowcount

    @contextlib.contextmanager
    def _keys(self, keys: Sequence[str]) -> Iterator["Session"]:
        """A transaction with the keys in a temporary table: joining it takes a quarter of the time of an array."""
        with self._session(timeout_s=None) as session, session.pipeline(), session.transaction():
            session.execute('CREATE TEMPORARY TABLE benchsite_keys (key text COLLATE "C") ON COMMIT DROP')
            session.execute("INSERT INTO benchsite_keys SELECT unnest(string_to_array(%s, chr(10)))", ["\n".join(keys)])
            yield session

    def topology(self) -> dict[str, str]:
        """A standby that is `sync` is waited for, one that is `potential` takes its place."""
        try:
            with self._session() as session:
                version, standbys = _read_standbys(session)
        except DatabaseMissing:  # Making it may wait for the standbys.
            with self._session(MAINTENANCE_DATABASE) as session:
                version, standbys = _read_standbys(session)
        # Distributions add words of their own: "15.18 (Debian 15.18-0+deb12u1)".
        facts = {"version": version.split(" ")[0], "nodes_up": str(1 + len(standbys))}
        if standbys:
            facts["standbys"] = ", ".join(map(" ".join, standbys))
        return facts

    def _lacks_database(self) -> bool:
        """By the server's own list: its messages may be in any language."""
        with contextlib.suppress(AdministrationError), self._session(MAINTENANCE_DATABASE, PING_TIMEOUT_S) as session:
            query = "SELECT 1 FROM pg_database WHERE datname = %s"
            return session.execute(query, [self.address.database]).fetchone() is None
        return False

    @contextlib.contextmanager
    def _session(self, database: str | None = None, timeout_s: int | None = ANSWER_TIMEOUT_S) -> Iterator["Session"]:
        """`database` None: the clients' own. `timeout_s` None: a statement may take as long as it does."""
        keeps = self._keeps_connection and database is None
        if keeps:
            timeout_s = KEPT_TIMEOUT_S
        options = ""
        # As the clients do: a server that demands TLS refuses both, or neither.
        ssl_mode = "prefer"
        if self.address.ssl in SSL_MODES:
            ssl_mode = self.address.ssl
        ca, certificate, key = map(pem_file, self.address.pems)
        if ssl_mode.startswith("verify"):
            ca = ca or ssl.get_default_verify_paths().cafile
        if timeout_s is not None:
            options = f"-c statement_timeout={timeout_s * 1000}"
        connect = partial(
            psycopg.connect,
            host=self.address.host,
            port=self.address.port,
            user=self.address.user,
            password=self.address.password or None,
            dbname=database or self.address.database,
            connect_timeout=min(timeout_s or ANSWER_TIMEOUT_S, ANSWER_TIMEOUT_S),
            application_name="benchsite administration",
            sslmode=ssl_mode,
            sslrootcert=ca,
            sslcert=certificate,
            sslkey=key,
            options=options,
            autocommit=True,
        )
        with self._translate_errors(database):
            if not keeps:
                with connect() as session:
                    yield session
                return
            if self._kept is None or self._kept.closed:
                self._kept = connect()
            yield self._kept

    @contextlib.contextmanager
    def _translate_errors(self, database: str | None = None) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            server = f"PostgreSQL at {self.address.host}:{self.address.port}"
            if database is None and isinstance(error, psycopg.OperationalError) and self._lacks_database():
                name = sql.Identifier(self.address.database).as_string()
                user = sql.Identifier(self.address.user).as_string()
                raise DatabaseMissing(
                    f"{server} has no database {self.address.database}. Create it there: CREATE DATABASE {name} "
                    f"OWNER {user}; or name another one by postgresql.database."
                ) from error
            text = plain_text(error) or type(error).__name__
            if error.sqlstate:
                raise AdministrationError(f"{server}: the server says: {text}") from error
            # Without a code of the server the text is libpq's, which quotes the server where it refuses the connection.
            raise AdministrationError(f"{server}: libpq says: {text}") from error


def counters_query(version: int) -> str:
    """One row with the counters that a server of this version keeps (150004 is 15.4), by their names as columns."""
    columns = {
        "pg_stat_database WHERE datname = current_database()": {
            "cache_hits": "blks_hit", "cache_misses": "blks_read", "transactions": "xact_commit",
            "rollbacks": "xact_rollback", "temporary_files_bytes": "temp_bytes",
        },
    }  # fmt: skip
    if version >= 140000:
        columns["pg_stat_wal"] = {"log_bytes": "wal_bytes", "log_records": "wal_records", "log_full_pages": "wal_fpi"}
    if 140000 <= version < 180000:
        columns["pg_stat_wal"] |= {"log_writes": "wal_write", "log_syncs": "wal_sync"}
    if version >= 160000:
        sums = {"block_reads": "sum(reads)", "block_writes": "sum(writes)", "block_evictions": "sum(evictions)"}
        columns["pg_stat_io WHERE object = 'relation'"] = sums

    if version >= 180000:
        columns["pg_stat_io WHERE object = 'wal'"] = {"log_writes": "sum(writes)", "log_syncs": "sum(fsyncs)"}
    if version >= 170000:
        columns["pg_stat_checkpointer"] = {
            "checkpoints": "num_timed + num_requested", "checkpoint_blocks": "buffers_written",
        }  # fmt: skip
    else:
        columns["pg_stat_bgwriter"] = {
            "checkpoints": "checkpoints_timed + checkpoints_req", "checkpoint_blocks": "buffers_checkpoint",
        }  # fmt: skip

    lag = "pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_current_wal_lsn() END, min(replay_lsn))"
    columns["pg_stat_replication"] = {
        "replication_lag_bytes": lag, "replication_lag_s": "extract(epoch FROM max(replay_lag))",
    }  # fmt: skip
    # Of a session with less than pg_monitor's rights both are 0.
    columns["pg_stat_activity"] = {
        "checkpoints_pending": "count(*) FILTER "
        "(WHERE backend_type = 'checkpointer' AND wait_event IS DISTINCT FROM 'CheckpointerMain')",
        "vacuums_pending": "count(*) FILTER (WHERE backend_type = 'autovacuum worker')",
    }
    parts = []
    for number, (view, named) in enumerate(columns.items()):
        expressions = ", ".join(f"{expression} AS {name}" for name, expression in named.items())
        parts.append(f"(SELECT {expressions} FROM {view}) AS part{number}")

    return f"SELECT * FROM {' CROSS JOIN '.join(parts)}"


def _named(query: str, *names: str) -> sql.Composed:
    return sql.SQL(query).format(*(sql.Identifier(name) for name in names))


@contextlib.contextmanager
def _locked(session: Session, table: str) -> Iterator[None]:
    """A transaction that only one process at a time, of whichever site, is in for this table."""
    with session.pipeline(), session.transaction():
        session.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"benchsite {table}"])
        yield


def _read_value(session: Session, query: Any, parameters: Sequence[object] | None = None) -> Any:
    """The first column of the query's one row."""
    [(value,)] = session.execute(query, parameters).fetchall()
    return value


def _read_standbys(session: Session) -> tuple[str, list[tuple[str, str]]]:
    """The server's version, and of each standby that streams its name and how it is waited for."""
    query = "SELECT application_name, sync_state FROM pg_stat_replication WHERE state = 'streaming' ORDER BY 1"
    return session.info.parameter_status("server_version") or "", session.execute(query).fetchall()


def _exists(session: Session, table: str) -> bool:
    query = "SELECT to_regclass(%s) IS NOT NULL"
    return bool(_read_value(session, query, [sql.Identifier(table).as_string(session)]))


def _columns(session: Session, table: str) -> set[str]:
    query = "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped"
    return {name for (name,) in session.execute(query, [sql.Identifier(table).as_string(session)])}


def _comment(session: Session, table: str) -> tuple[str, str]:
    """The comment that somebody else wrote, and the marker behind it; empty where there is none."""
    query = "SELECT obj_description(to_regclass(%s), 'pg_class')"
    comment = str(_read_value(session, query, [sql.Identifier(table).as_string(session)]) or "")
    if comment == EARLIER_COMMENT:
        return "", EARLIER_MARKER
    text, _, last = comment.rpartition("\n")
    if not last.startswith(MARKER_LINE):
        return comment, ""
    return text, last.removeprefix(MARKER_LINE)


def _write_comment(session: Session, table: str, text: str, marker: str) -> None:
    comment = f"{text}\n{MARKER_LINE}{marker}".lstrip("\n")
    query = sql.SQL("COMMENT ON TABLE {} IS {}").format(sql.Identifier(table), sql.Literal(comment))
    session.execute(query)
