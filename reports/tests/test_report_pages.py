"""The pages of reports: from the compare page to a published report, and everything that is done to one."""

import datetime as dt
import re

import pytest
from django.test import Client
from django.utils import timezone

from benchsite.accounts.models import AuditEntry, Membership, Role
from conftest import signed_in
from reports.models import Report
from reports.published.links import LinkRevoked, find_link, open_link
from reports.published.publication import load_content
from reports.tests.frozen import measured_matrix, published
from runs.tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def matrix(team):
    return measured_matrix(team)


@pytest.fixture
def report(client_in, matrix):
    client_in.post("/reports/new/", {"title": "What durability costs", "query": f"v=1&matrix={matrix.pk}"})
    return Report.objects.get()


def seen(client, report):
    html = client.get(f"/reports/{report.pk}/publish/").content.decode()
    return re.search(r'name="seen" value="([0-9a-f]{64})"', html)[1]


def test_it_begins_on_the_compare_page(client_in, matrix):
    html = client_in.get(f"/compare/?v=1&matrix={matrix.pk}").content.decode()
    form = html.partition('action="/reports/new/"')[2].partition("</form>")[0]
    fields = dict(re.findall(r'name="(query|title)" value="([^"]*)"', form))
    answer = client_in.post("/reports/new/", {name: text.replace("&amp;", "&") for name, text in fields.items()})
    report = Report.objects.get()
    assert answer["Location"] == f"/reports/{report.pk}/publish/" and report.access == "private"
    assert report.title == matrix.name and str(matrix.pk) in report.draft["query"]


def test_it_is_built_looked_at_and_published(client_in, report, team):
    fields = {
        "title": "Durability", "headline": "Ours is fine.", "notes": "**Why**", "paid_by": "us", "vendor_relations": "",
        "settings_reviewed_by": "", "show": ["table-sustained", "ceilings"], "place-ceilings": "2",
        "place-table-sustained": "1", "look": "1",
    }  # fmt: skip
    assert client_in.post(f"/reports/{report.pk}/edit/", fields)["Location"] == f"/reports/{report.pk}/publish/"
    page = client_in.get(f"/reports/{report.pk}/publish/").content.decode()
    assert "Ours is fine." in page and "<strong>Why</strong>" in page and "not stated" in page
    answer = client_in.post(f"/reports/{report.pk}/publish/", {"seen": seen(client_in, report)}, follow=True)
    assert "Revision 1 of “Durability” is published" in answer.content.decode()
    content = load_content(report.revisions.get())
    assert content["order"] == ["table-sustained", "ceilings"] and content["disclosures"]["paid_by"] == "us"
    assert find_link(report) and AuditEntry.objects.get(kind="report_published").subject == "Durability"


def test_the_headline_follows_the_numbers_until_it_is_rewritten(client_in, report):
    page = client_in.get(f"/reports/{report.pk}/edit/").content.decode()
    assert "3.90k in off" in page
    headline = re.search(r'<textarea name="headline"[^>]*>\s*(.*?)</textarea>', page, re.S)[1]
    client_in.post(f"/reports/{report.pk}/edit/", {"title": "T", "headline": headline, "show": ["ceilings"]})
    report.refresh_from_db()
    assert "headline" not in report.draft
    preview = client_in.get(f"/reports/{report.pk}/publish/").content.decode()
    findings = re.findall(r'<p class="report__headline[^>]*>(.*?)</p>', preview)
    assert len(findings) > 0 and all(finding in headline for finding in findings)
    assert headline.removeprefix(" ".join(findings)).strip() in re.findall(r'<p class="muted">(.*?)</p>', preview)
    client_in.post(f"/reports/{report.pk}/edit/", {"title": "T", "headline": "Mine.", "show": ["ceilings"]})
    page = client_in.get(f"/reports/{report.pk}/edit/").content.decode()
    assert "The numbers propose" in page and "Mine." in page


def test_it_is_looked_at_again_where_the_numbers_changed(client_in, report, matrix):
    digest = seen(client_in, report)
    run = matrix.runs.first()
    run.excluded_reason = "somebody else was on"
    run.save()
    answer = client_in.post(f"/reports/{report.pk}/publish/", {"seen": digest})
    assert answer.status_code == 409 and "Something changed since you looked" in answer.content.decode()
    assert not report.revisions.exists()


def test_who_may_read_it_is_chosen_where_it_is_published(client_in, report):
    page = client_in.get(f"/reports/{report.pk}/publish/").content.decode()
    assert 'value="unlisted"' in page
    assert re.search(r'button--primary" name="access"\s+value="private"', page)

    client_in.post(f"/reports/{report.pk}/publish/", {"seen": seen(client_in, report), "access": "unlisted"})

    report.refresh_from_db()
    assert report.access == "unlisted" and report.revisions.count() == 1
    assert "Copy HTML" in client_in.get(f"/reports/{report.pk}/").content.decode()


def test_runner_makes_no_report_public_by_publishing(team, matrix):
    client = signed_in(make_user(team=team, role=Role.RUNNER))
    client.post("/reports/new/", {"query": f"v=1&matrix={matrix.pk}"})
    report = Report.objects.get()
    assert 'value="public"' not in client.get(f"/reports/{report.pk}/publish/").content.decode()

    client.post(f"/reports/{report.pk}/publish/", {"seen": seen(client, report), "access": "public"})

    report.refresh_from_db()
    assert report.access == "private" and report.revisions.count() == 1


def test_nothing_that_counts_is_not_published(client_in, team):
    client_in.post("/reports/new/", {"title": "Empty", "query": ""})
    report = Report.objects.get()
    assert client_in.get(f"/reports/{report.pk}/edit/").status_code == 200
    answer = client_in.post(f"/reports/{report.pk}/publish/", {"seen": seen(client_in, report)})
    assert answer.status_code == 422 and "Nothing that counts" in answer.content.decode()


def test_its_figures_are_drawn_before_it_is_published(client_in, report):
    html = client_in.get(f"/reports/{report.pk}/publish/").content.decode()
    matches = re.findall(r'data-src="(/reports/[^"]+)"', html)
    assert matches
    for address in matches:
        for more in ("", "?theme=dark&narrow=1", "?medium=slide"):
            said = client_in.get(address + more).json()
            assert said["figure"]["data"] and said["table"]["rows"]
    assert client_in.get(f"/reports/{report.pk}/publish/{'0' * 64}/ceilings/").status_code == 200
    assert client_in.get(f"/reports/{report.pk}/publish/{'0' * 64}/nothing/").status_code == 404


def test_footnotes_stand_on_their_cells(client_in, report):
    page = client_in.get(f"/reports/{report.pk}/edit/").content.decode()
    side = re.search(r'<select name="footnote-side">.*?<option>([^<]+)</option>', page, re.S)[1]
    fields = {
        "title": "T", "show": ["table-sustained"], "footnote-cell": ["table-sustained\x1fceiling (ops/s)", ""],
        "footnote-side": [side, ""], "footnote-text": ["Measured on a Sunday.", ""],
    }  # fmt: skip
    client_in.post(f"/reports/{report.pk}/edit/", fields)
    page = client_in.get(f"/reports/{report.pk}/publish/").content.decode()
    assert "Measured on a Sunday." in page
    fields["show"] = ["ceilings"]
    client_in.post(f"/reports/{report.pk}/edit/", fields)
    page = client_in.get(f"/reports/{report.pk}/publish/").content.decode()
    assert "has no cell any more" in page


def test_access_and_the_last_day_are_changed_and_audited(client_in, team, user):
    report = published(team, user=user)
    Membership.objects.update(role=Role.ADMIN)
    day = timezone.now().date() + dt.timedelta(days=3)
    client_in.post(f"/reports/{report.pk}/access/", {"access": "public", "expires_on": str(day)})
    report.refresh_from_db()
    assert report.access == "public" and report.expires_at.date() == day + dt.timedelta(days=1)
    assert AuditEntry.objects.get(kind="access_changed").text.startswith("unlisted to public until")
    answer = client_in.post(f"/reports/{report.pk}/access/", {"access": "public", "expires_on": "2020-01-01"})
    assert answer.status_code == 422 and "is over" in answer.content.decode()


def test_share_section_offers_link_badge_image_and_frame(client_in, team, user):
    report = published(team, user=user)
    token = find_link(report).token
    page = client_in.get(f"/reports/{report.pk}/").content.decode()
    share = page.partition('id="share"')[2].partition("</section>")[0]
    assert 'name="access"' in share and f'id="address">http://testserver/r/{token}</code>' in share
    assert f"(http://testserver/api/v1/badges/reports/{token}.svg)](http://testserver/r/{token})" in share
    assert f"&lt;iframe src=&quot;http://testserver/r/{token}/embed" in share.replace('"http', "&quot;http")
    assert client_in.get(f"/r/{token}/embed").status_code == 200
    report.revisions.get().pictures.create(name="ceilings", png=b"", width=1, height=1)
    share = client_in.get(f"/reports/{report.pk}/").content.decode().partition('id="share"')[2]
    assert "Image: Ceilings" in share and "[![Ceilings](http" in share
    assert f"show the newest revision, and change with it; http://testserver/r/{token}@1" in " ".join(share.split())
    client_in.post(f"/reports/{report.pk}/access/", {"access": "private", "expires_on": ""})
    share = client_in.get(f"/reports/{report.pk}/").content.decode()
    assert "cannot show them while the report is private" in share and "iframe" not in share


def test_the_link_is_rotated_and_taken_back(client_in, team, user):
    report = published(team, user=user)
    first = find_link(report)
    client_in.post(f"/reports/{report.pk}/link/", {"rotate": "1"})
    second = find_link(report)
    assert first != second
    page = client_in.post(f"/reports/{report.pk}/link/", {"revoke": "1"}, follow=True).content.decode()
    assert "is revoked" in page and "Make a new link" in page and "nobody: the link is revoked" in page
    assert "Save who may read it" not in page
    with pytest.raises(LinkRevoked):
        open_link(second.token)


def test_deleting_asks_and_is_for_its_author_and_admins(client_in, team, user, client):
    report = published(team, user=user)
    other = make_user(team=team)
    client.force_login(other)
    assert "Delete the report" not in client.get(f"/reports/{report.pk}/").content.decode()
    assert client.post(f"/reports/{report.pk}/delete/").status_code == 403
    token = find_link(report).token
    page = client_in.get(f"/reports/{report.pk}/").content.decode()
    assert f"Delete “{report.title}” with 1 revision?" in page
    page = client_in.post(f"/reports/{report.pk}/delete/", follow=True).content.decode()
    assert "is deleted" in page and not Report.objects.exists()
    with pytest.raises(LinkRevoked, match="deleted"):
        open_link(token)
    assert AuditEntry.objects.filter(kind="report_deleted").exists()


ADDRESSES = ("", "edit/", "publish/", "access/", "link/", "delete/", f"publish/{'0' * 64}/ceilings/")


@pytest.mark.parametrize("what", ADDRESSES)
def test_another_teams_report_is_not_there(what, team, user, stranger):
    report = published(team, user=user)
    address = f"/reports/{report.pk}/{what}"
    answers = {stranger.get(address).status_code, stranger.post(address).status_code}
    assert answers <= {404, 405} and 404 in answers
    assert report.title not in stranger.get("/reports/").content.decode()


def test_viewers_read_and_change_nothing(team, user):
    report = published(team, user=user)
    client = Client()
    client.force_login(make_user(team=team, role=Role.VIEWER))
    assert report.title in client.get("/reports/").content.decode()
    page = client.get(f"/reports/{report.pk}/").content.decode()
    assert "Revisions" in page and "Revoke" not in page and "Delete" not in page
    for what in ("edit/", "publish/"):
        assert client.get(f"/reports/{report.pk}/{what}").status_code == 403
    for what in ("access/", "link/", "delete/"):
        assert client.post(f"/reports/{report.pk}/{what}").status_code == 403
    assert client.post("/reports/new/").status_code == 403
    assert "Build a report" not in client.get("/compare/").content.decode()


@pytest.mark.parametrize("what", ["edit/", "publish/", "access/", "link/", "delete/"])
def test_a_form_from_another_site_is_refused(what, team, user):
    report = published(team, user=user)
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    assert client.post(f"/reports/{report.pk}/{what}", {"title": "x"}).status_code == 403


def test_the_list_says_what_there_is(client_in, team, user):
    assert "No report yet" in client_in.get("/reports/").content.decode()
    report = published(team, user=user, expires_at=timezone.now() - dt.timedelta(days=1))
    Report.objects.create(team=team, title="<i>begun</i>")
    html = client_in.get("/reports/").content.decode()
    assert report.title in html and "expired" in html and "draft" in html and "&lt;i&gt;begun" in html


def test_more_reports_ask_no_more_queries(client_in, team, user, django_assert_max_num_queries):
    matrix = measured_matrix(team)
    for number in range(6):
        published(team, user=user, matrix=matrix, title=f"Report {number}")
    with django_assert_max_num_queries(6):
        client_in.get("/reports/")
    with django_assert_max_num_queries(9):
        client_in.get(f"/reports/{Report.objects.first().pk}/")


def test_the_navigation_leads_there(client_in):
    assert 'href="/reports/"' in client_in.get("/").content.decode()


def test_what_no_form_of_ours_sends_is_bounded(client_in, report):
    fields = {
        "title": "Durability", "headline": "", "notes": "x", "show": ["ceilings", "a\0b", "x" * 100_000] + ["y"] * 500,
        "footnote-cell": "points\0\x1fcolumn", "footnote-side": "s\0" * 100_000, "footnote-text": "why\0",
    }  # fmt: skip
    assert client_in.post(f"/reports/{report.pk}/edit/", fields).status_code == 302
    report.refresh_from_db()
    assert report.draft["items"] == ["ceilings"] and "footnotes" not in report.draft
    assert len(str(report.draft)) < 10_000
    assert client_in.get(f"/reports/{report.pk}/edit/").status_code == 200
