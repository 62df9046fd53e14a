"""An upload as large as the limit passes the web server as it arrives, and pages answer meanwhile."""

import http.client
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, repeat

import pytest
from django.conf import settings

from benchsite.tests.test_requests_counted_by_all_workers import Web
from benchsite.tests.test_slow_clients import MAX_DELAY_S, page_s
from runs.tests.programs import MANIFEST, MULTIPART, get_token

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.django_db(transaction=True)]
POINTS = b"READ,1700000000000,350\n" * 50_000
HEAD = (
    f'--a-boundary\r\nContent-Disposition: form-data; name="manifest"\r\n\r\n{json.dumps(MANIFEST)}\r\n'
    '--a-boundary\r\nContent-Disposition: form-data; name="files"; filename="points.csv"\r\n\r\n'
).encode()
END = b"\r\n--a-boundary--\r\n"


@pytest.fixture
def web(tmp_path):
    server = Web(tmp_path)
    server.part.env["BENCHSITE_INCOMING"] = str(tmp_path / "incoming")
    server.start()
    yield server
    server.part.guarded.stop()
    shutil.rmtree(tmp_path / "incoming")


def test_pages_answer_during_an_upload_of_the_limit(web, team, user, tmp_path):
    pieces = settings.MAX_UPLOAD_BYTES // len(POINTS)
    headers = {
        "Authorization": f"Bearer {get_token(team, user)}",
        "Content-Type": MULTIPART,
        "Content-Length": str(len(HEAD) + pieces * len(POINTS) + len(END)),
        "Idempotency-Key": "largest",
    }
    client = http.client.HTTPConnection("127.0.0.1", web.port, timeout=200)

    def upload():
        client.request("POST", "/api/v1/runs", chain([HEAD], repeat(POINTS, pieces), [END]), headers)
        return client.getresponse().status

    for _ in range(8):  # A worker's first page loads templates.
        page_s(web)
    with ThreadPoolExecutor(1) as pool:
        status, seconds = pool.submit(upload), []
        while not status.done():
            seconds.append(page_s(web))
        assert status.result() == 202
    client.close()
    stored = [path.stat().st_size for path in (tmp_path / "incoming").rglob("*") if path.is_file()]
    assert stored == [pieces * len(POINTS)] and stored[0] > 0.99 * 2**30
    assert len(seconds) > 10 and max(seconds) < MAX_DELAY_S
