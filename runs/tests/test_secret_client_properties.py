"""Passwords of databases under test: encrypted in the table, kept by the form, never on a page."""

import importlib
import json
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from runs.models import ClientRun, Database
from runs.models.client_properties import SEALED
from runs.queue import client_lifecycle
from runs.tests.factories import make_client_run, make_database, make_run, make_sweep
from runs.ycsb.redact import HIDDEN

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PASSWORD = "open sesame"


def stored(database: Database) -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT binding_properties FROM runs_database WHERE id = %s", [database.pk])
        content: dict[str, Any] = json.loads(cursor.fetchone()[0])
    return content


def with_password(team) -> Database:
    return make_database(team=team, binding_properties={"redis.password": PASSWORD, "redis.database": "3"})


def build_form(database: Database, **changes: str) -> dict[str, object]:
    fields = {"system": database.system, "cluster": database.cluster_id, "name": database.name, "replication_factor": 1}
    return {**fields, "settings": "", "client": "", "notes": "", "version": "", **changes}


def test_table_holds_only_the_encrypted_password(team):
    database = with_password(team)
    row = stored(database)
    assert set(row["redis.password"]) == {SEALED} and PASSWORD not in json.dumps(row)
    assert row["redis.database"] == "3"
    assert Database.objects.get(pk=database.pk).binding_properties["redis.password"] == PASSWORD


def test_pages_show_no_password_and_the_form_keeps_it(client_in, team):
    database = with_password(team)
    for path in (f"/databases/{database.pk}/", f"/databases/{database.pk}/edit/"):
        assert PASSWORD not in client_in.get(path).content.decode()
    properties = "redis.password=(kept)\nredis.database=4"
    response = client_in.post(f"/databases/{database.pk}/edit/", build_form(database, binding_properties=properties))
    assert response.status_code == 302, response.content.decode()
    database.refresh_from_db()
    assert database.binding_properties == {"redis.password": PASSWORD, "redis.database": "4"}
    client_in.post(f"/databases/{database.pk}/edit/", build_form(database, binding_properties="redis.password=new"))
    database.refresh_from_db()
    assert database.binding_properties == {"redis.password": "new"}


def test_lost_key_loses_no_password(team, settings):
    database = with_password(team)
    key, settings.SECRET_KEY = settings.SECRET_KEY, "another key of at least fifty characters, so that it may be used"
    other = Database.objects.get(pk=database.pk)
    assert set(other.binding_properties["redis.password"]) == {SEALED}
    other.save()
    settings.SECRET_KEY = key
    assert Database.objects.get(pk=database.pk).binding_properties["redis.password"] == PASSWORD


def test_old_key_opens_as_a_fallback(team, settings):
    database = with_password(team)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key of at least fifty characters, so that it may be used"
    assert Database.objects.get(pk=database.pk).binding_properties["redis.password"] == PASSWORD


def test_migration_encrypts_and_decrypts(team):
    migration = importlib.import_module("runs.migrations.0038_encrypted_client_properties")
    database = with_password(team)
    with connection.schema_editor() as editor:
        migration.decrypt(apps, editor)
    assert stored(database)["redis.password"] == PASSWORD
    with connection.schema_editor() as editor:
        migration.encrypt(apps, editor)
    assert set(stored(database)["redis.password"]) == {SEALED}


ADDRESS = "postgresql://ycsb:geheim@db.example/ycsb"


def test_orders_hold_the_password_encrypted_and_forget_it(team):
    """From the order of a client until its run has ended; after that nothing of it is there, encrypted or not."""
    properties = {"redis.password": PASSWORD, "db.url": ADDRESS, "unknown.token": "abc", "recordcount": "7"}
    client = make_client_run(make_run(make_sweep(team=team)), order={"threads": 2, "properties": properties})

    def stored_order() -> dict[str, Any]:
        with connection.cursor() as cursor:
            cursor.execute('SELECT "order" FROM runs_clientrun WHERE id = %s', [client.pk])
            order: dict[str, Any] = json.loads(cursor.fetchone()[0])
        return order

    row = stored_order()
    assert {name for name, text in row["properties"].items() if isinstance(text, dict)} == set(properties) - {
        "recordcount"
    }
    assert not [secret for secret in (PASSWORD, "geheim", "abc") if secret in json.dumps(row)]
    assert ClientRun.objects.get(pk=client.pk).order == {"threads": 2, "properties": properties}
    client_lifecycle.forget_secrets(client.run_id)
    assert stored_order()["properties"] == {
        "redis.password": HIDDEN, "db.url": ADDRESS.replace("geheim", HIDDEN), "unknown.token": HIDDEN,
        "recordcount": "7",
    }  # fmt: skip
