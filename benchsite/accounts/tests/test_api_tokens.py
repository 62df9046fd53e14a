"""Keys for programs: what they may do, when they end, and that nobody can read them anywhere."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from hypothesis import given, strategies as st

from benchsite.accounts import tokens
from benchsite.accounts.models import ApiToken, Membership, Role
from benchsite.accounts.tokens import TokenRefused, find_bearer
from runs.tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
READ, WRITE, DELETE = "runs:read", "runs:write", "runs:delete"


@pytest.fixture
def text(team, user):
    return tokens.make(team, user, name="nightly", scopes=[READ, WRITE])


def test_it_finds_its_team_maker_and_scopes(text, team, user):
    assert re.fullmatch(r"bs_[A-Za-z0-9]{8}_[A-Za-z0-9]{38}", text)
    bearer = find_bearer(text)
    assert (bearer.team, bearer.user, bearer.scopes) == (team, user, {READ, WRITE})


def test_the_secret_is_kept_nowhere(text):
    secret = text.split("_")[2][:32]
    assert all(secret not in str(value) for value in ApiToken.objects.values().get().values())


def test_a_use_costs_one_query_and_is_written_down_once_a_minute(text):
    with CaptureQueriesContext(
        connection,
    ) as first:
        find_bearer(text)
    with CaptureQueriesContext(connection) as second:
        find_bearer(text)
    assert (len(first), len(second)) == (2, 1)
    assert ApiToken.objects.get().last_used_at is not None


def changed(text, at):
    replacement = "a" if text[at] != "a" else "b"
    return text[:at] + replacement + text[at + 1 :]


def test_whatever_is_mistyped_is_refused(text):
    assert all(find_bearer(changed(text, at)) is None for at in range(len(text)))
    assert all(find_bearer(text[:length]) is None for length in range(len(text)))


@given(st.text(max_size=60))
def test_anything_else_is_refused_without_a_query(given_text):
    assert tokens._split_token(given_text) is None


def test_a_whole_token_that_nobody_made_is_refused(team, user, text):
    ApiToken.objects.all().delete()
    assert find_bearer(text) is None


def test_it_ends_when_it_is_revoked_too_old_or_its_maker_left(text, team, user):
    token = ApiToken.objects.get()
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert find_bearer(text) is None
    ApiToken.objects.update(expires_at=timezone.now() + timedelta(days=1))
    assert find_bearer(text)
    membership = Membership.objects.get(user=user)
    membership.delete()
    assert find_bearer(text) is None
    Membership.objects.create(user=user, team=team, role=Role.RUNNER)
    user.is_active = False
    user.save()
    assert find_bearer(text) is None
    user.is_active = True
    user.save()
    tokens.revoke(token, user)
    assert find_bearer(text) is None


def test_it_never_exceeds_its_makers_present_role(team):
    admin = make_user(team=team, role=Role.ADMIN)
    text = tokens.make(team, admin, name="all", scopes=[READ, WRITE, DELETE])
    Membership.objects.filter(user=admin).update(role=Role.VIEWER)
    assert find_bearer(text).scopes == {READ}


@pytest.mark.parametrize(
    ("role", "scopes", "days"),
    [("viewer", [WRITE], 9), ("runner", [DELETE], 9), ("admin", [], 9), ("admin", [READ], 366), ("admin", ["x"], 9)],
)
def test_it_refuses_what_its_maker_may_not_give(team, role, scopes, days):
    with pytest.raises(TokenRefused):
        tokens.make(team, make_user(team=team, role=role), name="x", scopes=scopes, life=timedelta(days=days))
    assert not ApiToken.objects.exists()


def test_a_rotated_token_overlaps_a_day_and_rotates_once(text, user):
    old = ApiToken.objects.get()
    successor = tokens.rotate(old, user)
    assert find_bearer(text) and find_bearer(successor).scopes == {READ, WRITE}
    old.refresh_from_db()
    assert old.expires_at <= timezone.now() + tokens.OVERLAP
    with pytest.raises(TokenRefused):
        tokens.rotate(old, user)


def test_the_page_shows_a_token_once(client_in, team):
    made = client_in.post(reverse("tokens"), {"name": "ci", "scopes": [READ, WRITE], "days": 30})
    page = made.content.decode()
    text = re.search(r'<code id="token">([^<]+)</code>', page)[1]
    assert find_bearer(text).team == team
    assert page.count(text) == 1 and "read -rs BENCHSITE_TOKEN" in page
    again = client_in.get(reverse("tokens")).content.decode()
    assert text not in again and text[:12] in again
    assert client_in.post(reverse("tokens"), {"name": "", "days": 0}).status_code == 422
    assert client_in.post(reverse("tokens"), {"name": "x", "scopes": [DELETE], "days": 3}).status_code == 422


@pytest.mark.parametrize(("host", "option"), [("localhost", ""), ("testserver", "--allow-http ")])
def test_new_token_comes_with_the_line_that_uploads(client_in, settings, host, option):
    settings.ALLOWED_HOSTS = [host]
    page = client_in.post(
        reverse("tokens"), {"name": "ci", "scopes": [READ, WRITE], "days": 30}, headers={"host": host}
    ).content.decode()
    assert (
        f"curl -fsSO http://{host}/static/benchsite-upload.py &amp;&amp;\nBENCHSITE_URL=http://{host} "
        f"python3 benchsite-upload.py {option}output.txt</pre>"
    ) in page
    assert 'data-copy="#upload"' in page


def test_token_that_cannot_upload_has_no_command(client_in):
    page = client_in.post(reverse("tokens"), {"name": "ci", "scopes": [READ], "days": 30}).content.decode()
    assert 'id="token"' in page and 'id="upload"' not in page


def test_others_revoke_it_only_as_admins_of_its_team(client_in, team, text, stranger):
    pk = ApiToken.objects.get().pk
    url = reverse("token-change", args=[pk])
    viewer, admin = Client(), Client()
    viewer.force_login(make_user(team=team, role=Role.VIEWER))
    admin.force_login(make_user(team=team, role=Role.ADMIN))
    assert stranger.post(url, {"revoke": 1}).status_code == 404
    assert viewer.post(url, {"revoke": 1}).status_code == 403
    assert admin.post(url, {"rotate": 1}).status_code == 403
    assert find_bearer(text)
    admin.post(url, {"revoke": 1})
    assert find_bearer(text) is None
    assert set(team.audit.values_list("kind", flat=True)) == {"token_made", "token_revoked"}
