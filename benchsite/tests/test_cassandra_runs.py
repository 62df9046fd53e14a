"""Cassandra from the queue to the compare page: its servers, Benchsite's own client, modes read back."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from benchsite.tests.live_site import LiveSite
from runs.models import Deployment, Matrix, MatrixEntry, Run
from runs.models.run import Phase, Status
from runs.tests.factories import make_database
from workers.systems.build import build, fetch_servers

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.needs("server-java"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(600),
]
MODES = ["one-periodic", "one-batch"]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[LiveSite]:
    build(settings.YCSB_DIR, everything=True)
    fetch_servers(settings.SERVERS_DIR, ["cassandra"])
    with LiveSite(tmp_path) as live:
        yield live


def with_cassandra(matrix: Matrix) -> None:
    entry = matrix.entries.select_related("database").get()
    database = make_database(
        team=matrix.team, cluster=entry.database.cluster, system="cassandra", version="", name="Ring"
    )
    entry.delete()
    MatrixEntry.objects.bulk_create(
        MatrixEntry(matrix=matrix, database=database, mode=mode, position=position)
        for position, mode in enumerate(MODES)
    )


def test_measures_two_modes_and_compares_them(site: LiveSite, client: Client):
    matrix = site.submit(("redis", "off"), rungs=[2, 4], before=with_cassandra)
    runs = site.until_ended(matrix, 400)
    assert [(run.name, run.status, run.reason_detail) for run in runs if run.status != Status.SUCCEEDED] == []
    assert sorted((run.mode, run.phase) for run in runs) == sorted(
        (mode, phase) for mode in MODES for phase in (Phase.LOAD, Phase.MEASURE, Phase.MEASURE)
    )
    for run in runs:
        before, after = run.evidence["before"], run.evidence["after"]
        assert before["in_force"] and after["in_force"]
        assert before["topology"] == after["topology"]
        assert before["topology"]["replication_factor"] == "1"
        assert run.evidence["rows"] == 10_000
        assert run.evidence["server_version"] == "5.0.2"
        assert not run.measurement_sets.get().measurements.filter(failed__gt=0).exists()
    assert matrix.created_by is not None
    client.force_login(matrix.created_by)
    sweeps = Run.objects.filter(matrix=matrix, phase=Phase.MEASURE).values_list("sweep", flat=True).distinct()
    page = client.get(reverse("compare"), {"sweep": [str(pk) for pk in sweeps]}, follow=True)
    assert page.status_code == 200
    assert "Ring" in page.content.decode() and "not read back" not in page.content.decode()
    gone = Deployment.objects.filter(state=Deployment.State.GONE)
    site.until(lambda: gone.count() == len(MODES), 120, "the servers to be removed")
