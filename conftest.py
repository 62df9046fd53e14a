"""The whole test session: a private PostgreSQL and Redis of its own, and what most tests of pages need.

The servers lie in `var/test/1` (2, 3, ... where other sessions run already) and hold nothing worth a flush to disk.
With DATABASE_URL and REDIS_URL set, those are used instead. Workers of pytest-xdist inherit them by environment.
"""

import gc
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django
import pytest

from benchsite.accounts import tenancy
from benchsite.core.paths import make_folders, places
from benchsite.local.embedded import AlreadyRunning, EmbeddedServers
from benchsite.tests.days import TEST_DAY, set_test_day
from benchsite.tests.needs import need
from benchsite.tests.threads import left_since

if TYPE_CHECKING:
    from django.test import Client

    from benchsite.accounts.models import Team, User
    from runs.tests.programs import Program

ROOT = Path(__file__).resolve().parent
THREAD_PATIENCE_S = 10.0
WHOLLY = r"^pytestmark = .*\bpytest\.mark\.{mark}\b"
MIGRATED = "BENCHSITE_TESTS_MIGRATED"  # names the database to copy, to the workers of the session that made it


def reserve_servers() -> EmbeddedServers | None:
    """Picks a free folder for this session's servers and tells the settings; None where the environment has them."""
    wanted = {name for name in ("DATABASE_URL", "REDIS_URL") if not os.environ.get(name)}
    for number in count(1) if wanted else ():
        var = ROOT / "var" / "test" / str(number)
        servers = EmbeddedServers(
            places(var),
            logs=var / "log",
            postgresql="DATABASE_URL" in wanted,
            redis="REDIS_URL" in wanted,
            careless=True,
        )
        try:
            servers.reserve()
        except AlreadyRunning:
            continue
        os.environ.setdefault("BENCHSITE_VAR", str(var))
        addresses = {"DATABASE_URL": servers.places.database_url, "REDIS_URL": servers.places.redis_url}
        os.environ.update({name: addresses[name] for name in wanted})
        return servers
    return None


def separate_workers() -> None:
    """Each worker of pytest-xdist has a Redis database and a site folder of its own.

    Tests empty the cache, and a scheduler deletes the uploads in its folder that are not in its database.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if not worker:
        return
    os.environ["BENCHSITE_VAR"] += f"/{worker}"
    make_folders(Path(os.environ["BENCHSITE_VAR"]))
    number, address = worker.removeprefix("gw"), os.environ.get("REDIS_URL", "")
    if number.isdigit() and address.startswith("unix://") and address.endswith("?db=0"):
        # A server has sixteen; the first is the session's.
        os.environ["REDIS_URL"] = f"{address.removesuffix('0')}{1 + int(number) % 15}"


# The settings read the environment once, so this comes before Django's set-up, and both before any other conftest.
SERVERS = reserve_servers()
os.environ.setdefault("BENCHSITE_VAR", str(ROOT / "var" / "test" / "site"))
separate_workers()
os.environ.setdefault("BENCHSITE_YCSB", str(ROOT / "var" / "ycsb"))  # built once, by the tests that need it
os.environ.setdefault("BENCHSITE_SERVERS", str(ROOT / "var" / "servers"))  # fetched once, as the bindings are built
os.environ.setdefault("BENCHSITE_SECRET_KEY", "for tests only: it guards nothing but rows that are thrown away")
# JVMs live for seconds here: the C1 compiler alone needs the least processor time.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
os.environ["DJANGO_SETTINGS_MODULE"] = "benchsite.settings"
django.setup()
tenancy.serve_all_teams()


def pytest_report_header(config: pytest.Config) -> str:
    return f"{TEST_DAY}={os.environ[TEST_DAY]} chooses the planted obstacles"


def pytest_configure(config: pytest.Config) -> None:
    import hypothesis
    from django.conf import settings

    set_test_day()

    # No `collectstatic` before the tests, so no manifest either; and passwords need not be slow to guess.
    settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # WhiteNoise warns where it is missing.
    settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.MIDDLEWARE.append("benchsite.tests.line_breaks.WithoutLineBreaks")
    # Every client of a test makes a handler of its own; none needs to look through all static files first.
    settings.WHITENOISE_AUTOREFRESH = True
    if MIGRATED in os.environ or (SERVERS is not None and SERVERS.wants_postgresql):
        from django.test import TransactionTestCase

        from benchsite.tests.emptying import empty_what_was_filled

        TransactionTestCase._fixture_teardown = empty_what_was_filled  # type: ignore[attr-defined]
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    # How long one example takes says how busy the machine is, and nothing of the code.
    patient = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
    hypothesis.settings.register_profile("any machine", patient)
    hypothesis.settings.load_profile("any machine")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A module that is slow as a whole is not even imported where slow tests are not wanted."""
    unwanted = [mark for mark in ("slow", "long") if f"not {mark}" in config.option.markexpr]
    if not unwanted or collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    text = collection_path.read_text()
    return any(re.search(WHOLLY.format(mark=mark), text, re.M) for mark in unwanted) or None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Modules with a longer timeout come first, then other slow ones: no worker waits for another one at the end."""
    weights: dict[Path, tuple[float, bool]] = {}
    for item in items:
        timeout = item.get_closest_marker("timeout")
        weight = float(timeout.args[0]) if timeout else 0.0, item.get_closest_marker("slow") is not None
        weights[item.path] = max(weights.get(item.path, weight), weight)
    items.sort(key=lambda item: weights[item.path], reverse=True)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Modules and tests stay: the garbage collector, which took a fifth of the time of tests of pages, skips them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """What `pytest.mark.needs` names and this machine lacks skips the test, before any fixture is made."""
    for mark in item.iter_markers("needs"):
        need(*mark.args)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    gc.disable()  # Until all tests are collected, hardly anything is garbage.
    if SERVERS is not None:
        SERVERS.start()
        if SERVERS.wants_postgresql:
            from benchsite.tests.migrated import make_migrated

            os.environ[MIGRATED] = make_migrated(os.environ["DATABASE_URL"])
    if session.config.getoption("dist", "no") != "no":
        # Workers inherit the environment, and pytest-django would load the settings before this file separates them.
        del os.environ["DJANGO_SETTINGS_MODULE"]


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    if SERVERS is not None:
        SERVERS.stop()


# --- fixtures ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Test databases are copies of one that is migrated already, where the server is the tests' own."""
    from django.db import connection

    connection.settings_dict["TEST"]["TEMPLATE"] = os.environ.get(MIGRATED)


@pytest.fixture(scope="session", autouse=True)
def nobody_left_in_the_test_database(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Threads of live servers may still hold connections at the end, and PostgreSQL drops no database in use."""
    yield
    from django.db import connection

    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.fixture(autouse=True)
def no_thread_outlives_its_test() -> Iterator[None]:
    """A thread that is left behind would meet the database of the next test: the test fails that left it."""
    before = set(threading.enumerate())
    yield
    # A conductor keeps the program that asks a cluster; a test that conducted a run is one.
    if administration := sys.modules.get("workers.provision.administration.admin_client"):
        administration.end_programs()
    assert left_since(before, THREAD_PATIENCE_S) == []


@pytest.fixture(autouse=True)
def tests_see_all_teams() -> Iterator[None]:
    """Whichever team a view entered that a test called without a request."""
    yield
    tenancy.leave()


@pytest.fixture
def team(db: None) -> "Team":
    """The team whose things a test looks at."""
    from runs.tests.factories import make_team

    return make_team(name="Storage")


@pytest.fixture
def user(team: "Team") -> "User":
    """A runner of `team`."""
    from runs.tests.factories import make_user

    return make_user(team=team, username="runa")


@pytest.fixture
def admin(team: "Team") -> "User":
    """An admin of `team`."""
    from runs.tests.factories import make_user

    return make_user(team=team, role="admin", username="ada")


@pytest.fixture
def operator(team: "Team") -> "Client":
    """A browser in which an admin of `team` is signed in who operates the site, too."""
    from runs.tests.world import browser

    return browser(team, "admin", is_staff=True)


@pytest.fixture
def program(team: "Team", user: "User") -> "Program":
    """A program that uploads with a token of `user`."""
    from runs.tests.programs import Program

    return Program(team, user)


@pytest.fixture
def client_in(user: "User") -> "Client":
    """A browser in which `user` is signed in."""
    return signed_in(user)


@pytest.fixture
def stranger(db: None) -> "Client":
    """A browser in which an admin of another team is signed in: whatever is not theirs must look as if it were not."""
    from benchsite.accounts.models import Role
    from runs.tests.factories import make_team, make_user

    return signed_in(make_user(team=make_team(name="Elsewhere"), role=Role.ADMIN, username="stranger"))


def signed_in(user: "User") -> "Client":
    from django.test import Client

    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def race(transactional_db: None) -> Callable[..., list[Any]]:
    """`race(function, times=2)` calls it in so many threads at the same moment, and returns their answers.

    A thread's database connection is closed as it ends; an error of one is raised here.
    """

    def run(function: Callable[[], Any], times: int = 2) -> list[Any]:
        from django.db import connections

        barrier = threading.Barrier(times)

        def contestant() -> Any:
            try:
                connections["default"].ensure_connection()
                barrier.wait(timeout=30)
                return function()
            finally:
                connections.close_all()

        with ThreadPoolExecutor(times) as pool:
            return [future.result() for future in [pool.submit(contestant) for _ in range(times)]]

    return run


@pytest.fixture
def work_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that the servers' account reaches and whose path is short enough for sockets; removed afterwards."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="bs-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)
