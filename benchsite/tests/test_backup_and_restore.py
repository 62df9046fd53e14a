"""Dump, wipe, restore: the same digests of measurements, artifacts and report revisions."""

import os
import shutil
import subprocess
from io import StringIO
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from django.conf import settings as site
from django.core.management import CommandError, call_command
from django.db import connection

from benchsite.core import progress
from benchsite.site.backup import fingerprints
from benchsite.tests.databases import database_url
from benchsite.tests.settings_under import python
from reports.tests.frozen import published
from runs.results import artifacts
from runs.tests.factories import make_run, make_sweep
from workers.generator.executables import choose_postgresql, find_postgresql

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def program(name: str) -> Path:
    """pg_dump and pg_restore of the server's own version, or of a newer one."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        [(version,)] = cursor.fetchall()
    major = int(version) // 10000
    newest = max(program.major for program in find_postgresql())
    wanted = major if any(program.major == major for program in find_postgresql()) else newest
    return choose_postgresql(None, major=wanted, shelf=site.VAR_DIR / "programs").folder / name


def run(*argv: str | Path) -> None:
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, env={**os.environ, "PGCLIENTENCODING": "UTF8"}
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def fresh_database():
    """The URL of an empty database on the same server; it is dropped afterwards."""
    url = urlsplit(database_url())
    admin, name = url._replace(path="/postgres").geturl(), f"{url.path[1:]}_restored"
    with psycopg.connect(admin, autocommit=True) as server:
        server.execute(f'DROP DATABASE IF EXISTS "{name}"')
        server.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
    yield url._replace(path=f"/{name}").geturl()
    with psycopg.connect(admin, autocommit=True) as server:
        server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def test_a_restored_site_is_the_same(team, settings, tmp_path, fresh_database):
    folder, copy, dump = tmp_path / "artifacts", tmp_path / "copy", tmp_path / "site.dump"
    options = {**settings.STORAGES["artifacts"], "OPTIONS": {"location": folder}}
    settings.STORAGES = {**settings.STORAGES, "artifacts": options}
    artifacts.mark_storage()
    sweep = make_sweep(team=team, system="redis", mode="always")
    for threads in (2, 4, 8):
        artifacts.store(make_run(sweep, threads=threads), "stdout", "stdout.txt", b"of %d threads\n" % threads)
    published(team)
    before = dict(fingerprints())

    run(program("pg_dump"), "--format=custom", f"--file={dump}", database_url())
    call_command("artifacts", "copy", str(copy), stdout=StringIO())
    shutil.rmtree(folder)
    run(program("pg_restore"), "--exit-on-error", "--no-owner", f"--dbname={fresh_database}", dump)

    def manage(*words: str) -> str:
        environment = {
            "DATABASE_URL": fresh_database,
            "REDIS_URL": settings.REDIS_URL,
            "BENCHSITE_SECRET_KEY": "k" * 60,
            "BENCHSITE_ARTIFACTS": str(folder),
        }
        done = python("manage.py", *words, var=tmp_path, **environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "3 contents put back." in manage("artifacts", "restore", str(copy))
    said = (line.split() for line in manage("fingerprint").splitlines())
    assert {table: digest for digest, table in said} == before
    assert "Every artifact is there" in manage("artifacts", "check")
    assert before["runs_measurement"] != before["reports_reportrevision"]


def test_copies_state_how_far_they_are(team, settings, tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "LOG_INTERVAL_S", 0.0)
    options = {**settings.STORAGES["artifacts"], "OPTIONS": {"location": tmp_path / "artifacts"}}
    settings.STORAGES = {**settings.STORAGES, "artifacts": options}
    for threads in (2, 4):
        artifacts.store(make_run(make_sweep(team=team), threads=threads), "stdout", "stdout.txt", b"%d" % threads)
    printed = StringIO()

    call_command("artifacts", "copy", str(tmp_path / "copy"), stdout=printed)
    call_command("artifacts", "check", stdout=printed)

    assert "Copying artifacts: 0 s, 1 of 2" in printed.getvalue()
    assert "Reading artifacts: 0 s, 1 of 2" in printed.getvalue()


def test_it_names_what_is_missing(team, settings, tmp_path):
    options = {**settings.STORAGES["artifacts"], "OPTIONS": {"location": tmp_path / "artifacts"}}
    settings.STORAGES = {**settings.STORAGES, "artifacts": options}
    sweep = make_sweep(team=team)
    kept = artifacts.store(make_run(sweep, threads=2), "stdout", "stdout.txt", b"kept\n")
    lost = artifacts.store(make_run(sweep, threads=4), "stdout", "stdout.txt", b"lost\n")
    artifacts.remove(lost.sha256)
    errors = StringIO()
    with pytest.raises(CommandError, match="1 contents are missing or damaged"):
        call_command("artifacts", "check", stdout=StringIO(), stderr=errors)
    assert lost.sha256 in errors.getvalue() and kept.sha256 not in errors.getvalue()
    with pytest.raises(CommandError, match="1 contents that the database names are missing"):
        call_command("artifacts", "copy", str(tmp_path / "copy"), stdout=StringIO())
