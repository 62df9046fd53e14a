"""The links of reports: opened, rotated, revoked, expired, and what is left of those of deleted reports."""

import datetime as dt

import pytest
from django.utils import timezone

from benchsite.accounts.models import AuditEntry
from reports.models import Report, ReportLink
from reports.published.links import LinkRevoked, LinkUnknown, find_link, make_link, open_link, revoke, rotate
from runs.tests.factories import make_team

pytestmark = pytest.mark.django_db


@pytest.fixture
def report(team, user):
    return Report.objects.create(team=team, title="What durability costs", created_by=user)


def test_it_opens_its_report_and_is_made_once(report):
    link = make_link(report)
    assert make_link(report) == link and len(link.token) == 22
    assert open_link(link.token).report == report


@pytest.mark.parametrize("token", ["", "nothing", "\x00", "a" * 5000, "ü" * 22, "../../etc"])
def test_it_knows_no_link_that_nobody_made(token, report):
    make_link(report)
    with pytest.raises(LinkUnknown):
        open_link(token)


def test_rotated_link_is_revoked_and_the_new_link_opens(report, user):
    old = make_link(report)
    new = rotate(report, user)
    assert new.token != old.token and open_link(new.token).report == report
    with pytest.raises(LinkRevoked, match="revoked"):
        open_link(old.token)
    assert AuditEntry.objects.get().kind == "link_rotated"


def test_revoked_link_is_gone_and_second_revoke_does_nothing(report, user):
    link = make_link(report)
    assert revoke(report, user) and not revoke(report, user)
    with pytest.raises(LinkRevoked):
        open_link(link.token)
    assert find_link(report) is None and AuditEntry.objects.count() == 1
    assert open_link(rotate(report, user).token).report == report


def test_it_opens_until_it_expires(report):
    link = make_link(report)
    Report.objects.update(expires_at=timezone.now() + dt.timedelta(minutes=1))
    assert open_link(link.token)
    Report.objects.update(expires_at=timezone.now() - dt.timedelta(seconds=1))
    with pytest.raises(LinkRevoked, match="expired"):
        open_link(link.token)


def test_it_says_that_the_report_was_deleted_even_with_its_team(db):
    team = make_team()
    link = make_link(Report.objects.create(team=team, title="Soon gone"))
    team.delete()
    with pytest.raises(LinkRevoked, match="deleted"):
        open_link(link.token)


def test_two_who_rotate_at_once_leave_one_open_link(race, transactional_db):
    report = Report.objects.create(team=make_team(), title="Contested")
    make_link(report)
    race(lambda: rotate(Report.objects.get(), None), times=4)
    assert ReportLink.objects.filter(revoked_at__isnull=True).count() == 1
