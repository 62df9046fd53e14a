"""Baselines: set by the API and from pages, listed, pinning their runs, unset; and the verdict on a run's page."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from benchsite.accounts.models import Role, Scope
from conftest import signed_in
from reports.models import BadgeLink, Baseline
from reports.tests.verdicts import commit_runs, headers, make_test
from reports.trends.baselines import BaselineRefused, set_baseline
from runs.results.deletion import RunPinned, delete_run
from runs.tests.factories import make_run, make_team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def runs(team):
    return commit_runs(make_test(team), "aaaa1111", 1000.0, days_ago=9)


@pytest.fixture
def program(team, user):
    """Sends a request with a token that may write."""
    with_token = headers(team, user, Scope.RUNS_WRITE, Scope.RUNS_READ)

    def send(method, path, body=None):
        return getattr(Client(), method)(f"/api/v1/{path}", body, content_type="application/json", **with_token)

    return send


def test_a_program_sets_reads_and_replaces_a_baseline(program, team, runs):
    answer = program(
        "put", "baselines/release-1.0", {"runs": [str(run.pk) for run in runs], "thresholds": {"READ p99": 0.2}}
    )
    assert answer.status_code == 200, answer.content
    assert answer.json()["tests"] == 1 and answer.json()["rule"] == "5 runs, named one by one."
    assert answer.json()["set_by"] == "runa" and answer.json()["thresholds"] == {"READ p99": 0.2}
    answer = program("put", "baselines/release-1.0", {"commit": "aaaa111"})
    assert answer.json()["rule"] == "The counted runs of commit aaaa1111." and answer.json()["thresholds"]
    assert len(program("get", "baselines").json()["items"][0]["runs"]) == 5
    assert program("get", "baselines/release-1.0").json()["name"] == "release-1.0"
    assert program("get", "baselines/other").status_code == 404
    assert list(team.audit.values_list("kind", flat=True))[:2] == ["baseline_set", "baseline_set"]


@pytest.mark.parametrize(("body", "status"), [
    ({}, 400), ({"runs": []}, 400), ({"commit": "ffff0000"}, 404), ({"commit": "a"}, 400), ({"more": 1}, 400),
    ({"runs": ["0197f9d4-8a52-7c31-9d4e-1f6a3f1b2c4d"]}, 404), ({"runs": ["x"]}, 400),
    ({"commit": "aaaa1111", "runs": ["0197f9d4-8a52-7c31-9d4e-1f6a3f1b2c4d"]}, 400),
    ({"commit": "aaaa1111", "thresholds": {"<b>": 0.1}}, 400), ({"commit": "aaaa1111", "thresholds": {"p99": 0}}, 400),
    ({"commit": "aaaa1111", "thresholds": {"p99": 1e308}}, 400),
])  # fmt: skip
def test_what_is_no_baseline_is_refused(program, runs, body, status):
    answer = program("put", "baselines/release", body)
    assert answer.status_code == status and answer["Content-Type"] == "application/problem+json"
    assert not Baseline.objects.exists()


@pytest.mark.parametrize("name", ["-a", "a b", "x" * 81, "%00", "a%2Fb"])
def test_a_name_is_plain(program, runs, name):
    assert program("put", f"baselines/{name}", {"commit": "aaaa1111"}).status_code in (400, 404)


def test_foreign_runs_baselines_and_missing_scopes(team, user, runs):
    elsewhere = make_team(name="Elsewhere")
    theirs = headers(elsewhere, make_user(team=elsewhere), Scope.RUNS_WRITE, Scope.RUNS_READ)
    set_baseline(team, user, "release", runs, chosen="By hand.")
    body = {"runs": [str(runs[0].pk)]}
    put = Client().put("/api/v1/baselines/x", body, content_type="application/json", **theirs)
    assert put.status_code == 404 and Client().get("/api/v1/baselines/release", **theirs).status_code == 404
    assert Client().get("/api/v1/baselines", **theirs).json()["items"] == []
    reading = headers(team, user)
    assert Client().put("/api/v1/baselines/x", body, content_type="application/json", **reading).status_code == 403
    assert Client().put("/api/v1/baselines/x", body, content_type="application/json").status_code == 401


def test_only_runs_that_count_are_pinned(team, user, runs):
    bad = make_run(runs[0].sweep, threads=8, repeat=90, verdict="reject")
    with pytest.raises(BaselineRefused, match="rejected by its validity checks"):
        set_baseline(team, user, "release", [*runs, bad], chosen="By hand.")


def test_a_pinned_run_cannot_be_deleted(team, user, runs):
    baseline = set_baseline(team, user, "release", runs[:2], chosen="By hand.")
    with pytest.raises(RunPinned, match="needed by the baseline “release”"):
        delete_run(runs[0], user)
    admin = make_user(team=team, role=Role.ADMIN)
    answer = Client().delete(f"/api/v1/runs/{runs[0].pk}", **headers(team, admin, Scope.RUNS_DELETE))
    assert answer.status_code == 409 and answer.json()["type"] == "/problems/run-pinned"
    baseline.delete()
    delete_run(runs[0], user)
    assert not type(runs[0]).objects.filter(pk=runs[0].pk).exists()


def test_person_sets_baseline_from_sweep_or_run_and_unsets_it(client_in, team, runs):
    sweep = runs[0].sweep
    assert "Set as baseline named" in client_in.get(reverse("sweep", args=[sweep.pk])).content.decode()
    html = client_in.post(reverse("baseline-set"), {"sweep": sweep.pk, "name": "all"}, follow=True).content.decode()
    assert "stands for 5 runs now" in html and f"The counted runs of the sweep “{sweep.name}”." in html
    html = client_in.post(reverse("baseline-set"), {"run": runs[0].pk, "name": "one"}, follow=True).content.decode()
    assert "at commit aaaa1111" in html and "Unset “one”?" in html
    html = client_in.post(reverse("baseline-set"), {"run": runs[0].pk, "name": "<b>"}, follow=True).content.decode()
    assert "begins with a letter or a digit" in html
    pk = Baseline.objects.get(name="one").pk
    html = client_in.post(reverse("baseline-unset", args=[pk]), follow=True).content.decode()
    assert "is no longer a baseline" in html and not Baseline.objects.filter(name="one").exists()
    assert next(iter(team.audit.values_list("kind", flat=True))) == "baseline_unset"


def test_strangers_and_viewers_may_not(stranger, team, runs, user):
    baseline = set_baseline(team, user, "release", runs, chosen="By hand.")
    pages = [reverse("baseline-unset", args=[baseline.pk])]
    for page in pages:
        assert stranger.post(page).status_code == 404
    assert stranger.post(reverse("baseline-set"), {"run": runs[0].pk, "name": "x"}).status_code == 404
    assert stranger.post(reverse("badge-add"), {"run": runs[0].pk, "label": "x"}).status_code == 404
    assert stranger.get(reverse("run-against", args=[runs[0].pk])).status_code == 404
    assert "release" not in stranger.get(reverse("baselines")).content.decode()
    viewer = signed_in(make_user(team=team, role=Role.VIEWER))
    assert viewer.post(reverse("baseline-set"), {"run": runs[0].pk, "name": "x"}).status_code == 403
    assert "Unset" not in viewer.get(reverse("baselines")).content.decode()


def test_run_that_does_not_count_has_no_verdict(client_in, team, runs):
    """The method stands beside verdicts alone."""
    new = commit_runs(runs[0].sweep, "cccc3333", 700.0, days_ago=1, verdict="reject")
    address = reverse("run-against", args=[new[0].pk])
    card = client_in.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "No verdict, because this run does not count." in card and "is rejected by its validity checks" in card
    assert "Bonferroni" not in card and "badge--failed" not in card


def test_run_page_loads_verdict_and_verdict_has_own_page(client_in, team, runs):
    new = commit_runs(runs[0].sweep, "cccc3333", 700.0, days_ago=1)
    html = client_in.get(reverse("run", args=[new[0].pk])).content.decode()
    address = reverse("run-against", args=[new[0].pk])
    assert f'hx-get="{address}" hx-trigger="load"' in html and f'href="{address}"' in html
    card = client_in.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in card and "badge--reject" in card and "Regression: throughput " in card
    page = client_in.get(address).content.decode()
    assert "<html" in page and "by the rule: The newest commit on the default branch" in page
    assert "There is no baseline “none”" in client_in.get(address, {"baseline": "none"}).content.decode()


def test_an_admin_makes_and_takes_back_a_badge(team, runs):
    admin = signed_in(make_user(team=team, role=Role.ADMIN))
    html = admin.post(reverse("badge-add"), {"run": runs[0].pk, "label": "<b>reads</b>"}, follow=True).content.decode()
    link = BadgeLink.objects.get()
    assert "&lt;b&gt;reads" in html
    assert f"![&lt;b&gt;reads&lt;/b&gt;](http://testserver/api/v1/badges/{link.token}.svg)" in html  # to copy
    assert signed_in(make_user(team=team)).post(reverse("badge-revoke", args=[link.token])).status_code == 403
    admin.post(reverse("badge-revoke", args=[link.token]))
    link.refresh_from_db()
    assert link.revoked_at


def test_the_list_asks_as_often_for_ten_as_for_one(client_in, team, user, runs):
    counts = []
    for names in (["a"], [f"b{i}" for i in range(10)]):
        for name in names:
            set_baseline(team, user, name, runs, chosen="By hand.")
        with CaptureQueriesContext(connection) as captured:
            assert client_in.get(reverse("baselines")).status_code == 200
        counts.append(len(captured))
    assert counts[0] == counts[1]
