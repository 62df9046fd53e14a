"""One figure in somebody's page, and the index of what a team published for everybody."""

import datetime as dt

import pytest
from django.utils import timezone

from reports.models import Report
from reports.published.figure_images import encoded_anew, keep_pictures
from reports.published.links import find_link, revoke
from reports.tests.snapshots import published
from reports.tests.test_report_pictures import png
from runs.tests.factories import make_team

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_only_this_site_may_frame_a_figure_by_default(team, client):
    answer = client.get(f"/r/{find_link(published(team)).token}/embed?figure=latency")
    assert answer.status_code == 200
    assert "X-Frame-Options" not in answer
    assert "frame-ancestors 'self'" in answer["Content-Security-Policy"]
    assert "frame-ancestors 'none'" not in answer["Content-Security-Policy"]
    assert "figures/latency/" in answer.content.decode()


def test_an_operator_says_which_sites_may(team, client, settings):
    settings.EMBED_ANCESTORS = ["https://wiki.example", "https://blog.example"]
    url = f"/r/{find_link(published(team)).token}"
    policy = client.get(f"{url}/embed")["Content-Security-Policy"]
    assert "frame-ancestors https://wiki.example https://blog.example" in policy
    assert "default-src 'self'" in policy
    # The page itself is never framed.
    assert "frame-ancestors 'none'" in client.get(url)["Content-Security-Policy"]


def test_embed_shows_first_figure_and_404_for_unknown_name(team, client):
    url = f"/r/{find_link(published(team, order=['percentiles', 'latency'])).token}/embed"
    assert "figures/percentiles/" in client.get(url).content.decode()
    for name in ("nothing", "points", "../x", "%00", "x" * 500):
        assert client.get(f"{url}?figure={name}").status_code == 404, name


def test_a_frame_leads_to_the_whole_report(team, client):
    token = find_link(published(team)).token
    page = client.get(f"/r/{token}/embed").content.decode()
    assert f'href="http://testserver/r/{token}@1" target="_blank" rel="noopener"' in page


def index(client, team):
    answer = client.get(f"/public/{team.slug}/")
    return answer.status_code, answer.content.decode()


def test_the_index_lists_what_is_public_and_open(team, client):
    shown = published(team, access=Report.Access.PUBLIC, title="For everybody")
    for title, access in (("Unlisted", "unlisted"), ("Private", "private")):
        published(team, access=access, title=title)
    published(team, access="public", title="Too late", expires_at=timezone.now() - dt.timedelta(hours=1))
    revoke(published(team, access="public", title="Revoked"), None)
    published(make_team(), access="public", title="Another team's")
    status, page = index(client, team)
    assert status == 200
    assert "For everybody" in page and f"/r/{find_link(shown).token}" in page
    for title in ("Unlisted", "Private", "Too late", "Revoked", "Another team"):
        assert title not in page


def test_it_says_so_when_nothing_is_open_any_more(team, client):
    revoke(published(team, access="public"), None)
    status, page = index(client, team)
    assert status == 200 and "No report is public now" in page


def test_team_without_public_reports_has_no_index(team, client):
    published(team)
    assert index(client, team)[0] == 404
    assert client.get("/public/nobody/").status_code == 404


def test_the_index_costs_few_queries_however_long_it_is(team, client, django_assert_max_num_queries):
    for number in range(4):
        published(team, access="public", title=f"Number {number}")
    with django_assert_max_num_queries(4):
        _, page = index(client, team)
    assert page.count("<li>") == 4


def test_names_on_the_index_do_nothing(client, db):
    team = make_team(name="<script>alert(1)</script>")
    published(team, access="public", title="<img src=x onerror=alert(1)>", headline="<b>bold</b>")
    _, page = index(client, team)
    assert "<script>alert" not in page and "<img" not in page and "<b>" not in page


def test_publisher_image_is_shown_until_the_figure_is_drawn(team, client):
    report = published(team)
    url = f"/r/{find_link(report).token}"
    keep_pictures(report.revisions.get(), {"ceilings": encoded_anew(png((1200, 630)))})
    page = client.get(f"{url}/embed?figure=ceilings").content.decode()
    assert f'<img class="report__picture" src="{url}@1/figures/ceilings.png"' in page
    assert "<img" not in client.get(f"{url}/embed?figure=latency").content.decode()
