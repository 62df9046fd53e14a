"""Who may read a frozen report, what is said of a link that opens nothing, and the headers that follow."""

import datetime as dt

import pytest
from django.test import Client
from django.utils import timezone

from conftest import signed_in
from reports.models import Report
from reports.published.links import find_link, revoke, rotate
from reports.tests.snapshots import published
from runs.tests.factories import make_team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PARTS = (
    "", "@1", ".json", ".zip", ".md", ".html", "@1.json", "/embed", "/figures/ceilings/", "@1/figures/ceilings.csv",
    "/tables/points.md", "@1/figures/ceilings.json",
)  # fmt: skip


@pytest.fixture
def viewer(team):
    return signed_in(make_user(team=team, role="viewer", username="viola"))


@pytest.mark.parametrize("access", ["unlisted", "public"])
def test_whoever_has_the_link_reads_it(team, stranger, viewer, access):
    token = find_link(published(team, access=access)).token
    for who in (Client(), stranger, viewer):
        assert [who.get(f"/r/{token}{part}").status_code for part in PARTS] == [200] * len(PARTS)


def test_private_report_exists_for_members_only(team, stranger, viewer):
    token = find_link(published(team, access="private")).token
    for part in PARTS:
        assert viewer.get(f"/r/{token}{part}").status_code == 200, part
        for who in (Client(), stranger):
            assert who.get(f"/r/{token}{part}").status_code == 404, part


def test_a_member_of_several_teams_reads_it_whichever_is_current(team, django_user_model):
    user = make_user(team=make_team(name="Another"), username="two")
    user.memberships.create(team=team, role="viewer")
    token = find_link(published(team, access="private")).token
    assert signed_in(user).get(f"/r/{token}").status_code == 200


def gone(client, token):
    for part in PARTS:
        answer = client.get(f"/r/{token}{part}")
        assert answer.status_code == 410, part
        assert "noindex" in answer["X-Robots-Tag"]
    return answer.content.decode()


def test_a_revoked_link_is_gone_and_says_so_kindly(team, client):
    report = published(team)
    token = find_link(report).token
    revoke(report, None)
    assert "revoked" in gone(client, token)


def test_a_rotated_link_is_gone_and_the_new_one_opens(team, client):
    report = published(team)
    old = find_link(report).token
    new = rotate(report, None).token
    gone(client, old)
    assert client.get(f"/r/{new}").status_code == 200


def test_an_expired_link_is_gone(team, client):
    report = published(team, expires_at=timezone.now() - dt.timedelta(seconds=1))
    assert "expired" in gone(client, find_link(report).token)


def test_the_link_of_a_deleted_report_is_gone(team, client):
    report = published(team)
    token = find_link(report).token
    report.delete()
    assert "deleted" in gone(client, token)


@pytest.mark.parametrize("token", ["AAAAAAAAAAAAAAAAAAAAAA", "short", "x" * 200, "a%00b%00c%00d%00e", "..%2f..%2fetc"])
def test_an_unknown_link_is_nowhere(db, client, token):
    assert client.get(f"/r/{token}").status_code == 404


def test_an_unlisted_one_asks_not_to_be_indexed_wherever_it_is(team, client):
    token = find_link(published(team)).token
    for part in PARTS:
        answer = client.get(f"/r/{token}{part}")
        assert "noindex" in answer["X-Robots-Tag"], part
        assert answer["Referrer-Policy"] == "same-origin"
    assert '<meta name="robots" content="noindex' in client.get(f"/r/{token}").content.decode()


def test_a_public_one_may_be_indexed(team, client):
    token = find_link(published(team, access=Report.Access.PUBLIC)).token
    answer = client.get(f"/r/{token}")
    assert "X-Robots-Tag" not in answer and "noindex" not in answer.content.decode()


def test_no_page_of_it_sets_a_cookie_or_may_be_framed(team, client):
    answer = client.get(f"/r/{find_link(published(team)).token}")
    assert not answer.cookies
    assert answer["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
    assert "Cookie" not in answer["Vary"]


def test_what_a_private_one_answers_is_kept_by_nobody(team, viewer):
    token = find_link(published(team, access="private")).token
    for part in ("", "@1/figures/ceilings/"):
        answer = viewer.get(f"/r/{token}{part}")
        assert answer["Cache-Control"] == "private, no-cache" and "Cookie" in answer["Vary"]


def test_nobody_can_write_to_it(team, client):
    token = find_link(published(team)).token
    for part in PARTS:
        assert client.post(f"/r/{token}{part}").status_code == 405
        assert client.delete(f"/r/{token}{part}").status_code == 405


@pytest.mark.parametrize(("access", "allowed"), [("public", "*"), ("unlisted", None), ("private", None)])
def test_other_sites_read_the_json_of_public_reports_alone(team, viewer, access, allowed):
    token = find_link(published(team, access=access)).token
    for part in (".json", "@1.json", "@1/figures/ceilings.json"):
        answer = viewer.get(f"/r/{token}{part}")
        assert answer.get("Access-Control-Allow-Origin") == allowed, part
        assert "Access-Control-Allow-Credentials" not in answer
        again = viewer.get(f"/r/{token}{part}", headers={"If-None-Match": answer["ETag"]})
        assert (again.status_code, again.get("Access-Control-Allow-Origin")) == (304, allowed)
    for part in ("", ".html", ".md", ".zip"):
        assert "Access-Control-Allow-Origin" not in viewer.get(f"/r/{token}{part}"), part
