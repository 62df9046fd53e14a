"""What a load generator can reach with everything that it holds: its own queue, its own client runs, nothing else."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from celery import Celery
from django.conf import settings
from django.core.management import CommandError, call_command
from django.urls import reverse
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError, NoPermissionError

from benchsite.accounts.models import User
from benchsite.core.encryption import seal
from benchsite.core.generator_access import (
    own_redis_url,
    read_access,
    unacked_keys,
    without_user,
    write_access,
)
from benchsite.core.paths import broker_url
from benchsite.local import components
from benchsite.local.preparation import generator_environment
from benchsite.management.commands.component import component
from benchsite.tests.databases import database_url
from benchsite.tests.settings_under import python
from workers.generator import enrolment, redis_users
from workers.models import EnrolmentCode

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
ENROL = "/generator-api/v1/enrol"


def enrol(client, code):
    return client.post(ENROL, headers={"Authorization": f"Bearer {code}"})


@pytest.fixture
def credential():
    yield enrolment.make("lab-1")
    enrolment.revoke("lab-1", None)


@pytest.fixture
def own_redis(credential):
    with Redis.from_url(own_redis_url(settings.GENERATOR_REDIS_URL, credential)) as redis:
        yield redis


def test_code_enrols_once(client, capsys):
    call_command("enrolment_code", "lab-1")
    code = capsys.readouterr().out.strip()
    answer = enrol(client, code)
    assert answer["Cache-Control"] == "no-store"
    assert enrolment.find_generator(answer.json()["credential"]) == "lab-1"
    assert urlsplit(answer.json()["redis_url"]).username is None
    assert enrol(client, code).status_code == 401
    enrolment.revoke("lab-1", None)


def test_expired_and_replaced_codes_are_refused(client):
    first, second = enrolment.make_code("lab-1", None), enrolment.make_code("lab-1", None)
    assert enrol(client, first).status_code == 401
    EnrolmentCode.objects.update(expires_at="2020-01-01T00:00:00Z")
    assert enrol(client, second).status_code == 401
    third = enrolment.make_code("lab-1", None)
    enrolment.revoke("lab-1", None)
    assert enrol(client, third).status_code == 401


def test_code_in_the_body_is_refused_and_stays_valid(client):
    code = enrolment.make_code("lab-1", None)

    earlier = client.post(ENROL, json.dumps({"code": code}), content_type="application/json")
    now = enrol(client, code)

    enrolment.revoke("lab-1", None)
    assert earlier.status_code == 401 and "update this one" in earlier.json()["detail"]
    assert now.status_code == 200


def test_operators_alone_make_codes_and_revoke(client_in, user):
    address = reverse("load-generator-enrolment")
    assert client_in.post(address, {"name": "lab-1"}).status_code == 403
    User.objects.filter(pk=user.pk).update(is_staff=True)
    page = client_in.post(address, {"name": "lab-1"})
    assert page["Cache-Control"] == "no-store"
    assert page.context["code"] in page.content.decode()
    assert page.context["code"] not in client_in.get(reverse("load-generators")).content.decode()
    credential = enrol(client_in, page.context["code"]).json()["credential"]
    client_in.post(address, {"name": "lab-1", "revoke": "1"})
    assert enrolment.find_generator(credential) is None


IMAGE = {"BENCHSITE_PRODUCTION": "True", "PYTHONDONTWRITEBYTECODE": "1"}  # what the image itself sets


def test_enrols_with_nothing_but_a_code(live_server, tmp_path):
    """In the environment of the image: no database, no key; nothing is written but the credential."""
    code = enrolment.make_code("lab-1", None)
    process = python("manage.py", "enrol", live_server.url, code, var=tmp_path, **IMAGE)
    assert process.returncode == 0, process.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["generator.json"]
    path = tmp_path / "generator.json"
    assert path.stat().st_mode & 0o777 == 0o600
    access = read_access(path)
    assert access["site_url"] == live_server.url
    assert enrolment.find_generator(access["credential"]) == "lab-1"
    path.chmod(0o640)
    with pytest.raises(ValueError, match="chmod 600"):
        read_access(path)
    enrolment.revoke("lab-1", None)


def test_a_generator_without_credential_names_the_remedy(tmp_path):
    process = python("manage.py", "component", "generator", var=tmp_path, BENCHSITE_MACHINE="lab", **IMAGE)
    assert process.returncode == 1
    assert process.stderr.startswith("CommandError: This load generator has no credential. Enrol it")
    assert list(tmp_path.iterdir()) == []


def test_compose_enrols_generators_of_its_host(tmp_path, monkeypatch, settings):
    """Once for each name; each generator takes another one, and a revoked credential stays revoked."""
    monkeypatch.setenv("BENCHSITE_MACHINE", "lab")
    monkeypatch.setenv("BENCHSITE_CREDENTIALS", str(tmp_path))
    settings.GENERATOR_SITE_URL = "http://web:8000"
    settings.GENERATOR_REDIS_URL = "rediss://redis.example.org:6380/0"  # for other hosts
    call_command("prepare", generators=2)
    enrolment.revoke("lab-2", None)
    files = {path: path.read_text() for path in tmp_path.iterdir()}
    call_command("prepare", generators=2)
    assert {path: path.read_text() for path in tmp_path.iterdir()} == files
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    access = read_access(tmp_path / "lab-1.json")
    assert access["site_url"] == "http://web:8000"
    assert access["redis_url"] == without_user(settings.REDIS_URL)
    assert enrolment.find_generator(access["credential"]) == "lab-1"
    parts = [component("generator") for _ in range(2)]
    assert {part.environment["BENCHSITE_GENERATOR_FILE"] for part in parts} == set(map(str, files))
    with pytest.raises(CommandError, match="no credential"):
        component("generator")
    enrolment.revoke("lab-1", None)


def consume(url, user):
    """By Celery's own transport, with the options of a load generator."""
    app = Celery("generator", broker=broker_url(url), set_as_current=False)
    app.conf.update(broker_transport_options=unacked_keys("lab-1"), task_create_missing_queues=True)
    app.send_task("load.probe", args=["lab-1", 0, 1], queue="load.lab-1")
    messages = []
    app.amqp.queues.select(["load.lab-1"])
    with app.connection_for_read() as connection, connection.channel() as channel:
        consumer = app.amqp.TaskConsumer(channel, callbacks=[lambda body, message: messages.append((body, message))])
        with consumer:
            connection.drain_events(timeout=5)
            messages[0][1].ack()
            channel.qos.restore_visible()
    assert messages[0][0][0] == ["lab-1", 0, 1]
    log = redis_users.connection().acl_log()
    assert not [entry for entry in log if entry["username"] == user and not entry["object"].startswith("client")]


def test_own_queue_can_be_consumed(credential):
    url = own_redis_url(settings.GENERATOR_REDIS_URL, credential)
    consume(url, urlsplit(url).username)


REFUSED = [
    ("LRANGE", "load.lab-2", 0, -1),
    ("BRPOP", "load.lab-2", 1),
    ("LPUSH", "load.lab-2", "x"),
    ("BRPOP", "load.lab-10", 1),
    ("SADD", "_kombu.binding.load.lab-2", "x"),
    ("HGET", "unacked", "x"),
    ("HGET", "load.lab-2.unacked", "x"),
    ("GET", "cache2:1:x"),
    ("SET", "cache2:1:x", "x"),
    ("XRANGE", "live:x", "-", "+"),
    ("KEYS", "*"),
    ("SCAN", "0"),
    ("PUBLISH", "/0.celery.pidbox", "x"),
    ("SUBSCRIBE", "/0.celery.pidbox"),
    ("EVAL", "return 1", 0),
    ("CONFIG", "GET", "*"),
    ("ACL", "LIST"),
    ("CLIENT", "LIST"),
    ("MONITOR",),
    ("FLUSHALL",),
    ("SHUTDOWN",),
    ("REPLICAOF", "127.0.0.1", "1"),
    ("MODULE", "LIST"),
    ("SCRIPT", "LOAD", "return 1"),
    ("SCRIPT", "FLUSH"),
    ("INFO",),
]


@pytest.mark.parametrize("command", REFUSED, ids=lambda command: " ".join(map(str, command[:2])))
def test_redis_refuses_everything_else(own_redis, command):
    with pytest.raises(NoPermissionError):
        own_redis.execute_command(*command)


def test_documented_redis_user_has_the_same_limits(own_redis):
    """For a Redis whose users an operator makes, as docs/deployment.md says."""
    text = (Path(settings.BASE_DIR) / "docs" / "deployment.md").read_text()
    line = re.search(r"ACL SETUSER lab-7 (?:.*\\\n)+.*", text)[0]
    command = line.replace("\\\n", "").replace("lab-7", "lab-1")
    redis_users.connection().execute_command(*shlex.split(command))
    users = [own_redis.connection_pool.connection_kwargs["username"], "lab-1"]
    theirs, documented = (redis_users.connection().acl_getuser(user) for user in users)
    assert sorted(documented["commands"]) == sorted(theirs["commands"])
    parts = urlsplit(settings.GENERATOR_REDIS_URL)
    url = parts._replace(netloc=f"lab-1:PASSWORD@{parts.netloc.rpartition('@')[2]}").geturl()
    consume(url, "lab-1")
    with Redis.from_url(url) as redis:
        for command in REFUSED:
            with pytest.raises(NoPermissionError):
                redis.execute_command(*command)
    redis_users.connection().acl_deluser("lab-1")


def test_revoked_credential_loses_redis(own_redis):
    assert own_redis.ping()
    enrolment.revoke("lab-1", None)
    with pytest.raises(RedisConnectionError):  # or its subclass AuthenticationError
        own_redis.ping()


def test_lost_users_are_restored(own_redis, credential):
    """A Redis that was restarted knows no users."""
    user = own_redis.connection_pool.connection_kwargs["username"]
    redis_users.connection().acl_deluser(user)
    redis_users.connection().execute_command("ACL", "SETUSER", "generator-of-another-site-0", "on")
    redis_users.synchronise()
    assert own_redis.ping()
    assert redis_users.connection().acl_deluser("generator-of-another-site-0") == 1


LOOK_AROUND = """
import json, os
import django
django.setup()
from django.conf import settings
from django.db import connection
from benchsite.accounts import tenancy
tenancy.serve_all_teams()
from benchsite.core.encryption import CannotOpen, unseal
from runs.models import Run
answers = {"environment": " ".join(os.environ.values())}
try:
    Run.objects.count()
    answers["database"] = "read"
except Exception as error:
    answers["database"] = type(error).__name__
try:
    answers["secret"] = unseal(os.environ["SEALED"])
except CannotOpen:
    answers["secret"] = "sealed"
print(json.dumps(answers))
"""


def test_its_environment_reaches_no_database_and_no_secret(credential, monkeypatch):
    """A process with the environment of a load generator, started by a process with all secrets of the site."""
    secrets = {
        "BENCHSITE_SECRET_KEY": settings.SECRET_KEY,
        "DATABASE_URL": database_url(),
        "EMAIL_URL": "smtp://u:mailpw@h",
        "REDIS_URL": "redis://:redispw@h",
    }
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    part = components.load_generator("lab-1", generator_environment("lab-1", "http://127.0.0.1:1"))
    environment = {**part.environment, "SEALED": seal("hidden")}
    access = read_access(Path(environment["BENCHSITE_GENERATOR_FILE"]))
    assert enrolment.find_generator(access["credential"]) == "lab-1"
    secrets["BENCHSITE_GENERATOR_TOKEN"] = access["credential"]
    command = [sys.executable, "-c", LOOK_AROUND]
    process = subprocess.run(
        command, env=environment, cwd=settings.BASE_DIR, capture_output=True, text=True, check=True
    )
    answers = json.loads(process.stdout)
    assert answers["database"] == "ImproperlyConfigured"
    assert answers["secret"] == "sealed"
    assert not [name for name, value in secrets.items() if value in answers["environment"]]


def test_local_generators_ask_their_own_site(db, monkeypatch):
    """Where the site states its address for those of other hosts."""
    monkeypatch.setenv("BENCHSITE_SITE_URL", "https://bench.example.org")
    part = components.load_generator("lab-1", generator_environment("lab-1", "http://127.0.0.1:1"))
    code = "from django.conf import settings; print(settings.GENERATOR_SITE_URL)"
    environment = {**part.environment, "DJANGO_SETTINGS_MODULE": "benchsite.settings"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=settings.BASE_DIR, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "http://127.0.0.1:1"


def test_enrolled_host_needs_neither_key_nor_database(credential, tmp_path):
    """With nothing but the file of its enrolment, a load generator's settings hold its own access only."""
    url = "rediss://redis.example:6380/0"
    write_access(
        tmp_path / "generator.json", {"site_url": "https://b.example", "credential": credential, "redis_url": url}
    )
    names = "s.DATABASES, s.REDIS_URL, s.CELERY_BROKER_URL, s.GENERATOR_SITE_URL"
    code = f"from django.conf import settings as s; print({names})"
    environment = {
        "PATH": "/usr/bin:/bin",
        "BENCHSITE_VAR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "benchsite.settings",
    }
    command = [sys.executable, "-c", code]
    process = subprocess.run(
        command, env=environment, cwd=settings.BASE_DIR, capture_output=True, text=True, check=True
    )
    own = own_redis_url(url, credential)
    assert process.stdout.split() == ["{}", own, own, "https://b.example"]
    assert not (tmp_path / "secret-key").exists()
