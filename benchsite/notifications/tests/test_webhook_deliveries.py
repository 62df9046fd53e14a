"""A webhook gets what happened: signed, at least once, within a deadline, at the address that was checked."""

import json
import socket
import ssl
import subprocess
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from benchsite.accounts.models import AuditEntry, Delivery, Notice, Webhook
from benchsite.core.http_client import RequestFailed, parse_target, post
from benchsite.notifications import deliveries, webhooks
from benchsite.notifications.notices import note
from benchsite.notifications.tests.receivers import documented, receiving
from benchsite.notifications.webhooks import WebhookRefused

pytestmark = pytest.mark.django_db
FINISHED = "matrix_finished"


@pytest.fixture(autouse=True)
def loopback_allowed(settings):
    settings.WEBHOOK_NETWORKS = ["127.0.0.0/8"]
    settings.SITE_URL = "https://bench.example.org"


def hook(team, user, url):
    return webhooks.make(team, user, name="chat", url=url, kinds=[FINISHED])


def deliver():
    """What the loop does, once."""
    return [deliveries.attempt(delivery) for delivery in deliveries.due()]


def overdue(delivery):
    Delivery.objects.filter(pk=delivery.pk).update(next_at=timezone.now() - timedelta(seconds=1))


def test_it_tells_what_happened(team, user):
    with receiving() as receiver:
        hook(team, user, receiver.url)
        made = note(FINISHED, team, subject="Done", text="All of it", path="/matrices/1/", data={"succeeded": 3})
        [done] = deliver()
    assert (done.state, done.status_code, done.attempts, done.next_at) == ("delivered", 200, 1, None)
    [got] = receiver.got
    assert json.loads(got.body) == {
        "id": str(made.pk),
        "kind": FINISHED,
        "team": team.slug,
        "subject": "Done",
        "text": "All of it",
        "url": "https://bench.example.org/matrices/1/",
        "data": {"succeeded": 3},
        "at": Notice.objects.get().at.isoformat().replace("+00:00", "Z"),
    }
    assert got.headers["Host"] == f"127.0.0.1:{receiver.port}"
    assert got.headers["webhook-id"] == str(made.pk)
    assert deliver() == []
    assert Webhook.objects.get().last_status == "200"


def verified_in_python(secret, got, body=None):
    names = {}
    exec(documented("python"), names)
    return names["is_from_benchsite"](secret, got.headers, body or got.body)


def verified_in_shell(secret, got, folder, body=None):
    (folder / "body").write_bytes(body or got.body)
    names = {"ID": "webhook-id", "AT": "webhook-timestamp", "SIGNATURES": "webhook-signature"}
    environment = {name: got.headers[header] for name, header in names.items()}
    environment |= {"SECRET": secret, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        ["sh", "-c", documented("sh")], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() == "genuine"


def test_its_signature_passes_the_documented_checks(team, user, tmp_path):
    with receiving() as receiver:
        _, secret = hook(team, user, receiver.url)
        note(FINISHED, team, subject="Done, naïvely: 40 % “faster”")
        deliver()
    [got] = receiver.got
    assert verified_in_python(secret, got)
    assert verified_in_shell(secret, got, tmp_path)
    for other_secret, other_body in ((webhooks.new_secret(), None), (secret, got.body + b" ")):
        assert not verified_in_python(other_secret, got, other_body)
        assert not verified_in_shell(other_secret, got, tmp_path, other_body)
    for header in ("webhook-timestamp", "webhook-id"):
        altered = {**got.headers, header: "1" + got.headers[header]}
        assert not verified_in_python(secret, type(got)(got.path, altered, got.body))


def test_its_signature_is_that_of_standard_webhooks(team, user, monkeypatch):
    """Example of the specification's own test suite: https://github.com/standard-webhooks/standard-webhooks."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    made, _ = hook(team, user, "http://127.0.0.1:9/")
    Webhook.objects.filter(pk=made.pk).update(secret=secret)
    monkeypatch.setattr(webhooks.timezone, "now", lambda: datetime.fromtimestamp(1614265330, UTC))
    headers = webhooks.signed_headers(Webhook.objects.get(), "msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}')
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_for_a_day_both_secrets_sign(team, user, tmp_path):
    with receiving() as receiver:
        made, old = hook(team, user, receiver.url)
        new = webhooks.rotate(made, user)
        note(FINISHED, team, subject="Done")
        deliver()
        Webhook.objects.update(old_until=timezone.now())
        note(FINISHED, team, subject="Done again")
        deliver()
    first, second = receiver.got
    assert verified_in_python(old, first)
    assert verified_in_python(new, first)
    assert verified_in_shell(old, first, tmp_path)
    assert verified_in_python(new, second)
    assert not verified_in_python(old, second)


def test_it_is_tried_again_later_and_then_given_up(team, user):
    with receiving(status=503) as receiver:
        hook(team, user, receiver.url)
        note(FINISHED, team, subject="Done")
        for wait in deliveries.WAITS:
            [tried] = deliver()
            assert tried.state == "waiting"
            assert abs(tried.next_at - timezone.now() - wait) < timedelta(seconds=5)
            assert deliver() == []
            overdue(tried)
        [last] = deliver()
    assert (last.state, last.next_at, last.attempts) == ("given_up", None, 6)
    assert last.error == "It answered 503 Service Unavailable."
    assert Webhook.objects.get().failures == 1
    assert len({got.headers["webhook-id"] for got in receiver.got}) == 1


def test_it_arrives_once_its_receiver_is_back(team, user):
    with receiving(status=500) as receiver:
        hook(team, user, receiver.url)
        note(FINISHED, team, subject="Done")
        [tried] = deliver()
        receiver.status = 204
        overdue(tried)
        [done] = deliver()
    assert (done.state, done.attempts, done.status_code, done.error) == ("delivered", 2, 204, "")


def test_a_dead_one_is_switched_off_and_its_team_can_read_why(team, user):
    with receiving(status=500) as receiver:
        made, _ = hook(team, user, receiver.url)
        for number in range(3):
            note(FINISHED, team, subject=f"Done {number}")
            Delivery.objects.filter(state="waiting").update(attempts=5)
            assert Webhook.objects.get().is_active
            deliver()
        note(FINISHED, team, subject="Done for nobody")
    made.refresh_from_db()
    assert not made.is_active
    assert made.off_because == "3 notices in a row could not be delivered: It answered 500 Internal Server Error."
    entry = AuditEntry.objects.get(kind="webhook_off")
    assert (entry.team, entry.actor, entry.subject, entry.text) == (team, None, "chat", made.off_because)
    assert Delivery.objects.count() == 3


def test_410_gone_switches_it_off_at_once(team, user):
    with receiving(status=410) as receiver:
        hook(team, user, receiver.url)
        note(FINISHED, team, subject="Done")
        [done] = deliver()
    assert (done.state, done.attempts) == ("given_up", 1)
    assert "410 Gone" in Webhook.objects.get().off_because


def test_what_waits_for_a_paused_one_is_given_up(team, user):
    with receiving() as receiver:
        made, _ = hook(team, user, receiver.url)
        note(FINISHED, team, subject="Done")
        [taken] = deliveries.due()
        webhooks.pause(made, user)
        assert deliveries.attempt(taken).error == "The webhook was switched off."
    assert receiver.got == []
    assert Delivery.objects.get().state == "given_up"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(team, user, status):
    with receiving() as inner, receiving(status=status, headers={"Location": inner.url}) as receiver:
        hook(team, user, receiver.url)
        note(FINISHED, team, subject="Done")
        [tried] = deliver()
    assert inner.got == []
    assert tried.error.endswith("; redirects are not followed.")


def test_it_is_checked_again_before_each_sending(team, user, settings):
    with receiving() as receiver:
        hook(team, user, receiver.url)
        settings.WEBHOOK_NETWORKS = []
        note(FINISHED, team, subject="Done")
        [tried] = deliver()
    assert receiver.got == []
    assert "loopback" in tried.error
    assert tried.state == "waiting"


def test_a_name_is_resolved_once_for_check_and_connection(team, user, monkeypatch):
    """The second answer of a name that rebinds would lead elsewhere, but nobody asks for one."""
    real, hosts = socket.getaddrinfo, []

    def rebinding(host, port, *args, **options):
        if host != "hooks.example":
            return real(host, port, *args, **options)
        hosts.append(host)
        return real("127.0.0.1" if len(hosts) <= 2 else "127.0.0.9", port, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    with receiving() as receiver:
        hook(team, user, f"http://hooks.example:{receiver.port}/hook")
        note(FINISHED, team, subject="Done")
        [done] = deliver()
    assert done.state == "delivered"
    assert len(hosts) == 2  # when it was saved, and when it was sent
    assert receiver.got[0].headers["Host"] == f"hooks.example:{receiver.port}"


@pytest.mark.parametrize(
    "url",
    [
        "http://user:secret@127.0.0.1/",
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "https://",
        "https:///path",
        "https://127.0.0.1:99999/",
        "https://127.0.0.1:x/",
        "https://127.0.0.1:0/",
        "http://127.0.0.1/a b",
        "http://127.0.0.1/\r\nX-Evil: 1",
        "http://127.0.0.1/\0",
        "https://bücher.example/",
        "https://[::1/",
        "https://127.0.0.1/#x",
        "javascript:alert(1)",
    ],
)
def test_it_refuses_urls_that_are_none(team, user, url):
    with pytest.raises(WebhookRefused):
        hook(team, user, url)
    assert not Webhook.objects.exists()


def test_an_operator_names_the_only_hosts(team, user, settings):
    settings.WEBHOOK_HOSTS = ["hooks.example.org"]
    with pytest.raises(WebhookRefused, match=r"allows webhooks to hooks\.example\.org only"):
        hook(team, user, "http://127.0.0.1/")


@pytest.mark.parametrize("how", [{"delay_s": 60}, {"drips": True}])
def test_who_takes_too_long_is_left(how):
    with receiving(**how) as receiver:
        began = time.monotonic()
        with pytest.raises(RequestFailed, match=r"No answer within 0\.5 s"):
            post(parse_target(receiver.url), "127.0.0.1", b"{}", {}, deadline_s=0.5)
    assert time.monotonic() - began < 30  # not the minute that both would take


def test_a_body_that_drips_is_not_waited_for():
    with receiving(drips_body=True) as receiver:
        began = time.monotonic()
        assert post(parse_target(receiver.url), "127.0.0.1", b"{}", {}, deadline_s=0.5) == 200
        assert time.monotonic() - began < 5


def test_an_endless_answer_is_not_read(team, user):
    with receiving(body=b"x" * 50_000_000) as receiver:
        began = time.monotonic()
        assert post(parse_target(receiver.url), "127.0.0.1", b"{}", {}) == 200
    assert time.monotonic() - began < 5


def test_it_says_that_nothing_listens():
    with receiving() as receiver:
        pass
    with pytest.raises(RequestFailed, match="Nothing listens there"):
        post(parse_target(receiver.url), "127.0.0.1", b"{}", {})


def test_it_says_that_it_was_no_http():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            taken, _ = server.accept()
            with taken:
                taken.recv(65536)
                taken.sendall(b"SSH-2.0-OpenSSH\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(RequestFailed, match="no HTTP"):
            post(parse_target(f"http://127.0.0.1:{server.getsockname()[1]}/"), "127.0.0.1", b"{}", {})
        thread.join()


@pytest.mark.needs("openssl")
def test_over_https_the_certificate_must_be_of_the_name(tmp_path, monkeypatch):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=hooks.example", "-addext", "subjectAltName=DNS:hooks.example", "-keyout", key,
         "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with receiving(tls=context) as receiver:
        with pytest.raises(RequestFailed, match="certificate is not accepted"):
            post(parse_target(f"https://hooks.example:{receiver.port}/"), "127.0.0.1", b"{}", {})
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with pytest.raises(RequestFailed, match="certificate is not accepted"):
            post(parse_target(f"https://other.example:{receiver.port}/"), "127.0.0.1", b"{}", {})
        assert post(parse_target(f"https://hooks.example:{receiver.port}/"), "127.0.0.1", b"{}", {}) == 200
    assert len(receiver.got) == 1


def test_a_test_is_sent_at_once_and_once(team, user):
    with receiving(status=500) as receiver:
        made, _ = hook(team, user, receiver.url)
        webhooks.pause(made, user)
        tried = deliveries.try_webhook(made)
        assert (tried.state, tried.error) == ("given_up", "It answered 500 Internal Server Error.")
        receiver.status = 200
        assert deliveries.try_webhook(made).state == "delivered"
    assert [json.loads(got.body)["kind"] for got in receiver.got] == ["test", "test"]
    made.refresh_from_db()
    assert (made.failures, made.is_active) == (0, False)
    assert deliver() == []


def test_what_was_told_long_ago_is_forgotten(team, user):
    note(FINISHED, team, subject="Old")
    Notice.objects.update(at=timezone.now() - timedelta(days=31))
    note(FINISHED, team, subject="New")
    deliveries.expire()
    assert [notice.subject for notice in Notice.objects.all()] == ["New"]


def test_many_made_at_once_are_no_more_than_a_team_may_have(team, user, race, monkeypatch):
    monkeypatch.setattr(webhooks, "MAX_WEBHOOKS", 2)

    def make():
        try:
            return hook(team, user, "http://127.0.0.1/")
        except WebhookRefused:
            return None

    assert sum(made is not None for made in race(make, times=6)) == 2
    assert team.webhooks.count() == 2


def test_a_team_has_at_most_twenty(team, user, monkeypatch):
    monkeypatch.setattr(webhooks, "MAX_WEBHOOKS", 1)
    hook(team, user, "http://127.0.0.1/")
    with pytest.raises(WebhookRefused, match="at most 1"):
        hook(team, user, "http://127.0.0.1/")
