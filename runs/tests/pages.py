"""What tests of pages share: a matrix with runs in every state, ugly data, and a count of queries."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchsite.accounts.models import Role, Team
from runs.models import Matrix, RunEvent, Sweep
from runs.queue.reasons import Reason
from runs.tests.factories import make_client_run, make_load_generator, make_matrix, make_run, make_sweep, make_user

UGLY = "</script><script>alert('x')</script>" + "w" * 60
STATUSES = ("queued", "dispatched", "running", "succeeded", "failed", "cancelled")
FAILURES = [reason for reason in Reason.values if reason not in ("", "cancelled_by_user")]


def sign_in(team: Team, role: str, username: str) -> Client:
    client = Client()
    client.force_login(make_user(team=team, role=role, username=username))
    return client


def sign_in_viewer(team: Team) -> Client:
    return sign_in(team, Role.VIEWER, "vera")


def busy_matrix(team: Team, *, sweeps: int = 1, rungs: int = 4) -> tuple[Matrix, list[Sweep]]:
    """A matrix of which some runs have ended well, one has failed, and the rest waits."""
    generator = make_load_generator()
    matrix = make_matrix(team=team, load_generators=[generator])
    made = []
    for number in range(sweeps):
        sweep = make_sweep(team=team, matrix=matrix, name=f"redis always A {number}")
        made.append(sweep)
        for rung in range(rungs):
            status = ("succeeded", "failed", "queued", "queued")[rung % 4]
            run = make_run(
                sweep, threads=2 ** (rung + 1), status=status, position=number * rungs + rung, generators=[generator]
            )
            make_client_run(run, generator=generator, state="finished" if status == "succeeded" else "waiting")
            RunEvent.objects.create(run=run, kind="status", new=status)
    return matrix, made


@contextmanager
def counted() -> Iterator[Callable[[], int]]:
    """`with counted() as queries: ...; queries()` is how many there were."""
    with CaptureQueriesContext(connection) as captured:
        yield lambda: len(captured)


def count_queries(client: Client, url: str) -> int:
    """How many queries a page makes, once session and caches are warm."""
    assert client.get(url).status_code == 200
    with counted() as queries:
        assert client.get(url).status_code == 200
    return queries()


def get_text(response: Any) -> str:
    assert response.status_code == 200, response.status_code
    body: str = response.content.decode()
    return body


@pytest.fixture
def artifact_folder(settings: Any, tmp_path: Path) -> Path:
    """Artifacts of this test only."""
    from django.core.files.storage import storages

    settings.STORAGES = {
        **settings.STORAGES,
        "artifacts": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": tmp_path},
        },
    }
    storages._storages.pop("artifacts", None)  # type: ignore[attr-defined]
    return tmp_path
