"""The pool of database connections of a web process."""

import select
import time
from typing import Any, Final

import psycopg
from psycopg_pool import ConnectionPool

FRESH_S: Final = 1.0


class PooledConnection(psycopg.Connection[Any]):
    """A connection that the pool tests with `execute` before it hands it out; Django's queries use cursors.

    PostgreSQL that restarts ends all connections. The pool would find one after the other and wait longer each time
    (1 s, 2 s, 4 s), so the first lost one makes it replace all that are idle.

    PostgreSQL that ends a connection writes the reason or closes the socket: both can be read. A connection without
    either that was tested a moment ago is not asked again, which saves each request a round trip.
    """

    _fresh_until = 0.0  # by time.monotonic()

    def execute(self, *args: Any, **options: Any) -> psycopg.Cursor[Any]:
        now = time.monotonic()
        if args == ("",) and now < self._fresh_until and not self._has_news():
            return self.cursor()
        try:
            cursor = super().execute(*args, **options)
        except psycopg.OperationalError:
            if isinstance(self._pool, ConnectionPool):
                self._pool.drain()
            raise
        self._fresh_until = now + FRESH_S
        return cursor

    def _has_news(self) -> bool:
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        return bool(poll.poll(0))


POOL: Final = {"min_size": 1, "max_size": 9, "timeout": 10, "connection_class": PooledConnection}
