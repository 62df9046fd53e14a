"""The counts of requests that one scrape reads are those of all gunicorn's workers, dead ones too."""

import http.client
import os
import signal
import socket
import time
from pathlib import Path

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from benchsite.core.env import METRICS_FOLDER_VARIABLE
from benchsite.local import components
from benchsite.tests.databases import database_url

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
ASKED = 40


class Web:
    """gunicorn with its two workers, as `make up` starts it."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.counts, self.registry = folder / "counts", folder / "supervised"
        self.part = components.web(self.port)
        self.part.log = folder / "web.log"
        own = {"DATABASE_URL": database_url(), "BENCHSITE_DEBUG": "True", METRICS_FOLDER_VARIABLE: str(self.counts)}
        self.part.env = {**self.part.env, **own}

    def start(self) -> None:
        self.part.start(self.registry)
        self.until(lambda: self.part.ready(self.part) and len(self.workers()) == 2)

    def until(self, condition) -> None:
        end = time.monotonic() + 60
        while not condition():
            assert not self.part.died, self.part.obituary()
            assert time.monotonic() < end, self.part.log.read_text()[-3000:]
            time.sleep(0.1)

    def workers(self) -> list[int]:
        assert self.part.guarded is not None
        workers = psutil.Process(self.part.guarded.pid).children()
        return [worker.pid for worker in workers if worker.status() != psutil.STATUS_ZOMBIE]

    def get(self, path: str) -> str:
        # A connection of its own each time, so that either worker may take it.
        asking = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            asking.request("GET", path)
            return asking.getresponse().read().decode()
        finally:
            asking.close()

    def counted(self, page: str) -> float:
        return sum(
            sample.value
            for family in text_string_to_metric_families(self.get("/metrics"))
            for sample in family.samples
            if sample.name == "benchsite_http_requests_total" and sample.labels["page"] == page
        )


@pytest.fixture
def web(tmp_path):
    server = Web(tmp_path)
    server.start()
    yield server
    server.part.guarded.stop()


def test_scrape_counts_requests_of_live_and_dead_workers(web):
    before = web.counted("readyz")
    for _ in range(ASKED):
        web.get("/readyz")
    assert {web.counted("readyz") for _ in range(10)} == {before + ASKED}

    victim, survivor = web.workers()
    os.kill(victim, signal.SIGKILL)
    web.until(lambda: len(web.workers()) == 2 and victim not in web.workers())
    assert survivor in web.workers()
    web.until(lambda: {web.counted("readyz") for _ in range(10)} == {before + ASKED})
    for _ in range(ASKED):
        web.get("/readyz")
    assert {web.counted("readyz") for _ in range(10)} == {before + 2 * ASKED}
    # The new worker goes on in the place of the dead one: files never grow in number.
    assert sorted(path.name for path in web.counts.iterdir()) == [
        f"{kind}_{place}.db" for kind in ("counter", "histogram") for place in (0, 1)
    ]

    web.part.guarded.stop()
    web.start()
    assert web.counted("readyz") == 0
