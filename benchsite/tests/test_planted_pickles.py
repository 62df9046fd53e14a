"""Whoever can write to Redis executes no code in the site: no part reads a pickle."""

import pickle
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import cache
from django.urls import reverse
from kombu import Exchange, Queue
from kombu.exceptions import ContentDisallowed
from redis import Redis

from benchsite.celery import app
from reports.compare.packing import pack, unpack
from runs.tests.factories import make_run, make_sweep

FORMATS = re.compile(r"^\s*(?:import|from) (?:pickle|marshal|shelve|dill|cloudpickle)\b", re.MULTILINE)


class CreateFile:
    """Its pickle creates a file when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.fixture
def planted(tmp_path):
    """The file that a planted pickle creates, and the pickle."""
    path = tmp_path / "executed"
    return path, pickle.dumps(CreateFile(path))


@pytest.mark.django_db
@pytest.mark.slow
def test_pages_survive_pickles_in_the_cache(client_in, team, planted):
    path, data = planted
    sweep = make_sweep(team=team)
    make_run(sweep, threads=2, throughput=1000.0)
    make_run(sweep, threads=4, throughput=1900.0)
    address = f"{reverse('compare')}?v=1&sweep={sweep.pk}"
    before = client_in.get(address).content.decode()
    redis = Redis.from_url(settings.REDIS_URL)
    keys = [key for key in redis.scan_iter(f"{cache.key_prefix}*") if redis.type(key) == b"string"]
    assert any(b"reports:" in key for key in keys)
    for key in keys:
        redis.set(key, data)
    after = client_in.get(address).content.decode()
    token = re.compile(r'(?<=csrfmiddlewaretoken" value=")\w+|(?<=X-CSRFToken": ")\w+')
    assert token.sub("", after) == token.sub("", before)
    assert not path.exists()


def test_packed_values_execute_no_pickle(planted):
    path, data = planted
    with pytest.raises(ValueError):
        unpack(data, dict[str, str])
    with pytest.raises(ValueError):
        unpack(pack(data), dict[str, str])
    cache.set("planted", 1, 60)
    Redis.from_url(settings.REDIS_URL).set(cache.make_key("planted"), data)
    assert cache.get("planted") is None
    assert not path.exists()


def test_workers_refuse_pickled_messages(planted):
    """The consumer of a worker decodes JSON only."""
    path, _ = planted
    app.send_task("load.client", args=[CreateFile(path)], queue="load.planted", serializer="pickle")
    refused = []
    with app.connection_for_read() as connection, connection.channel() as channel:
        queue = Queue("load.planted", Exchange("load.planted"), routing_key="load.planted")
        with app.amqp.TaskConsumer(channel, queues=[queue], on_decode_error=lambda _, error: refused.append(error)):
            connection.drain_events(timeout=5)
    assert [type(error) for error in refused] == [ContentDisallowed]
    assert not path.exists()


def test_no_module_reads_pickles():
    root = Path(settings.BASE_DIR)
    sources = [
        path for package in ("benchsite", "runs", "workers", "reports") for path in (root / package).rglob("*.py")
    ]
    readers = [path for path in sources if "tests" not in path.parts and FORMATS.search(path.read_text())]
    assert readers == []
