"""The pool of database connections of a web process."""

from typing import Any, Final

import psycopg
from psycopg_pool import ConnectionPool


class PooledConnection(psycopg.Connection[Any]):
    """A connection that the pool tests with `execute` before it hands it out; Django's queries use cursors.

    PostgreSQL that restarts ends all connections. The pool would find one after the other and wait longer each time
    (1 s, 2 s, 4 s), so the first lost one makes it replace all that are idle.
    """

    def execute(self, *args: Any, **options: Any) -> psycopg.Cursor[Any]:
        try:
            return super().execute(*args, **options)
        except psycopg.OperationalError:
            if isinstance(self._pool, ConnectionPool):
                self._pool.drain()
            raise


POOL: Final = {"min_size": 1, "max_size": 8, "timeout": 10, "connection_class": PooledConnection}
