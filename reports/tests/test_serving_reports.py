"""Rendered once, served often: few queries, conditional requests, and a revocation that is effective at once."""

import gzip

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reports.models import Report
from reports.published.links import find_link, revoke, rotate
from reports.published.publication import load_content, write_revision
from reports.tests.snapshots import published

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(autouse=True)
def nothing_kept():
    cache.clear()


def queries(client, url, **headers):
    with CaptureQueriesContext(connection) as asked:
        answer = client.get(url, headers=headers)
    return answer, len(asked)


def test_a_kept_page_costs_one_query(team, client):
    token = find_link(published(team)).token
    first, _ = queries(client, f"/r/{token}")
    again, statements = queries(client, f"/r/{token}")
    assert again.content == first.content
    assert statements == 1


def test_a_kept_private_page_costs_those_of_its_reader_besides(team, client_in):
    token = find_link(published(team, access="private")).token
    queries(client_in, f"/r/{token}")
    _, statements = queries(client_in, f"/r/{token}")
    assert statements <= 4  # link, session, user, membership


@pytest.mark.parametrize("part", ["", ".json", ".zip", "/figures/ceilings/", "@1/figures/ceilings.csv"])
def test_whoever_has_it_already_is_told_so(team, client, part):
    url = f"/r/{find_link(published(team)).token}{part}"
    first = client.get(url)
    again, statements = queries(client, url, if_none_match=first["ETag"])
    assert (again.status_code, again.content) == (304, b"")
    assert statements == 1
    assert client.get(url, headers={"if-none-match": 'W/"other"'}).status_code == 200
    assert client.get(url, headers={"if-modified-since": first["Last-Modified"]}).status_code == 304


def test_it_is_sent_compressed_to_whoever_takes_that(team, client):
    url = f"/r/{find_link(published(team)).token}"
    plain, packed = client.get(url), client.get(url, headers={"accept-encoding": "gzip, br"})
    assert packed["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.content) == plain.content
    assert len(packed.content) < len(plain.content) / 4
    assert packed["Vary"] == plain["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize("end", [revoke, rotate], ids=lambda end: end.__name__)
def test_revoked_or_rotated_link_answers_410_at_once(team, client, end):
    report = published(team)
    url = f"/r/{find_link(report).token}"
    etag = client.get(url)["ETag"]
    end(report, None)
    assert client.get(url).status_code == 410
    assert client.get(url, headers={"if-none-match": etag}).status_code == 410


def test_report_made_private_is_hidden_from_others_at_once(team, client):
    report = published(team)
    url = f"/r/{find_link(report).token}"
    assert client.get(url).status_code == 200
    Report.objects.filter(pk=report.pk).update(access="private")
    assert client.get(url).status_code == 404


def test_another_revision_is_on_the_page_at_once(team, client):
    report = published(team)
    url = f"/r/{find_link(report).token}"
    client.get(url)
    content = load_content(report.revisions.get())
    write_revision(report, {**content, "headline": "It is slower by now."}, None)
    assert "It is slower by now." in client.get(url).content.decode()
    assert "It is slower by now." not in client.get(f"{url}@1").content.decode()
    assert "revision 1 of 2" in client.get(f"{url}@1").content.decode()


def test_a_figure_of_a_certain_revision_is_kept_by_the_reader(team, client):
    token = find_link(published(team)).token
    assert "immutable" in client.get(f"/r/{token}@1/figures/ceilings/")["Cache-Control"]
    assert client.get(f"/r/{token}/figures/ceilings/")["Cache-Control"] == "private, no-cache"


def test_without_a_cache_it_is_rendered_all_the_same(team, client, monkeypatch):
    def unreachable(*args, **kwargs):
        raise ConnectionError

    token = find_link(published(team)).token
    for name in ("get_many", "set_many"):
        monkeypatch.setattr(cache, name, unreachable)
    assert client.get(f"/r/{token}").status_code == 200


def test_reports_of_two_teams_share_nothing_that_is_kept(team, client):
    from runs.tests.factories import make_team

    one, other = published(team, title="One"), published(make_team(), title="Other")
    for report, title in ((one, "One"), (other, "Other"), (one, "One")):
        assert f"<h1>{title}</h1>" in client.get(f"/r/{find_link(report).token}").content.decode()
