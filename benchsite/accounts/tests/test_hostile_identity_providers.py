"""Whoever is between the site and its identity provider, or the provider itself, sends what it likes."""

import json
import time
from functools import partial

import jwt
import pytest
from allauth.socialaccount.models import SocialAccount
from cryptography.hazmat.primitives.asymmetric import rsa

from benchsite.accounts import oidc
from benchsite.accounts.models import User
from benchsite.accounts.tests.identity_provider import CLIENT_ID, SECRET
from benchsite.accounts.tests.test_single_sign_on import come, provider, who
from benchsite.tests.hostile_servers import HostileServer, answer_each, drip, repeat, silent
from runs.tests.factories import make_user

__all__ = ["provider"]
pytestmark = [pytest.mark.django_db, pytest.mark.slow]
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
def ada(provider):
    ada = make_user(username="ada")
    SocialAccount.objects.create(user=ada, provider="sso", uid="42")
    return ada


def refused(client, **fields):
    answer = come(client, **fields)
    assert answer.status_code == 401
    assert "did not say who you are" in answer.content.decode()
    assert who(client) is None


def answer_with(provider, monkeypatch, key=None, algorithm="RS256", header=None, **claims):
    """The provider answers with this ID token."""
    now = int(time.time())
    claims = {"iss": provider.url, "aud": CLIENT_ID, "iat": now, "exp": now + 60, **provider.person, **claims}
    claims = {name: value for name, value in claims.items() if value is not None}
    key = None if algorithm == "none" else key or provider.key
    token = jwt.encode(claims, key, algorithm, headers={"kid": "1"} if header is None else header)
    answer = {"access_token": "x", "token_type": "Bearer", "expires_in": 60, "id_token": token}
    monkeypatch.setattr(provider, "token", lambda held: answer)
    return answer


def test_own_key_signs_in(client, provider, ada, monkeypatch):
    answer_with(provider, monkeypatch)
    come(client)
    assert who(client) == ada


def test_key_without_a_name_signs_in(client, provider, ada, monkeypatch):
    answer_with(provider, monkeypatch, header={})
    come(client)
    assert who(client) == ada


@pytest.mark.parametrize(
    "token",
    [
        {"key": OTHER_KEY},
        {"key": SECRET * 2, "algorithm": "HS256"},
        {"algorithm": "none"},
        {"header": {"kid": "2"}},
        {"aud": "another client"},
        {"aud": [CLIENT_ID, "another client"], "azp": "another client"},
        {"iss": "https://evil.example"},
        {"exp": 1},
        {"exp": None},
        {"iat": None},
        {"sub": None},
        {"sub": "43"},
    ],
    ids=lambda token: str(sorted(token.items(), key=str))[:50],
)
def test_unverified_id_token_is_refused(client, provider, ada, monkeypatch, token):
    answer_with(provider, monkeypatch, **token)
    refused(client)


def test_changed_id_token_is_refused(client, provider, ada, monkeypatch):
    """With the signature of another token of the same provider."""
    signature = answer_with(provider, monkeypatch, sub="7")["id_token"].rpartition(".")[2]
    answer = answer_with(provider, monkeypatch)
    answer["id_token"] = f"{answer['id_token'].rpartition('.')[0]}.{signature}"
    refused(client)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"


@pytest.mark.parametrize(
    "behaviour",
    [silent, partial(answer_each, answer=HEAD), partial(drip, begin=HEAD), partial(repeat, begin=HEAD, piece=b"a")],
    ids=["silent", "head alone", "drip", "endless"],
)
def test_answer_has_a_limit(client, provider, settings, monkeypatch, behaviour):
    """Nobody waits for the whole of it."""
    monkeypatch.setattr(oidc, "DEADLINE_S", 2.0)
    with HostileServer(behaviour) as server:
        [app] = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"]
        app["settings"]["server_url"] = f"http://127.0.0.1:{server.port}"
        start = time.monotonic()

        answer = client.post("/sso/sso/login/")

    assert answer.status_code == 401
    assert time.monotonic() - start < 10


def say_once(client, ended, answer):
    client.recv(65_536)
    client.sendall(answer)


@pytest.mark.parametrize(
    "answer",
    [
        HEAD.replace(b"\r\n\r\n", b"\r\nContent-Length: 500\r\n\r\n{}"),
        HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n{}"),
        HEAD.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\nz"),
        HEAD + b"[" * 100_000,
    ],
    ids=["cut", "not packed", "chunks", "deep"],
)
def test_damaged_answer_is_refused(client, provider, settings, answer):
    with HostileServer(partial(say_once, answer=answer)) as server:
        [app] = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"]
        app["settings"]["server_url"] = f"http://127.0.0.1:{server.port}"

        assert client.post("/sso/sso/login/").status_code == 401


def test_others_wait_while_the_provider_is_slow(client, provider):
    with oidc._slots, oidc._slots:
        assert client.post("/sso/sso/login/").status_code == 503

    assert client.post("/sso/sso/login/").status_code == 302


HOSTILE = [
    {"sub": ""},
    {"sub": "4" * 192},
    {"sub": "4\0"},
    {"sub": ["42"]},
    {"sub": {"$ne": ""}},
    {"preferred_username": "g" * 151},
    {"preferred_username": "grace\0"},
    {"preferred_username": ["grace"]},
    {"email": 7},
    {"email": ["a@example.org"]},
    {"email": f"{'a' * 250}@example.org"},
    {"email_verified": {}},
    {"name": {"first": "Grace"}},
    {"name": "G" * 151},
    {"given_name": "G" * 151},
    {"family_name": 3.5},
]


@pytest.mark.parametrize("claims", HOSTILE, ids=lambda claims: str(claims)[:40])
def test_hostile_claims_are_refused(client, provider, settings, claims):
    settings.OIDC_SIGN_UP = "everybody"
    provider.person = {**provider.person, **claims}
    refused(client)
    assert not User.objects.exists()


@pytest.mark.parametrize("verified", ["false", "0", False])
def test_address_that_is_not_verified_is_not_taken_for_one(client, provider, settings, verified):
    settings.OIDC_SIGN_UP = "everybody"
    provider.person = {**provider.person, "email_verified": verified}
    come(client)
    assert who(client).confirmed_email == ""


@pytest.mark.parametrize(
    "answer",
    [
        {"access_token": 7},
        {"access_token": "x"},
        {"access_token": "x", "id_token": 7},
        {"access_token": "x", "id_token": "x.y.z"},
        {"access_token": "x", "expires_in": "soon"},
        {"access_token": "x", "expires_in": 10**30},
        ["access_token"],
        "access_token",
        None,
    ],
    ids=json.dumps,
)
def test_malformed_token_answer_is_refused(client, provider, monkeypatch, answer):
    monkeypatch.setattr(provider, "token", lambda held: answer)
    refused(client)


@pytest.mark.parametrize(
    "keys", [{}, [], {"keys": {}}, {"keys": [7]}, {"keys": [{"kty": "RSA"}]}, None], ids=json.dumps
)
def test_malformed_keys_are_refused(client, provider, monkeypatch, keys):
    monkeypatch.setattr(provider, "keys", lambda: keys)
    refused(client)


@pytest.mark.parametrize("address", [None, [], 7, "file:///keys", "http://[::1"], ids=json.dumps)
def test_malformed_address_of_keys_is_refused(client, provider, monkeypatch, address):
    configuration = {**provider.configuration(), "jwks_uri": address}
    monkeypatch.setattr(provider, "configuration", lambda: configuration)
    refused(client)


def test_provider_without_a_name_vouches_for_nobody(client, provider, ada, monkeypatch):
    configuration = {**provider.configuration(), "issuer": None}
    monkeypatch.setattr(provider, "configuration", lambda: configuration)
    refused(client)


@pytest.mark.parametrize("address", ["javascript:alert(1)", f"https://example.org/{'a' * 100_000}"], ids=len)
def test_address_that_is_none_for_browsers_is_refused(client, provider, monkeypatch, address):
    configuration = {**provider.configuration(), "authorization_endpoint": address}
    monkeypatch.setattr(provider, "configuration", lambda: configuration)
    assert client.post("/sso/sso/login/").status_code == 401


@pytest.mark.parametrize("configuration", [[], {}, {"authorization_endpoint": 7}, None], ids=json.dumps)
def test_malformed_configuration_is_refused(client, provider, monkeypatch, configuration):
    monkeypatch.setattr(provider, "configuration", lambda: configuration)
    assert client.post("/sso/sso/login/").status_code in (302, 401)


def test_provider_that_is_down_is_a_page(client, provider, settings):
    app = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"][0]
    app["settings"] = {"server_url": "http://127.0.0.1:1"}
    assert client.post("/sso/sso/login/").status_code == 401
