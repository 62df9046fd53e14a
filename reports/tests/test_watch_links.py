"""A watch link: who makes one, what it shows to anybody, and that it shows nothing else."""

import json
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from benchsite.accounts.models import AuditEntry, Role
from benchsite.core.logs import mask
from reports.models import WatchLink
from reports.tests.test_compare_page import study
from runs.tests.factories import make_run, make_sweep, make_team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def anybody():
    return Client()


def link_to(client, **fields):
    """The path of a link that a page has just made."""
    response = client.post("/watch/new/", fields)
    assert response.status_code == 200, response.content
    return re.search(r'id="watch-made">https?://[^/]+(/watch/[\w-]+/)<', response.content.decode())[1]


def figures_of(client, path):
    return re.findall(r'data-src="([^"]+)"', client.get(path).content.decode())


def test_it_shows_a_matrix_to_somebody_without_an_account(client_in, team, anybody):
    matrix = study(team)
    path = link_to(client_in, matrix=matrix.pk)
    response = anybody.get(path)
    html = response.content.decode()
    assert response.status_code == 200 and matrix.name in html and "8 of 8 runs succeeded" in html
    assert response["X-Robots-Tag"] == "noindex" and "no-store" in response["Cache-Control"]
    # Nothing on it leads to where one has to sign in, and no form asks for anything.
    inside = html[html.index("<main") :]
    assert not re.findall(r'href="/(?!static|glossary/|help/)', inside) and "<form" not in inside
    for url in figures_of(anybody, path):
        assert len(anybody.get(url.replace("&amp;", "&")).json()["table"]["rows"]) > 0


def test_it_asks_again_only_while_something_is_to_come(client_in, team, anybody):
    matrix = study(team)
    path = link_to(client_in, matrix=matrix.pk)
    assert "hx-get" not in anybody.get(path + "now/").content.decode()
    make_run(matrix.sweeps.first(), threads=64, status="queued")
    assert "hx-get" in anybody.get(path + "now/").content.decode()


def test_it_shows_exactly_the_comparison_it_was_made_for(client_in, team, anybody):
    shown, hidden = study(team, name="Shown"), study(team, name="Hidden", modes=("everysec",))
    sweep = shown.sweeps.get(mode="always")
    path = link_to(client_in, query=f"v=1&sweep={sweep.pk}", title="Only always")
    inside = sweep.name
    for more in ("", f"?v=1&matrix={hidden.pk}", f"?v=1&sweep={hidden.sweeps.first().pk}", "?v=1&matrix=all"):
        html = anybody.get(path + more).content.decode()
        assert "Only always" in html and "everysec" not in html
        answer = anybody.get(f"{path}figures/ceilings/{more}").json()
        assert "always" in json.dumps(answer["table"]) and "everysec" not in json.dumps(answer), inside


def test_it_shows_nothing_of_another_team(client_in, team, anybody):
    theirs = make_sweep(team=make_team(name="Others"), name="their secret")
    make_run(theirs, threads=4, throughput=100.0)
    path = link_to(client_in, query=f"v=1&sweep={theirs.pk}")
    assert "their secret" not in anybody.get(path).content.decode()
    assert anybody.get(path + "figures/ceilings/").json()["table"]["rows"] == []
    assert client_in.post("/watch/new/", {"matrix": theirs.matrix_id}).status_code == 404


def test_it_ends_when_its_day_is_over_and_when_somebody_ends_it(client_in, team, anybody):
    path = link_to(client_in, matrix=study(team).pk)
    WatchLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    for more in ("", "now/", "figures/ceilings/"):
        assert anybody.get(path + more).status_code == 410
    again = link_to(client_in, matrix=team.matrices.get().pk)
    assert anybody.get(again).status_code == 200
    client_in.post(f"/watch/links/{WatchLink.objects.first().pk}/end/")
    response = anybody.get(again)
    assert response.status_code == 410 and "has ended" in response.content.decode()
    kinds = list(AuditEntry.objects.order_by("id").values_list("kind", flat=True))
    assert kinds[-3:] == ["watch_link_made", "watch_link_made", "watch_link_ended"]


def test_it_lasts_a_day(client_in, team):
    link_to(client_in, matrix=study(team).pk)
    left = WatchLink.objects.get().expires_at - timezone.now()
    assert timedelta(hours=23, minutes=59) < left <= timedelta(hours=24)


def test_only_its_digest_is_kept_and_no_log_has_the_token(client_in, team):
    path = link_to(client_in, matrix=study(team).pk)
    token = path.split("/")[2]
    assert token not in json.dumps(list(WatchLink.objects.values("token_sha256", "title", "query")))
    assert token not in mask(f'"GET {path}figures/ceilings/ HTTP/1.1" 200')
    assert mask("/watch/links/") == "/watch/links/" and mask("/watch/new/") == "/watch/new/"


def test_a_viewer_makes_none_and_a_stranger_ends_none(client_in, team):
    matrix = study(team)
    viewer = Client()
    viewer.force_login(make_user(team=team, role=Role.VIEWER, username="viewer"))
    assert viewer.post("/watch/new/", {"matrix": matrix.pk}).status_code == 403
    link_to(client_in, matrix=matrix.pk)
    stranger = Client()
    stranger.force_login(make_user(team=make_team(name="Others"), role=Role.ADMIN, username="stranger"))
    assert stranger.post(f"/watch/links/{WatchLink.objects.get().pk}/end/").status_code == 404
    assert "Quick study" not in stranger.get("/watch/").content.decode()


def test_nonsense_is_refused(client_in, anybody, team):
    assert client_in.post("/watch/new/", {"matrix": "x"}).status_code == 404
    assert anybody.get("/watch/nothing/").status_code == 410
    study(team)
    path = link_to(client_in, query="sweep=%00&op=<script>")
    assert anybody.get(path).status_code == 200
    assert anybody.get(path + "figures/nothing/").status_code == 404


def test_many_who_watch_are_one_question(client_in, team, anybody, django_assert_max_num_queries):
    path = link_to(client_in, matrix=study(team).pk)
    anybody.get(path + "figures/ceilings/?theme=dark")
    with django_assert_max_num_queries(1):
        anybody.get(path + "figures/ceilings/?theme=dark")
    with django_assert_max_num_queries(24):
        anybody.get(path)


def test_it_never_shows_a_matrix_that_is_newer_than_the_link(client_in, team, anybody):
    study(team, name="Shown")
    path = link_to(client_in, query="", title="What is there now")
    before = [anybody.get(url.replace("&amp;", "&")).json()["table"] for url in figures_of(anybody, path)]
    study(team, name="Hidden", modes=("everysec",))
    assert "everysec" not in anybody.get(path).content.decode()
    assert [anybody.get(url.replace("&amp;", "&")).json()["table"] for url in figures_of(anybody, path)] == before


def test_it_shows_nothing_once_its_matrix_is_gone(client_in, team, anybody):
    shown = study(team, name="Shown")
    path = link_to(client_in, query=f"v=1&matrix={shown.pk}", title="One of them")
    study(team, name="Hidden", modes=("everysec",))
    assert anybody.get(path).status_code == 200
    WatchLink.objects.update(query=f"v=1&matrix={team.pk}")  # as if it were deleted: no matrix has that id
    assert anybody.get(path).status_code == 410
    WatchLink.objects.update(query="v=1")
    assert anybody.get(path).status_code == 410


def test_what_is_not_there_yet_is_not_watched(client_in):
    answer = client_in.post("/watch/new/", {"query": "", "title": "Nothing"})
    assert answer.status_code == 422 and "Nothing is in this comparison yet" in answer.content.decode()


def test_a_title_is_one_line_that_can_be_kept(client_in, team):
    matrix = study(team)
    link_to(client_in, query=f"v=1&matrix={matrix.pk}", title="a\0b\r\n" + "c" * 500)
    assert WatchLink.objects.get().title == "a b  " + "c" * 195
