"""`prepare` says which migration of how many is being applied, and which one failed."""

import io
import sys

import pytest
from django.core.management import call_command
from django.db import ProgrammingError

from benchsite.core import progress

MIGRATION = """from django.db import migrations
class Migration(migrations.Migration):
    dependencies = {dependencies}
    operations = [migrations.RunSQL({sql!r})]
"""
NAMES = ("0001_short", "0002_long")


@pytest.fixture
def prepare(tmp_path, monkeypatch, settings):
    """A function that migrates an app with these statements as its migrations, and returns the lines that it writes."""
    folder = tmp_path / "warehouse" / "migrations"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent):
        (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)

    def call(*statements):
        for number, sql in enumerate(statements):
            dependencies = [("warehouse", name) for name in NAMES[max(number - 1, 0) : number]]
            (folder / f"{NAMES[number]}.py").write_text(MIGRATION.format(dependencies=dependencies, sql=sql))
        settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "warehouse"]
        written = io.StringIO()
        call_command("prepare", stdout=written)
        return written.getvalue().splitlines()

    yield call
    for name in [name for name in sys.modules if name.split(".")[0] == "warehouse"]:
        del sys.modules[name]


@pytest.mark.django_db
def test_says_which_migration_is_applied(prepare, monkeypatch):
    monkeypatch.setattr(progress, "LOG_INTERVAL_S", 0.05)

    lines = prepare("SELECT 1", "SELECT pg_sleep(1)")

    ticks = [line for line in lines if line.endswith(", 2 of 2: warehouse.0002_long")]
    assert len(ticks) > 1
    assert [line for line in lines if line.startswith("Migrations: ")]
    assert "The database is migrated (2 new migrations)" in "".join(lines)


@pytest.mark.django_db
def test_nothing_to_migrate_is_one_line(prepare):
    lines = prepare()

    assert [line.partition(":")[0] for line in lines[:2]] == ["Migrations", "Artifact storage"]
    assert "(0 new migrations)" in lines[2]


@pytest.mark.django_db
def test_error_names_the_migration(prepare):
    with pytest.raises(ProgrammingError) as failure:
        prepare("SELECT 1", "SELECT count(*) FROM absent")

    assert str(failure.value).startswith('Migration 2 of 2: warehouse.0002_long: relation "absent" does not exist')
