"""The pool of the web processes after PostgreSQL ended its connections, as at a restart."""

import threading
from unittest.mock import patch

import psycopg
import pytest
from django.db import connection
from django.db.backends.postgresql.base import DatabaseWrapper

from benchsite.core import database_pool
from benchsite.core.database_pool import POOL
from benchsite.core.paths import django_database

CONNECTIONS = 6


@pytest.fixture
def pooled(transactional_db):
    """Makes connections of one pool with Benchsite's options."""
    checks = django_database("postgresql:///")["CONN_HEALTH_CHECKS"]
    settings = {**connection.settings_dict, "CONN_MAX_AGE": 0, "CONN_HEALTH_CHECKS": checks}
    settings["OPTIONS"] = {**settings["OPTIONS"], "pool": POOL}
    yield lambda: DatabaseWrapper(settings, "pooled")
    DatabaseWrapper(settings, "pooled").close_pool()


def process_id(pooled, used=None):
    """The process of PostgreSQL that serves a connection; `used` waits until others are in use, too."""
    database = pooled()
    try:
        with database.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            if used is not None:
                used.wait(timeout=20)
            return cursor.fetchone()[0]
    finally:
        database.close()


def test_replaces_all_lost_connections_at_once(pooled):
    used, lost = threading.Barrier(CONNECTIONS), []
    threads = [threading.Thread(target=lambda: lost.append(process_id(pooled, used))) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(lost)) == CONNECTIONS
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(pg_terminate_backend(pid, 5000)) FROM unnest(%s) AS pid", [lost])
    assert process_id(pooled) not in lost
    # The pool waits longer after each that a request is the first to notice.
    assert pooled().pool.get_stats()["connections_lost"] == 1


@pytest.mark.parametrize(("fresh_s", "tests"), [(60.0, 1), (0.0, 3)])
def test_does_not_test_a_fresh_connection_again(pooled, monkeypatch, fresh_s, tests):
    monkeypatch.setattr(database_pool, "FRESH_S", fresh_s)
    monkeypatch.setitem(POOL, "max_size", 1)
    with patch.object(psycopg.Connection, "execute", autospec=True, side_effect=psycopg.Connection.execute) as execute:
        for _ in range(3):
            process_id(pooled)
    assert execute.call_count == tests
