"""Two YCSB clients on each of two load generators: started together, merged into one result."""

from collections import Counter

import pytest

from benchsite.tests.live_site import GENERATORS, site
from runs.models import LoadGenerator, Run
from runs.models.run import Phase, Status

__all__ = ["site"]
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]


def test_merges_two_clients_of_each_generator(site):
    assert set(LoadGenerator.objects.values_list("slots", flat=True)) == {2}
    runs = site.until_ended(site.submit(("redis", "off"), rungs=[8], processes_per_generator=2))
    assert [(run.status, run.reason_detail) for run in runs] == [(Status.SUCCEEDED, "")] * 2
    for run in runs:
        clients = list(run.client_runs.select_related("load_generator"))
        assert Counter(client.load_generator.name for client in clients) == dict.fromkeys(GENERATORS, 2)
        # None began before all were connected.
        assert max(client.ready_at for client in clients) <= run.starts_at
        assert all(client.facts["started_epoch_s"] >= run.starts_at.timestamp() - 0.1 for client in clients)
        kept = run.measurement_sets.get()
        assert (kept.clients_merged, kept.clients_expected) == (4, 4)
        assert {entry["number"] for entry in kept.clients} == {0, 1, 2, 3}
    measured = Run.objects.get(phase=Phase.MEASURE)
    assert [client.order["threads"] for client in measured.client_runs.all()] == [2, 2, 2, 2]
    assert measured.evidence["rows"] == 10_000
