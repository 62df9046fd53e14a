"""The address that says whether people can be sent here."""

import pytest
from django.db import connection
from django.test import Client

from benchsite.site import health
from runs.results.artifacts import mark_storage

pytestmark = pytest.mark.django_db


@pytest.fixture
def ready(settings, tmp_path):
    """A site with nothing missing."""
    settings.STORAGES = {
        **settings.STORAGES,
        "artifacts": {**settings.STORAGES["artifacts"], "OPTIONS": {"location": tmp_path}},
    }
    mark_storage()
    return tmp_path


def test_it_is_ready_when_everything_is_there(ready):
    response = Client().get("/readyz")
    assert response.status_code == 200, response.text
    assert response.text == "postgresql: ok\nredis: ok\nmigrations: ok\nartifacts: ok\n"
    assert "no-store" in response["Cache-Control"]


def test_it_is_not_ready_without_redis(ready, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    response = Client().get("/readyz")
    assert response.status_code == 503
    assert "redis: no\n" in response.text


def test_it_is_not_ready_with_another_storage(ready):
    (ready / "benchsite-artifacts").unlink()
    response = Client().get("/readyz")
    assert response.status_code == 503
    assert "artifacts: no\n" in response.text


def test_it_is_not_ready_before_the_migrations(ready, monkeypatch):
    monkeypatch.setattr(health, "_migrated", False)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'reports'")
    response = Client().get("/readyz")
    assert response.status_code == 503
    assert "migrations: no\n" in response.text
