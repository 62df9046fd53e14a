"""What the test session itself promises: copies of one migrated database, no thread left behind, no needless import."""

import os
import threading
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from benchsite.tests import migrated
from benchsite.tests.emptying import empty_what_was_filled
from benchsite.tests.threads import left_since
from conftest import pytest_ignore_collect
from reports.models import History
from runs.models import Run
from runs.tests.factories import make_run, make_sweep, make_team


@pytest.mark.django_db
def test_a_test_database_is_a_copy_of_the_migrated_one():
    assert connection.settings_dict["TEST"]["TEMPLATE"] in (migrated.name_of_migrated(), None)
    executor = MigrationExecutor(connection)
    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []


def test_another_migration_has_another_database(tmp_path, monkeypatch):
    class App:
        label, path = "some", str(tmp_path)

    (tmp_path / "migrations").mkdir()
    migration = tmp_path / "migrations" / "0001_initial.py"
    monkeypatch.setattr(migrated.apps, "get_app_configs", lambda: [App])
    names = []
    for says in ("one", "another", "one"):
        migration.write_text(says)
        names.append(migrated.name_of_migrated())
    assert names[0] == names[2] != names[1]


def test_a_thread_that_is_left_behind_is_named():
    before, go = threading.enumerate(), threading.Event()
    forgotten = threading.Thread(target=go.wait, name="forgotten")
    brief = threading.Thread(target=go.wait, args=(0.05,), name="brief")
    for thread in (forgotten, brief):
        thread.start()
    assert left_since(before, 0.5) == ["forgotten"]
    go.set()
    assert left_since(before, 30) == []


def test_separates_workers():
    """Each has a site folder and a Redis database of its own, which its settings know."""
    assert (str(settings.VAR_DIR), settings.REDIS_URL) == (os.environ["BENCHSITE_VAR"], os.environ["REDIS_URL"])
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        assert settings.VAR_DIR.name == worker
        if settings.REDIS_URL.startswith("unix://"):
            assert settings.REDIS_URL.endswith(f"?db={int(worker.removeprefix('gw')) + 1}")


@pytest.mark.parametrize(("says", "chosen", "passed_over"), [
    ("pytestmark = pytest.mark.slow", "not slow and not long", True),
    ("pytestmark = [pytest.mark.django_db, pytest.mark.slow]", "not slow and not long", True),
    ("pytestmark = pytest.mark.long", "not long", True),
    ("pytestmark = pytest.mark.slow", "not long", None),
    ("pytestmark = pytest.mark.slow", "", None),
    ("@pytest.mark.slow\ndef test_one(): pass", "not slow and not long", None),
    ("pytestmark = pytest.mark.slowly", "not slow and not long", None),
])  # fmt: skip
def test_a_module_that_is_slow_as_a_whole_is_not_imported(tmp_path, says, chosen, passed_over):
    path = tmp_path / "test_some.py"
    path.write_text(f"import pytest\n\n{says}\n")
    assert pytest_ignore_collect(path, SimpleNamespace(option=SimpleNamespace(markexpr=chosen))) is passed_over


@pytest.mark.django_db(transaction=True)
def test_a_test_that_commits_leaves_nothing_behind(team, user):
    make_run(make_sweep(team=team))
    permissions = Permission.objects.count()
    assert permissions and History.objects.exists()
    empty_what_was_filled()
    left = {model for model in apps.get_models() if model._default_manager.exists()}
    assert left == {Permission, ContentType}
    assert Permission.objects.count() == permissions
    make_run(make_sweep(team=make_team()))
    with pytest.raises(DatabaseError), transaction.atomic():  # What the database itself sees to, it sees to again.
        Run.objects.update(spec={})
