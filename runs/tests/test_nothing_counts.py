"""A matrix with points that do not count says why, and what mends it."""

import re

import pytest
from django.urls import reverse

from runs.models import Run
from runs.models.run import Status
from runs.tests.factories import make_load_generator, make_machine, make_run, make_sweep
from runs.tests.pages import get_text

pytestmark = pytest.mark.django_db
FINDINGS = [{"check_id": "V25", "severity": "reject", "title": "Other processes", "remedy": "Stop what else runs."}]


@pytest.fixture
def rejected(team):
    return make_run(make_sweep(team=team), verdict="reject", findings=FINDINGS)


def test_page_states_why_nothing_counts(client_in, rejected):
    page = get_text(client_in.get(reverse("matrix", args=[rejected.matrix_id])))

    assert "No point of this matrix counts" in page
    assert 'V25 Other processes: 1 run. <span class="muted">Stop what else runs.</span>' in page

    make_run(rejected.sweep, threads=4, verdict="pass")
    page = client_in.get(reverse("matrix", args=[rejected.matrix_id])).content.decode()
    assert "No point of this matrix counts" not in page
    assert "1 run does not count" in page and "Other processes" in page
    assert "shows what it measured" in " ".join(page.split()) and "Measure it again" in page


def test_nothing_is_final_while_runs_are_queued(client_in, rejected):
    make_run(rejected.sweep, threads=4, status="queued")
    assert "No point counts so far" in get_text(client_in.get(reverse("matrix", args=[rejected.matrix_id])))
    compared = get_text(client_in.get(f"{reverse('compare')}?v=1&matrix={rejected.matrix_id}"))
    assert ": no point counts so far</h2>" in compared

    Run.objects.filter(status="queued").delete()
    assert "counts so far" not in get_text(client_in.get(reverse("matrix", args=[rejected.matrix_id])))


def test_offers_clients_elsewhere_where_another_machine_has_some(client_in, rejected):
    rejected.matrix.load_generators.add(make_load_generator(machine=make_machine()))
    pages = [reverse("matrix", args=[rejected.matrix_id]), f"{reverse('compare')}?v=1&matrix={rejected.matrix_id}"]
    for address in pages:
        page = get_text(client_in.get(address))
        assert "Accept for this matrix" in page and "clients on another machine" not in page

    make_load_generator(machine=make_machine())
    for address in pages:
        assert "clients on another machine" in get_text(client_in.get(address))


def test_rejections_are_named_until_their_runs_are_repeated(client_in, rejected):
    make_run(rejected.sweep, threads=4, verdict="pass")
    client_in.post(reverse("matrix-resume", args=[rejected.matrix_id]), {"rejected": "1"})
    assert 'id="rejections"' not in get_text(client_in.get(reverse("matrix", args=[rejected.matrix_id])))


def test_runs_that_were_measured_again_are_counted_apart(client_in, rejected):
    make_run(rejected.sweep, rerun_of=rejected, repeat=2, verdict="reject", findings=FINDINGS)

    page = " ".join(get_text(client_in.get(reverse("matrix", args=[rejected.matrix_id]))).split())

    assert "V25 Other processes: 1 run." in page
    assert "shows what it measured, and 1 that was rejected before and measured again." in page


def test_rejected_points_are_measured_again_once(client_in, rejected):
    for _ in range(2):
        client_in.post(reverse("matrix-resume", args=[rejected.matrix_id]), {"rejected": "1"})

    assert Run.objects.get(rerun_of=rejected).status == Status.QUEUED


def test_accepted_points_count_by_their_reason(client_in, rejected):
    address = reverse("matrix-accept", args=[rejected.matrix_id])

    client_in.post(address, {"reason": " "})
    rejected.refresh_from_db()
    assert not rejected.verdict_override

    client_in.post(address, {"reason": "the laptop was idle"})
    rejected.refresh_from_db()
    assert rejected.verdict_override == "the laptop was idle" and rejected.counts_although_rejected
    page = get_text(client_in.get(reverse("matrix", args=[rejected.matrix_id])))
    assert "1 run: the laptop was idle" in page
    assert re.search(r'<td class="num">\s*<span [^>]*>1.00k</span> <span class="chip">accepted</span></td>', page)
