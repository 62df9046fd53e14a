"""A person sees where they are signed in, and ends it from elsewhere."""

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from benchsite.accounts.models import AuditEntry, SignedIn
from runs.tests.factories import make_team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
NEW = "another horse, quite a correct one"


@pytest.fixture
def ada():
    return make_user(team=make_team(), username="ada")


def browser(name="Firefox"):
    client = Client(HTTP_USER_AGENT=name)
    client.post(reverse("sign-in"), {"username": "ada", "password": "correct horse"})
    return client


def is_in(client):
    return client.get(reverse("databases")).status_code == 200


def test_it_lists_every_browser_and_ends_one(ada):
    here, there = browser("Firefox"), browser("Chromium <b>")
    html = here.get(reverse("account")).content.decode()
    assert "Firefox" in html and "Chromium &lt;b&gt;" in html and html.count("this one") == 1
    other = SignedIn.objects.get(browser__startswith="Chromium")
    here.post(reverse("session-end", args=[other.pk]))
    assert is_in(here) and not is_in(there)
    assert set(AuditEntry.objects.values_list("kind", flat=True)) == {"sign_in", "session_ended"}


def test_a_session_that_is_gone_is_not_listed(ada):
    here, _ = browser("Firefox"), browser("Chromium")
    Session.objects.exclude(session_key=here.session.session_key).delete()
    assert "Chromium" not in here.get(reverse("account")).content.decode()


def test_signing_out_forgets_it(ada):
    browser().post(reverse("sign-out"))
    assert not SignedIn.objects.exists()


def test_another_persons_session_is_not_there(ada):
    browser()
    eve = Client()
    eve.force_login(make_user(username="eve"))
    assert eve.post(reverse("session-end", args=[SignedIn.objects.get(user=ada).pk])).status_code == 404


def test_a_new_password_signs_every_other_browser_out(ada):
    here, there = browser("Firefox"), browser("Chromium")
    fields = {"old_password": "correct horse", "new_password1": NEW, "new_password2": NEW}
    assert here.post(reverse("account"), {**fields, "old_password": "wrong"}).status_code == 422
    assert here.post(reverse("account"), fields).status_code == 302
    assert is_in(here) and not is_in(there)
    assert [signed_in.browser for signed_in in SignedIn.objects.all()] == ["Firefox"]
    assert "this one" in here.get(reverse("account")).content.decode()


def test_who_came_by_a_link_sets_a_first_password(ada):
    ada.set_unusable_password()
    ada.save()
    client = Client()
    client.force_login(ada)
    assert b"Set a password" in client.get(reverse("account")).content
    assert client.post(reverse("account"), {"new_password1": NEW, "new_password2": NEW}).status_code == 302


def test_a_browser_is_called_as_people_call_it(ada):
    chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"
    html = browser(chrome).get(reverse("account")).content.decode()
    assert ">Chrome 156 on Linux<" in html and f'title="{chrome}"' in html
