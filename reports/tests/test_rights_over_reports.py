"""What of reports is for admins or authors alone, by the pages as by the API."""

import datetime as dt
import json

import pytest
from django.test import Client
from django.utils import timezone

from benchsite.accounts import tokens
from benchsite.accounts.models import Membership, Role, Scope
from conftest import signed_in
from reports.models import Report
from reports.published import publication
from reports.published.links import find_link, make_link, revoke
from reports.published.rights import NotAllowed
from reports.tests.frozen import measured_matrix
from runs.tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def report(team, user):
    """A report with one revision, or what looks like it, of another runner than `user`."""
    report = Report.objects.create(team=team, title="Durability", access="unlisted", created_by=make_user(team=team))
    report.revisions.create(number=1, title="Durability", digest="0" * 64, content=b"", published_at=timezone.now())
    make_link(report)
    return report


def api(team, user, method, address, said=None):
    token = tokens.make(team, user, name="CI", scopes=[Scope.REPORTS_WRITE], life=tokens.DEFAULT_LIFE)
    client = Client(headers={"Authorization": f"Bearer {token}"})
    body = {} if said is None else {"data": json.dumps(said), "content_type": "application/json"}
    return getattr(client, method)(f"/api/v1/reports{address}", **body)


def get_access(report):
    return Report.objects.get(pk=report.pk).access


def test_a_runner_does_not_make_it_public(client_in, team, user, report):
    refused = client_in.post(f"/reports/{report.pk}/access/", {"access": "public"})
    assert refused.status_code == 403 and b"Only admins of the team make a report public" in refused.content
    refused = api(team, user, "patch", f"/{report.pk}", {"access": "public"})
    assert refused.status_code == 403 and refused.json()["type"] == "/problems/insufficient-scope"
    assert get_access(report) == "unlisted"
    assert b'value="public"' not in client_in.get(f"/reports/{report.pk}/").content


def test_an_admin_makes_it_public(team, report):
    admin = make_user(team=team, role=Role.ADMIN)
    browser = signed_in(admin)
    assert b'value="public"' in browser.get(f"/reports/{report.pk}/").content
    browser.post(f"/reports/{report.pk}/access/", {"access": "public"})
    assert get_access(report) == "public"
    Report.objects.update(access="private")
    assert api(team, admin, "patch", f"/{report.pk}", {"access": "public"}).status_code == 200


def test_a_token_may_no_more_than_its_maker_today(team, report):
    admin = make_user(team=team, role=Role.ADMIN)
    Membership.objects.filter(user=admin).update(role=Role.RUNNER)
    assert api(team, admin, "patch", f"/{report.pk}", {"access": "public"}).status_code == 403


@pytest.mark.parametrize("dry", ["", "?dry_run=1"])
def test_a_runner_publishes_no_new_report_to_everybody(team, user, dry):
    query = f"v=1&matrix={measured_matrix(team).pk}"
    refused = api(team, user, "post", dry, {"title": "T", "query": query, "access": "public"})
    assert refused.status_code == 403 and not Report.objects.exists()


def test_runners_may_limit_or_end_access_an_admin_made_public(client_in, report):
    Report.objects.update(access="public")
    assert b'value="public"' in client_in.get(f"/reports/{report.pk}/").content
    day = str(timezone.now().date() + dt.timedelta(days=3))
    client_in.post(f"/reports/{report.pk}/access/", {"access": "public", "expires_on": day})
    assert Report.objects.get().expires_at is not None
    client_in.post(f"/reports/{report.pk}/access/", {"access": "private"})
    assert get_access(report) == "private"


def test_runners_cannot_prolong_expired_public_access(user, report):
    Report.objects.update(access="public", expires_at=timezone.now() - dt.timedelta(days=1))
    with pytest.raises(NotAllowed):
        publication.set_access(Report.objects.get(), "public", None, user)


def test_stale_report_does_not_reopen_access_an_admin_closed(user, report):
    Report.objects.update(access="public")
    stale = Report.objects.get()
    Report.objects.update(access="private")
    with pytest.raises(NotAllowed):
        publication.set_access(stale, "public", timezone.now() + dt.timedelta(days=1), user)


def test_runners_rotate_active_links_but_not_revoked_links(client_in, team, user, report):
    first = find_link(report)
    client_in.post(f"/reports/{report.pk}/link/", {"rotate": "1"})
    assert find_link(report) not in (first, None)
    revoke(report, None)
    assert b"Make a new link" not in client_in.get(f"/reports/{report.pk}/").content
    assert client_in.post(f"/reports/{report.pk}/link/", {"rotate": "1"}).status_code == 403
    assert api(team, user, "post", f"/{report.pk}/link/rotate").status_code == 403
    assert find_link(report) is None


def test_its_author_and_admins_renew_it(team, report):
    for who in (report.created_by, make_user(team=team, role=Role.ADMIN)):
        revoke(report, None)
        assert b"Make a new link" in signed_in(who).get(f"/reports/{report.pk}/").content
        assert api(team, who, "post", f"/{report.pk}/link/rotate").status_code == 200


def test_a_new_revision_does_not_open_it_again(team, user):
    author = make_user(team=team)
    report = publication.begin(team, author, f"v=1&matrix={measured_matrix(team).pk}")
    publication.publish(report, author, {})
    revoke(report, None)
    publication.publish(report, user, {})
    assert report.revisions.count() == 2 and find_link(report) is None
    publication.publish(report, author, {})
    assert find_link(report)
