"""Codes of an authenticator app and recovery codes: on and off, asked for at every way in, required by a site."""

import re
import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, generate_totp_secret, hotp_value
from django.test import Client

from benchsite.accounts.login_throttling import MAX_PER_NAME
from benchsite.accounts.models import AuditEntry, Counter, User
from benchsite.accounts.second_factor import encrypt_again
from benchsite.accounts.sign_in_link import make_link
from runs.tests.factories import make_team, make_user
from runs.tests.programs import Program

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
CODE, ON, OFF = "/sign-in/code/", "/account/second-factor/on/", "/account/second-factor/off/"
RECOVERY, RENEW = "/account/recovery-codes/", "/account/recovery-codes/new/"


def make_code(secret, *, steps=0):
    """Of now, or of so many times 30 s later."""
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps))


@pytest.fixture
def ada():
    return make_user(team=make_team(), username="ada")


@pytest.fixture
def secret(ada):
    """Ada has a second factor."""
    secret = generate_totp_secret()
    TOTP.activate(ada, secret)
    RecoveryCodes.activate(ada)
    return secret


@pytest.fixture
def recovery_codes(secret):
    return Authenticator.objects.get(type="recovery_codes").wrap().generate_codes()


def sign_in(client=None, *, code=None, **fields):
    """The browser, and the last answer."""
    client = client or Client()
    response = client.post("/sign-in/", {"username": "ada", "password": "correct horse", **fields})
    if code is not None:
        response = client.post(CODE, {"code": code})
    return client, response


def is_in(client):
    return client.get("/account/").status_code == 200


def state_password(client, password="correct horse", *, next_page=ON):
    return client.post(f"/account/password/?next={next_page}", {"old_password": password})


def count_audited(kind, **fields):
    return AuditEntry.objects.filter(kind=kind, **fields).count()


def test_person_switches_it_on(ada, django_capture_on_commit_callbacks):
    client, _ = sign_in()
    assert client.get(ON)["Location"].startswith("/account/password/")
    assert state_password(client, "wrong").status_code == 422
    assert state_password(client)["Location"] == ON

    page = client.get(ON).content.decode()
    secret = re.search(r'<code id="key">(\w+)</code>', page)[1]
    assert 'src="data:image/svg+xml;base64,' in page
    assert client.post(ON, {"code": "000000"}).status_code == 422
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(ON, {"code": make_code(secret)})

    assert answer["Location"] == RECOVERY
    assert len(re.findall(r"^\d{8}$|(?<=>)\d{8}$", client.get(RECOVERY).content.decode(), re.M)) == 10
    assert not re.findall(r"\b\d{8}\b", client.get(RECOVERY).content.decode())
    assert "On since" in client.get("/account/").content.decode()
    assert count_audited("second_factor_on", actor=ada) == 1
    # The code that switched it on signs nobody in.
    assert sign_in(code=make_code(secret, steps=1))[1].status_code == 302
    assert secret not in str(Authenticator.objects.values_list("data", flat=True))


def test_password_alone_does_not_sign_in(ada, secret):
    client, response = sign_in(next="/databases/")
    assert response["Location"] == CODE
    assert not is_in(client)
    assert client.post(CODE, {}).status_code == 422
    assert client.post(CODE, {"code": "000000"}).status_code == 422
    assert not is_in(client)
    assert count_audited("sign_in") == 0
    assert count_audited("sign_in_refused", subject="ada") == 1

    assert client.post(CODE, {"code": make_code(secret)})["Location"] == "/databases/"
    assert is_in(client)
    assert count_audited("sign_in", actor=ada) == 1


def test_code_is_refused_without_a_password(ada, secret):
    client = Client()
    assert client.get(CODE)["Location"] == "/sso/sign-in/"
    assert client.post(CODE, {"code": make_code(secret)})["Location"] == "/sso/sign-in/"
    assert not is_in(client)


def test_code_signs_in_once(ada, secret):
    code = make_code(secret)
    assert is_in(sign_in(code=code)[0])
    for repeated in (code, f"{code[:3]} {code[3:]}"):
        client, response = sign_in(code=repeated)
        assert response.status_code == 422
        assert not is_in(client)
    assert is_in(sign_in(code=make_code(secret, steps=1))[0])


def test_code_that_switched_it_on_signs_nobody_in(ada):
    client, _ = sign_in()
    state_password(client)
    secret = re.search(r'<code id="key">(\w+)</code>', client.get(ON).content.decode())[1]
    code = make_code(secret)
    client.post(ON, {"code": code})
    assert sign_in(code=code)[1].status_code == 422


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["app", "recovery"])
def test_code_stated_twice_at_once_signs_in_once(ada, secret, recovery_codes, kind, race):
    browsers = [sign_in()[0] for _ in range(4)]
    code = make_code(secret) if kind == "app" else recovery_codes[0]
    answers = race(lambda: browsers.pop().post(CODE, {"code": code}).status_code, times=4)
    assert sorted(answers) == [302, 422, 422, 422]


def test_recovery_code_signs_in_once(ada, recovery_codes):
    assert is_in(sign_in(code=recovery_codes[0])[0])
    Counter.objects.all().delete()  # Also after its count has ended.
    assert sign_in(code=recovery_codes[0])[1].status_code == 422
    assert is_in(sign_in(code=recovery_codes[1])[0])
    assert count_audited("recovery_code_used", actor=ada) == 2


def test_new_recovery_codes_end_the_earlier_ones(ada, secret, recovery_codes, django_capture_on_commit_callbacks):
    client, _ = sign_in(code=make_code(secret))
    assert client.post(RENEW)["Location"].startswith("/account/password/")
    assert state_password(client, next_page=RENEW).status_code == 302
    with django_capture_on_commit_callbacks(execute=True):
        assert client.post(RENEW)["Location"] == RECOVERY
    code = re.search(r"\b\d{8}\b", client.get(RECOVERY).content.decode())[0]

    assert count_audited("recovery_codes_renewed", actor=ada) == 1
    assert sign_in(code=recovery_codes[0])[1].status_code == 422
    assert is_in(sign_in(code=code)[0])


def test_person_switches_it_off_with_the_password(ada, secret):
    client, _ = sign_in(code=make_code(secret))
    assert client.get(RECOVERY)["Location"].startswith("/account/password/")
    assert client.post(OFF)["Location"].startswith("/account/password/")
    assert Authenticator.objects.count() == 2
    state_password(client, next_page=OFF)
    client.post(OFF)

    assert not Authenticator.objects.exists()
    assert count_audited("second_factor_off", actor=ada, subject="ada") == 1
    assert is_in(sign_in()[0])


def test_wrong_codes_are_limited(ada, secret):
    """For the account: neither another browser nor another address helps."""
    client, _ = sign_in()
    for number in range(MAX_PER_NAME):
        assert client.post(CODE, {"code": f"x{number}"}).status_code == 422
    refused = client.post(CODE, {"code": make_code(secret)})
    assert (refused.status_code, refused["Retry-After"]) == (429, "900")
    assert sign_in(Client(REMOTE_ADDR="192.0.2.7"), code=make_code(secret))[1].status_code == 429


def test_wrong_passwords_are_limited_where_it_is_stated_again(ada):
    client = Client()
    client.force_login(ada)
    for _ in range(MAX_PER_NAME):
        assert state_password(client, "wrong").status_code == 422
    assert state_password(client).status_code == 429


def test_one_time_link_asks_for_a_code(ada, secret, settings):
    settings.EMBEDDED = True
    client = Client()
    response = client.post(make_link(ada))
    assert (response["Location"], response["Referrer-Policy"]) == (CODE, "no-referrer")
    assert not is_in(client)
    client.post(CODE, {"code": make_code(secret)})
    assert is_in(client)


@pytest.mark.parametrize("way", ["password", "link"])
def test_site_requires_it(ada, settings, way):
    settings.REQUIRE_SECOND_FACTOR = settings.EMBEDDED = True
    client = Client()
    if way == "link":
        client.post(make_link(ada))
    else:
        sign_in(client)
    for page in ("/", "/account/", "/databases/", "/help/", "/admin/"):
        assert client.get(page)["Location"] == ON
    assert client.post("/team/new/", {"name": "Mine"})["Location"] == ON
    assert client.get("/api/v1/openapi.json")["Location"] == ON
    assert Program(ada.teams.get(), ada).get("/api/v1/runs").status_code == 200

    state_password(client)
    page = client.get(ON).content.decode()
    assert "This site requires a second factor" in page
    client.post(ON, {"code": make_code(re.search(r'<code id="key">(\w+)</code>', page)[1])})

    assert is_in(client)
    assert client.get("/databases/").status_code == 200


def test_person_who_must_set_it_up_can_sign_out(ada, settings):
    settings.REQUIRE_SECOND_FACTOR = True
    client, _ = sign_in()
    assert client.post("/sign-out/")["Location"] == "/sign-in/"
    assert client.get("/sign-in/").status_code == 200


def test_admin_is_no_way_around_it(ada, secret):
    User.objects.update(is_staff=True, is_superuser=True)
    client = Client()
    form = {"username": "ada", "password": "correct horse"}
    for response in (client.get("/admin/login/?next=/admin/"), client.post("/admin/login/?next=/admin/", form)):
        assert response["Location"] == "/sign-in/?next=%2Fadmin%2F"
    assert client.get("/admin/").status_code == 302
    sign_in(client, code=make_code(secret), next="/admin/")
    assert client.get("/admin/").status_code == 200


def test_operator_removes_a_lost_one(ada, secret):
    olga = make_user(username="olga", is_staff=True, is_superuser=True)
    operator = Client()
    operator.force_login(olga)
    key = Authenticator.objects.get(type="totp").pk
    page = f"/admin/mfa/authenticator/{key}/"
    content = operator.get(f"{page}change/").content.decode()
    assert Authenticator.objects.get(pk=key).data["secret"] not in content
    assert operator.post(f"{page}delete/", {"post": "yes"}).status_code == 302

    assert not Authenticator.objects.exists()
    assert count_audited("second_factor_off", actor=olga, subject="ada") == 1
    assert is_in(sign_in()[0])


def test_new_key_of_the_site_encrypts_again(ada, secret, recovery_codes, settings):
    former, settings.SECRET_KEY = settings.SECRET_KEY, "another key of the same site, as long as the former one"
    settings.SECRET_KEY_FALLBACKS = [former]
    assert [encrypt_again(), encrypt_again()] == [2, 0]
    settings.SECRET_KEY_FALLBACKS = []
    assert is_in(sign_in(code=make_code(secret))[0])
    settings.SECRET_KEY = "a third one, and the operator has removed the second one too early"
    response = sign_in(code=make_code(secret, steps=1))[1]
    assert response.status_code == 422
    assert b"Ask an operator" in response.content
