"""The pages of notifications: everybody's own e-mail, and webhooks for admins alone."""

import re
import uuid

import pytest

from benchsite.accounts.models import AuditEntry, Membership, Notice, Preference, Role, Webhook
from benchsite.notifications import webhooks
from benchsite.notifications.tests.receivers import receiving
from conftest import signed_in
from runs.tests.factories import make_team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PAGE = "/team/notifications/"
FINISHED = "matrix_finished"


@pytest.fixture(autouse=True)
def loopback_allowed(settings):
    settings.WEBHOOK_NETWORKS = ["127.0.0.0/8"]


@pytest.fixture
def admins_browser(admin):
    return signed_in(admin)


@pytest.fixture
def hook(team, admin):
    made, _ = webhooks.make(team, admin, name="chat", url="http://127.0.0.1:9/hook", kinds=[FINISHED])
    return made


def get_text(answer):
    return re.sub(r"<[^>]+>", "", answer.content.decode())


def test_a_member_chooses_their_own_mail(client_in, user):
    page = client_in.get(PAGE)
    assert "This site has no mail server" in get_text(page)
    assert "checked" not in page.content.decode()
    done = client_in.post(PAGE, {"address": "runa@example.org", "kinds": [FINISHED, "regression"]}, follow=True)
    assert "Saved: you get e-mail of what you chose." in get_text(done)
    assert set(Preference.objects.values_list("membership__user__username", "kind")) == {
        ("runa", FINISHED),
        ("runa", "regression"),
    }
    client_in.post(PAGE, {"address": "runa@example.org", "kinds": []})
    assert not Preference.objects.exists()


@pytest.mark.parametrize("address", ["", "no address", "a@example.org\r\nBcc: b@example.org", "a@b@c"])
def test_mail_needs_an_address(client_in, user, address):
    refused = client_in.post(PAGE, {"address": address, "kinds": [FINISHED]})
    assert refused.status_code == 422
    assert not Preference.objects.exists()


def test_an_unknown_kind_is_refused(client_in):
    assert client_in.post(PAGE, {"address": "a@example.org", "kinds": ["weather"]}).status_code == 422


def test_an_admin_makes_a_webhook_and_sees_its_secret_once(admins_browser):
    assert "There are no webhooks." in admins_browser.get(PAGE).content.decode()
    made = admins_browser.post(
        "/team/webhooks/", {"name": "chat", "url": "http://127.0.0.1:9/hook", "kinds": [FINISHED]}
    )
    hook = Webhook.objects.get()
    [secret] = webhooks.get_secrets(hook)
    assert secret in made.content.decode()
    assert made.headers["Cache-Control"].startswith("max-age=0")
    for page in (PAGE, f"/team/webhooks/{hook.pk}/", "/team/audit/"):
        assert secret not in admins_browser.get(page).content.decode()
    assert AuditEntry.objects.get(kind="webhook_made").subject == "chat"


def test_a_refused_address_is_said_at_its_field(admins_browser, settings):
    settings.WEBHOOK_NETWORKS = []
    refused = admins_browser.post("/team/webhooks/", {"name": "x", "url": "https://127.0.0.1/", "kinds": [FINISHED]})
    assert refused.status_code == 422
    assert "127.0.0.1 is a loopback address, and lies in no network that the operator allows" in get_text(refused)
    assert not Webhook.objects.exists()


def test_another_secret_is_shown_once(admins_browser, hook):
    page = admins_browser.post(f"/team/webhooks/{hook.pk}/change/", {"rotate": "1"}).content.decode()
    new = Webhook.objects.get()
    [secret, before] = webhooks.get_secrets(new)
    assert [before] == webhooks.get_secrets(hook)
    assert secret in page
    assert before not in page


def test_a_test_says_what_came_of_it(admins_browser, hook):
    with receiving() as receiver:
        Webhook.objects.update(url=receiver.url)
        done = admins_browser.post(f"/team/webhooks/{hook.pk}/test/", follow=True)
        assert "The test arrived: “chat” answered 200." in get_text(done)
        receiver.status = 404
        done = admins_browser.post(f"/team/webhooks/{hook.pk}/test/", follow=True)
    assert "The test did not arrive. It answered 404 Not Found." in get_text(done)
    assert "A test of the webhook chat" in get_text(done)


def test_it_is_paused_switched_on_and_deleted(admins_browser, hook):
    url = f"/team/webhooks/{hook.pk}/change/"
    admins_browser.post(url, {"pause": "1"})
    assert not Webhook.objects.get().is_active
    assert "Paused" in get_text(admins_browser.get(f"/team/webhooks/{hook.pk}/"))
    admins_browser.post(url, {"resume": "1"})
    assert Webhook.objects.get().is_active
    assert "Delete the webhook “chat” with the log" in get_text(admins_browser.get(f"/team/webhooks/{hook.pk}/"))
    admins_browser.post(url, {"delete": "1"})
    assert not Webhook.objects.exists()
    assert set(AuditEntry.objects.values_list("kind", flat=True)) >= {"webhook_off", "webhook_on", "webhook_deleted"}


def test_it_is_changed(admins_browser, hook):
    admins_browser.post(
        f"/team/webhooks/{hook.pk}/", {"name": "pager", "url": "http://127.0.0.1:8/", "kinds": ["regression"]}
    )
    changed = Webhook.objects.get()
    assert (changed.name, changed.url, changed.kinds) == ("pager", "http://127.0.0.1:8/", ["regression"])
    assert webhooks.get_secrets(changed) == webhooks.get_secrets(hook)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.RUNNER])
def test_others_than_admins_see_no_webhooks(team, hook, role):
    browser = signed_in(make_user(team=team, role=role))
    assert f"/team/webhooks/{hook.pk}/" not in browser.get(PAGE).content.decode()
    assert browser.get(f"/team/webhooks/{hook.pk}/").status_code == 403
    for path in ("", f"{hook.pk}/", f"{hook.pk}/test/", f"{hook.pk}/change/"):
        assert browser.post(f"/team/webhooks/{path}", {"delete": "1"}).status_code == 403
    assert Webhook.objects.exists()


def test_another_teams_webhook_is_not_there(stranger, hook):
    for pk in (hook.pk, uuid.uuid4()):
        assert stranger.get(f"/team/webhooks/{pk}/").status_code == 404
        for path in ("", "test/", "change/"):
            assert stranger.post(f"/team/webhooks/{pk}/{path}", {"delete": "1"}).status_code == 404
    assert f"/team/webhooks/{hook.pk}/" not in stranger.get(PAGE).content.decode()
    assert Webhook.objects.exists()
    assert not Notice.objects.exists()


def test_names_are_text(admins_browser, team, admin):
    made, _ = webhooks.make(
        team, admin, name="<script>alert(1)</script>{{ 7 }}", url="http://127.0.0.1:9/<b>", kinds=[FINISHED]
    )
    for page in (PAGE, f"/team/webhooks/{made.pk}/"):
        answer = admins_browser.get(page).content.decode()
        assert "<script>alert" not in answer
        assert "&lt;script&gt;alert(1)" in answer


def test_preferences_are_of_one_team(client_in, user, team):
    client_in.post(PAGE, {"address": "runa@example.org", "kinds": [FINISHED]})
    assert Preference.objects.get().membership == Membership.objects.get(user=user, team=team)


def test_the_link_of_an_e_mail_opens_the_team_it_is_about(client_in, user, team):
    other = make_team(name="Zebra")
    Membership.objects.create(user=user, team=other, role=Role.VIEWER)
    assert "Notifications of Storage" in get_text(client_in.get(PAGE))
    assert "Notifications of Zebra" in get_text(client_in.get(f"{PAGE}?team={other.pk}", follow=True))
    foreign = make_team(name="Foreign")
    for key in (foreign.pk, "x\0", ""):
        assert "Notifications of Zebra" in get_text(client_in.get(PAGE, {"team": key}, follow=True))


def test_who_is_not_signed_in_signs_in_first(client, hook):
    assert client.get(PAGE).status_code == 302
    assert client.get(f"/team/webhooks/{hook.pk}/").status_code == 302
