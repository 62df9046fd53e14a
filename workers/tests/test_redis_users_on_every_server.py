"""The users of load generators on each Redis and Valkey of this machine, from 6.2 on."""

import subprocess
import time

import pytest
from celery import Celery
from redis import Redis
from redis.exceptions import NoPermissionError

from benchsite.core.generator_access import AccessRefused, own_redis_url, unacked_keys
from benchsite.core.paths import broker_url
from workers.generator import enrolment, redis_users
from workers.generator.executables import find_redis
from workers.models import GeneratorCredential

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
START_TIMEOUT_S = 10.0
FORBIDDEN = [
    ("KEYS", "*"),
    ("LPUSH", "load.lab-2", "x"),
    ("CONFIG", "GET", "*"),
    ("ACL", "LIST"),
    ("CLIENT", "LIST"),
    ("EVAL", "return 1", 0),
    ("PUBLISH", "/0.celery.pidbox", "x"),
    ("SCRIPT", "FLUSH"),
]


@pytest.fixture(params=find_redis(), ids=lambda server: f"{server.product} {server.version}")
def redis_url(request, work_folder, settings, monkeypatch):
    """The address of a server of its own, which takes the place of the session's."""
    address = work_folder / "redis.sock"
    argv = [request.param.path, "--port", "0", "--unixsocket", address, "--save", "", "--dir", work_folder]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as process:
        end = time.monotonic() + START_TIMEOUT_S
        while not address.exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        settings.REDIS_URL = f"unix://{address}?db=0"
        with Redis.from_url(settings.REDIS_URL, decode_responses=True) as client:
            monkeypatch.setattr(redis_users, "connection", lambda: client)
            yield settings.REDIS_URL
        process.terminate()


def test_celery_consumes_own_queue(redis_url):
    url = own_redis_url(redis_url, enrolment.make("lab-1"))
    app = Celery("generator", broker=broker_url(url), set_as_current=False)
    app.conf.update(broker_transport_options=unacked_keys("lab-1"), task_create_missing_queues=True)
    app.send_task("load.probe", args=["lab-1", 0, 1], queue="load.lab-1")
    app.amqp.queues.select(["load.lab-1"])
    bodies = []

    def acknowledge(body, message):
        bodies.append(body)
        message.ack()

    with (
        app.connection_for_read() as connection,
        connection.channel() as channel,
        app.amqp.TaskConsumer(channel, callbacks=[acknowledge]),
    ):
        connection.drain_events(timeout=5)
        channel.qos.restore_visible()

    assert bodies[0][0] == ["lab-1", 0, 1]


def test_everything_else_is_refused(redis_url):
    with Redis.from_url(own_redis_url(redis_url, enrolment.make("lab-1"))) as redis:
        for command in FORBIDDEN:
            with pytest.raises(NoPermissionError):
                redis.execute_command(*command)


def test_missing_command_is_named(redis_url, monkeypatch):
    monkeypatch.setattr(redis_users, "COMMANDS", (*redis_users.COMMANDS, "nosuchcommand"))

    with pytest.raises(AccessRefused, match="has no command nosuchcommand, which load generators need"):
        enrolment.make("lab-1")


def test_refused_rule_keeps_server_words_and_stores_nothing(redis_url, monkeypatch):
    rules = redis_users.rules
    code = enrolment.make_code("lab-1", None)

    with monkeypatch.context() as patch:
        patch.setattr(redis_users, "rules", lambda *arguments: [*rules(*arguments), "+nosuchcommand"])
        with pytest.raises(AccessRefused, match=r"lab-1: .*'\+nosuchcommand': Unknown command"):
            enrolment.enrol(code)

    assert not GeneratorCredential.objects.exists()
    assert enrolment.enrol(code), "the code is still valid"


def test_users_are_created_again_after_others_are_deleted(redis_url):
    enrolment.make("lab-1")
    enrolment.make("lab-2")
    enrolment.revoke("lab-2", None)
    redis_users.connection().acl_deluser(*(user for user in redis_users.connection().acl_users() if "lab-1" in user))

    redis_users.synchronise()

    generators = {user.rpartition("-")[0] for user in redis_users.connection().acl_users() if user != "default"}
    assert generators == {"generator-lab-1"}
