"""A rejected run on its page and in lists: counted with a written reason, withdrawn, and never by a viewer."""

import pytest

from runs.tests.factories import finding, make_run, make_sweep
from runs.tests.pages import get_text, sign_in_viewer

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
WHY = "the client was <small> on purpose"


@pytest.fixture
def rejected(team):
    return make_run(make_sweep(team=team), verdict="reject", findings=[finding("V01", "reject")])


def url(run, what=""):
    return f"/runs/{run.pk}/{what}"


def test_it_is_counted_with_a_reason_that_stays_visible(client_in, rejected):
    assert "do not compare it as it stands" in get_text(client_in.get(url(rejected)))
    page = get_text(client_in.post(url(rejected, "override/"), {"reason": WHY}, follow=True))
    assert "counts, marked and with your reason" in page
    assert "Rejected, counted by runa" in page
    assert "the client was &lt;small&gt; on purpose" in page
    assert "it counts by a written reason" in page
    rejected.refresh_from_db()
    assert rejected.verdict_override == WHY


def test_it_needs_a_reason(client_in, rejected):
    assert "Write down why" in get_text(client_in.post(url(rejected, "override/"), {"reason": " "}, follow=True))


def test_it_can_be_withdrawn(client_in, rejected):
    client_in.post(url(rejected, "override/"), {"reason": WHY})
    page = get_text(client_in.post(url(rejected, "override/"), {"withdraw": "1"}, follow=True))
    assert "The verdict decides again" in page
    assert "Rejected, counted" not in page
    assert "override withdrawn" in page  # the timeline keeps both


def test_a_run_that_no_check_rejects_offers_nothing(client_in, team):
    run = make_run(make_sweep(team=team), verdict="warn")
    assert "Count it although rejected" not in get_text(client_in.get(url(run)))
    answer = get_text(client_in.post(url(run, "override/"), {"reason": WHY}, follow=True))
    assert "counts without a reason" in answer


def test_lists_say_rejected_and_counted(client_in, rejected, team):
    client_in.post(url(rejected, "override/"), {"reason": WHY})
    assert "rejected, counted: the client was &lt;small&gt; on purpose" in get_text(client_in.get("/runs/"))
    assert WHY in b"".join(client_in.get("/runs.csv").streaming_content).decode()
    assert "rejected, counted" in get_text(client_in.get(f"/matrices/{rejected.matrix_id}/"))
    assert 'title="the client was &lt;small&gt; on purpose">counted' in get_text(
        client_in.get(f"/sweeps/{rejected.sweep_id}/")
    )


def test_an_old_reason_of_a_run_that_passes_now_is_not_shown(client_in, team):
    run = make_run(make_sweep(team=team), verdict="pass", verdict_override=WHY)
    assert "Rejected, counted" not in get_text(client_in.get(url(run)))


def test_a_viewer_only_reads(team, rejected):
    viewer = sign_in_viewer(team)
    assert "Count it although rejected" not in get_text(viewer.get(url(rejected)))
    assert viewer.post(url(rejected, "override/"), {"reason": WHY}).status_code == 403
