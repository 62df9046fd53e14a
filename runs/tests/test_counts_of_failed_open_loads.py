"""A client of an open load that was killed half-way leaves what it counted, and the page of its run says it."""

import pytest
from django.utils.html import strip_tags

from runs.results import artifacts
from runs.results.recording.arrivals import KIND
from runs.tests.factories import make_client_run, make_load_generator, make_run, make_spec, make_sweep
from runs.tests.pages import artifact_folder, get_text
from runs.ycsb.arrivals import FILE_NAME

__all__ = ["artifact_folder"]
pytestmark = [pytest.mark.django_db, pytest.mark.slow]
# The last line broke off with the process.
LINES = (
    "second,operation,offered,started,dropped,gaps,squares\n100,READ,500,480,20,1,1\n101,READ,510,500,10,1,1\n102,RE"
)


@pytest.fixture
def make_failed(team, artifact_folder):
    def make(load):
        sweep = make_sweep(team=team)
        spec = make_spec(sweep, threads=8, target_ops_s=1_000, generators=())
        run = make_run(sweep, status="failed", spec={**spec, "load": {**spec["load"], **load}})
        for number in range(2):
            client = make_client_run(run, number=number, generator=make_load_generator())
            artifacts.store(run, KIND, FILE_NAME, LINES.encode(), client)
        return run

    return make


def test_the_page_says_what_was_counted(client_in, make_failed):
    run = make_failed({"open": {"arrivals": "poisson", "patience_ms": 1, "profile": []}})

    text = " ".join(strip_tags(get_text(client_in.get(f"/runs/{run.pk}/"))).split())

    assert "2.02k operations were offered: 1.96k were started, and 60 were dropped." in text


def test_closed_loads_have_no_counts(client_in, make_failed):
    assert "Counted until it ended" not in get_text(client_in.get(f"/runs/{make_failed({}).pk}/"))
