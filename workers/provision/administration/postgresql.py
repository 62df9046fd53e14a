"""PostgreSQL: settings as a client's session sees them, one table per data set, marked as Benchsite's."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import psycopg
from psycopg import sql

from workers.provision.administration.base import Address, AdministrationError

ANSWER_TIMEOUT_S = 10
PING_TIMEOUT_S = 2  # libpq waits no shorter
# A table with this comment was made by Benchsite; only such a one is ever dropped.
MARK = "A data set of Benchsite; it is dropped and loaded again without asking."
MAINTENANCE_DATABASE = "postgres"


class PostgresqlAdministration:
    """One PostgreSQL server, asked as the clients' role in the clients' database."""

    def __init__(self, address: Address) -> None:
        self.address = address

    def ping(self) -> None:
        try:
            with self._session(timeout_s=PING_TIMEOUT_S) as session:
                session.execute("SELECT 1")
        except AdministrationError as error:
            if f'database "{self.address.database}" does not exist' not in str(error):
                raise

    def prepare(self) -> None:
        """Makes the clients' database where it is not there."""
        with self._session(MAINTENANCE_DATABASE) as session:
            name = self.address.database
            if session.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone() is None:
                session.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))

    def server_version(self) -> str:
        # Distributions add words of their own: "15.18 (Debian 15.18-0+deb12u1)".
        return self.read_settings(["server_version"])["server_version"].split(" ")[0]

    def data_folder(self) -> str:
        # Asked before the clients' database is made.
        with self._session(MAINTENANCE_DATABASE) as session:
            row = session.execute("SHOW data_directory").fetchone()
        return str(row[0]) if row else ""

    def read_settings(self, names: Iterable[str]) -> dict[str, str]:
        wanted = list(names)
        with self._session() as session:
            rows = session.execute(
                "SELECT name, current_setting(name, true) FROM unnest(%s::text[]) AS name", [wanted]
            ).fetchall()
        return {name: value for name, value in rows if value is not None}

    def replicas(self) -> int:
        return self._number(sql.SQL("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"))

    def create_schema(self, table: str, fieldcount: int, fieldnameprefix: str = "field") -> None:
        """The key orders by bytes (collation C), as YCSB's scans expect, whatever the database's own collation."""
        self.drop_data(table)
        columns = [
            sql.SQL("{} text").format(sql.Identifier(f"{fieldnameprefix}{number}")) for number in range(fieldcount)
        ]
        with self._session() as session:
            session.execute(
                sql.SQL('CREATE TABLE {} (ycsb_key text COLLATE "C" PRIMARY KEY, {})').format(
                    sql.Identifier(table), sql.SQL(", ").join(columns)
                )
            )
            session.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(sql.Identifier(table), sql.Literal(MARK)))

    def drop_data(self, table: str) -> None:
        with self._session() as session:
            found = session.execute(
                "SELECT obj_description(oid, 'pg_class') FROM pg_class WHERE oid = to_regclass(%s)",
                [sql.Identifier(table).as_string(session)],
            ).fetchone()
            if found is None:
                return
            if found[0] != MARK:
                raise AdministrationError(
                    f"Database {self.address.database} has a table {table} that Benchsite did not make. "
                    "Drop it yourself, or choose another by postgresql.database."
                )
            session.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(table)))

    def count_rows(self, table: str) -> int:
        """Counts every row: an estimate could not show a lost one."""
        return self._number(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table)), timeout_s=None)

    def shut_down(self) -> bool:
        return False

    def _number(self, query: sql.SQL | sql.Composed, timeout_s: int | None = ANSWER_TIMEOUT_S) -> int:
        with self._session(timeout_s=timeout_s) as session:
            row = session.execute(query).fetchone()
        return int(row[0]) if row else 0

    @contextlib.contextmanager
    def _session(
        self, database: str | None = None, timeout_s: int | None = ANSWER_TIMEOUT_S
    ) -> Iterator["psycopg.Connection[tuple[Any, ...]]"]:
        try:
            with psycopg.connect(
                host=self.address.host,
                port=self.address.port,
                user=self.address.user,
                password=self.address.password or None,
                dbname=database or self.address.database,
                connect_timeout=min(timeout_s or ANSWER_TIMEOUT_S, ANSWER_TIMEOUT_S),
                application_name="benchsite administration",
                options="" if timeout_s is None else f"-c statement_timeout={timeout_s * 1000}",
                autocommit=True,
            ) as session:
                yield session
        except psycopg.Error as error:
            where = f"{self.address.host}:{self.address.port}"
            raise AdministrationError(f"PostgreSQL at {where}: {str(error).strip() or type(error).__name__}") from error
