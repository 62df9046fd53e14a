"""A load generator fills Redis with the keys of its own queue: guards hold, and it is revoked with what it stored."""

import subprocess
import time

import pytest
from django.test import Client
from redis import Redis
from redis.exceptions import OutOfMemoryError, RedisError

from benchsite.accounts.login_throttling import MAX_PER_NAME
from benchsite.accounts.models import AuditEntry
from benchsite.core.generator_access import own_redis_url
from benchsite.rest import limits
from benchsite.tests.asking import make_program, problem
from runs.tests.factories import make_team, make_user
from workers.generator import enrolment, redis_users
from workers.generator.executables import find_redis
from workers.models import GeneratorCredential

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
START_TIMEOUT_S = 10.0


@pytest.fixture
def redis_url(work_folder, settings, monkeypatch):
    """The address of a small server with the limits of docker-compose.yml, in the place of the session's."""
    address = work_folder / "redis.sock"
    limited = ["--maxmemory", "24mb", "--maxmemory-policy", "volatile-lru"]
    argv = [find_redis()[0].path, "--port", "0", "--unixsocket", address, "--save", "", "--dir", work_folder, *limited]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as process:
        end = time.monotonic() + START_TIMEOUT_S
        while not address.exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        settings.REDIS_URL = f"unix://{address}?db=0"
        settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": settings.REDIS_URL}}
        monkeypatch.setattr(limits, "_away_until", 0.0)
        monkeypatch.setattr(limits, "_full_until", 0.0)
        with Redis.from_url(settings.REDIS_URL, decode_responses=True) as client:
            monkeypatch.setattr(redis_users, "connection", lambda: client)
            yield settings.REDIS_URL
        process.terminate()


@pytest.fixture
def attacker(redis_url):
    with Redis.from_url(own_redis_url(redis_url, enrolment.make("lab-1"))) as redis:
        yield redis


def fill(redis, key="load.lab-1"):
    """Until Redis stores nothing more."""
    with pytest.raises(OutOfMemoryError):
        for _ in range(100):
            redis.lpush(key, bytes(1 << 20))


def put(redis, key):
    redis.set(key, bytes(redis_users.MAX_QUEUE_BYTES + 1))


KEYS = {
    "load.lab-1": fill, "load.lab-1\x06\x163": fill,
    "_kombu.binding.load.lab-1": put, "load.lab-1.unacked_mutex": put,
}  # fmt: skip


def test_passwords_are_not_guessed_meanwhile(attacker):
    make_user(team=make_team(), username="ada")
    fill(attacker)

    answers = [
        Client(REMOTE_ADDR="10.1.2.3").post("/sign-in/", {"username": "ada", "password": "wrong"}).status_code
        for _ in range(MAX_PER_NAME + 15)
    ]

    assert answers == [422] * MAX_PER_NAME + [429] * 15


def test_quotas_hold_meanwhile(attacker, team, settings):
    """A counter that Redis evicts before it refuses to store begins again once, in PostgreSQL."""
    settings.API_REQUESTS_PER_MINUTE = 3
    if time.time() % limits.WINDOW_S > limits.WINDOW_S - 10:
        time.sleep(11)
    program = make_program(team)
    fill(attacker)

    answers = [program.get("/runs") for _ in range(7)]

    assert [answer.status_code for answer in answers[:3]] == [200] * 3
    problem(answers[6], 429, "quota-exceeded")


def test_requests_before_redis_was_full_count(attacker, team, settings):
    settings.API_REQUESTS_PER_MINUTE = 3
    if time.time() % limits.WINDOW_S > limits.WINDOW_S - 10:
        time.sleep(11)
    program = make_program(team)
    before = [program.get("/runs").status_code for _ in range(2)]
    with Redis.from_url(settings.REDIS_URL) as site:
        site.config_set("maxmemory-policy", "noeviction")
    fill(attacker)

    answers = [program.get("/runs") for _ in range(2)]

    assert before == [200, 200] and answers[0].status_code == 200
    problem(answers[1], 429, "quota-exceeded")


@pytest.mark.parametrize("key", KEYS)
def test_generator_that_holds_too_much_is_revoked(attacker, redis_url, key):
    """By lists, and by values in the keys of bindings and locks."""
    KEYS[key](attacker, key)

    redis_users.synchronise()

    site = redis_users.connection()
    assert not GeneratorCredential.objects.filter(revoked_at=None).exists()
    assert not site.exists(*KEYS)
    assert site.lpush("load.lab-2", "the queue goes on") == 1
    assert "Its keys in Redis held" in AuditEntry.objects.get(kind="generator_credential_revoked").text
    with pytest.raises(RedisError):
        attacker.ping()


def test_keys_beyond_the_queue_are_refused(attacker):
    for key in ("load.lab-1\x06\x16x", "load.lab-1\x06\x1633", "load.lab-1-x"):
        with pytest.raises(RedisError):
            attacker.lpush(key, "x")


def test_revoking_deletes_keys(attacker):
    attacker.lpush("load.lab-1", "x")

    enrolment.revoke("lab-1", None)

    assert not redis_users.connection().exists("load.lab-1")


def test_a_new_credential_keeps_the_queue(attacker):
    redis_users.connection().lpush("load.lab-1", "a message of the site")

    enrolment.make("lab-1")

    assert redis_users.connection().llen("load.lab-1") == 1
