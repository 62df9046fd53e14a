"""Reports by the REST API: published, revised, listed, closed; and what is refused."""

import json

import pytest
from django.test import Client

from benchsite.accounts import tokens
from benchsite.accounts.models import Membership, Role, Scope
from reports.models import Report, ReportRevision
from reports.published.links import LinkRevoked, open_link
from reports.published.publication import load_content
from reports.tests.frozen import measured_matrix, published
from runs.tests.factories import make_matrix, make_team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
WHERE = "/api/v1/reports"


def get_token(team, user, *scopes):
    return tokens.make(team, user, name="CI", scopes=scopes or (Scope.REPORTS_WRITE,), life=tokens.DEFAULT_LIFE)


@pytest.fixture
def ask(team, user):
    return asking(get_token(team, user))


def asking(token):
    client = Client(headers={"Authorization": f"Bearer {token}"})

    def ask(method, address="", said=None):
        body = {} if said is None else {"data": json.dumps(said), "content_type": "application/json"}
        return getattr(client, method)(WHERE + address, **body)

    return ask


@pytest.fixture
def query(team):
    return f"v=1&matrix={measured_matrix(team).pk}"


def test_it_publishes_revises_and_closes(ask, query):
    answer = ask("post", "", {"title": "Nightly", "query": query, "items": ["ceilings", "table-against"]})
    data = answer.json()
    assert answer.status_code == 201 and data["revisions"][0]["number"] == 1, data
    token = data["permalink"].rpartition("/")[2]
    assert open_link(token).report.access == "unlisted"
    again = ask("post", f"/{data['id']}/revisions", {"headline": "Still fast."}).json()
    assert [revision["number"] for revision in again["revisions"]] == [2, 1] and again["permalink"] == data["permalink"]
    assert again["revisions"][0]["headline"] == "Still fast."
    assert ask("get", f"/{data['id']}").json()["revisions"] == again["revisions"]
    new = ask("post", f"/{data['id']}/link/rotate").json()["permalink"]
    assert new != data["permalink"]
    with pytest.raises(LinkRevoked):
        open_link(token)
    assert ask("delete", f"/{data['id']}/link").status_code == 204
    assert ask("get", f"/{data['id']}").json()["permalink"] is None
    assert ask("delete", f"/{data['id']}").status_code == 204 and not Report.objects.exists()


def test_it_says_first_what_it_would_publish(ask, query):
    answer = ask("post", "?dry_run=1", {"title": "Nightly", "query": query, "notes": "Ask ops@corp.example, 10.1.2.3"})
    data = answer.json()
    assert answer.status_code == 200 and not Report.objects.exists()
    assert {one["kind"] for one in data["found"]} >= {"e-mail address", "address"}
    assert "ceilings" in data["items"] and "table-points" in [one["name"] for one in data["available"]]
    assert data["proposed_headline"] == data["headline"] and data["bytes"] > 1000


def test_what_may_be_seen_is_seen(ask, query):
    fields = {"title": "T", "query": query, "notes": "Mail ops@corp.example.", "may_be_seen": ["ops@corp.example"]}
    said = ask("post", "?dry_run=1", fields).json()
    assert [one["becomes"] for one in said["found"] if one["kind"] == "e-mail address"] == ["ops@corp.example"]


def test_nothing_that_counts_is_refused_and_leaves_nothing(ask, team):
    answer = ask("post", "", {"title": "Empty", "query": ""})
    assert answer.status_code == 422 and answer.json()["type"] == "/problems/report-refused"
    assert not Report.objects.exists()


@pytest.mark.parametrize("address", ["", "?dry_run=1"])
@pytest.mark.parametrize("asked", ["v=1&matrix=01a1fe6c-2e35-7000-8000-000000000000", "v=1&matrix=nightly", "matrx=x"])
def test_refuses_unknown_matrix_instead_of_using_another(ask, query, asked, address):
    answer = ask("post", address, {"title": "T", "query": asked})
    assert answer.status_code == 422 and answer.json()["type"] == "/problems/report-refused"
    assert not Report.objects.exists()


@pytest.mark.parametrize("address", ["/revisions", "/revisions?dry_run=1"])
def test_revision_about_what_is_no_result_is_refused(ask, query, team, address):
    """Neither about a matrix that is not submitted, nor about one that is not there: the newest never stands for it."""
    report = ask("post", "", {"title": "T", "query": query}).json()
    planned = make_matrix(team=team, submitted_at=None)
    measured_matrix(team)

    for matrix in (planned.pk, "01a1fe6c-2e35-7000-8000-000000000000"):
        answer = ask("post", f"/{report['id']}{address}", {"query": f"v=1&matrix={matrix}"})
        assert answer.status_code == 422 and answer.json()["type"] == "/problems/report-refused"

    assert ReportRevision.objects.count() == 1 and Report.objects.get().draft["query"] == query


@pytest.mark.parametrize("address", ["/revisions", "/revisions?dry_run=1"])
def test_a_revision_takes_no_other_matrix_silently(ask, query, team, address):
    report = ask("post", "", {"title": "T", "query": query}).json()
    measured_matrix(team)

    answer = ask("post", f"/{report['id']}{address}", {"query": "v=1&mode=always"})

    assert answer.status_code == 422 and answer.json()["type"] == "/problems/report-refused"
    assert "add matrix=ID" in answer.json()["detail"]
    assert ReportRevision.objects.count() == 1 and Report.objects.get().draft["query"] == query


def test_a_later_revision_is_about_the_same_matrix(ask, query, team):
    said = ask("post", "", {"title": "T", "query": ""}).json()
    assert Report.objects.get().draft["query"] == query
    measured_matrix(team)
    again = ask("post", f"/{said['id']}/revisions", {})
    first, second = ({source["run"] for source in load_content(row)["sources"]} for row in ReportRevision.objects.all())
    assert again.status_code == 201 and first == second


@pytest.mark.parametrize(
    "fields",
    [
        {}, {"title": "", "query": ""}, {"title": "x" * 300, "query": ""}, {"title": "a\0b", "query": ""},
        {"title": "T", "query": "", "access": "everybody"}, {"title": "T", "query": "", "items": ["x"] * 99},
        {"title": "T", "query": "", "expires_at": "tomorrow"}, {"title": "T", "query": "", "notes": 7},
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_a_problem(ask, team, fields):
    answer = ask("post", "", fields)
    assert answer.status_code == 400 and answer["Content-Type"].startswith("application/problem+json")


def test_access_is_changed(ask, team, user):
    Membership.objects.update(role=Role.ADMIN)
    report = published(team, user=user)
    said = ask("patch", f"/{report.pk}", {"access": "public", "expires_at": "2099-01-01T00:00:00Z"}).json()
    assert said["access"] == "public" and said["expires_at"].startswith("2099")
    assert ask("patch", f"/{report.pk}", {"expires_at": None}).json()["expires_at"] is None


def test_the_list_is_the_teams_own_in_pages(ask, team, user):
    matrix = measured_matrix(team)
    for number in range(3):
        published(team, user=user, matrix=matrix, title=f"Report {number}")
    published(make_team(), title="Not yours")
    first = ask("get", "?limit=2").json()
    second = ask("get", f"?limit=2&cursor={first['next_cursor']}").json()
    assert [one["title"] for one in first["items"] + second["items"]] == ["Report 2", "Report 1", "Report 0"]
    assert second["next_cursor"] is None and first["items"][0]["revisions"] == 1


@pytest.mark.parametrize(
    ("method", "what"),
    [
        ("get", ""), ("patch", ""), ("delete", ""), ("post", "/revisions"), ("post", "/link/rotate"),
        ("delete", "/link"),
    ],
)  # fmt: skip
def test_another_teams_report_is_not_there(ask, team, method, what):
    report = published(make_team())
    answer = ask(method, f"/{report.pk}{what}", None if method == "get" else {})
    assert answer.status_code == 404 and answer.json()["type"] == "/problems/not-found"


def test_another_scope_may_read_only(team, user, query):
    ask = asking(get_token(team, user, Scope.RUNS_READ))
    report = published(team, user=user)
    assert ask("get").status_code == 200 and ask("get", f"/{report.pk}").status_code == 200
    assert ask("post", "", {"title": "T", "query": query}).status_code == 403
    assert ask("delete", f"/{report.pk}").status_code == 403


def test_deleting_is_for_its_author_and_admins(ask, team, user):
    report = published(team, user=make_user(team=team))
    assert ask("delete", f"/{report.pk}").status_code == 403
    admin = make_user(team=team, role=Role.ADMIN)
    assert asking(get_token(team, admin))("delete", f"/{report.pk}").status_code == 204


def test_a_draft_has_no_link_to_rotate(ask, team):
    draft = Report.objects.create(team=team, title="Begun")
    assert ask("post", f"/{draft.pk}/link/rotate").status_code == 409
