"""The known server of `make calibrate` is what it says, for closed-loop clients below its capacity and at it."""

import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from benchmarks.calibration import server
from benchmarks.calibration.study import CAPACITY_OPS_S, SERVICE_S, known_throughput
from benchsite.core.paths import places
from benchsite.local.embedded import EmbeddedServers
from benchsite.tests.ports import free_port

pytestmark = pytest.mark.slow
COMMAND = b"*2\r\n$7\r\nHGETALL\r\n$4\r\nnone\r\n"
WINDOW_S = 6.0


@pytest.fixture(scope="module")
def known_port():
    port = free_port()
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="bs-") as folder:
        redis = EmbeddedServers(places(Path(folder) / "redis"), logs=Path(folder), postgresql=False, careless=True)
        redis.start()
        argv = [sys.executable, "-m", server.__name__, str(port), str(redis.places.redis_socket)]
        with subprocess.Popen([*argv, str(CAPACITY_OPS_S), str(SERVICE_S)]) as known:
            yield port
            known.kill()
        redis.stop()


def connect(port):
    end = time.monotonic() + 20
    while True:
        try:
            return socket.create_connection((server.HOST, port), timeout=20)
        except ConnectionRefusedError:
            assert time.monotonic() < end
            time.sleep(0.05)


@pytest.mark.parametrize("threads", [1, 8, 32])
def test_closed_loops_get_known_throughput(known_port, threads):
    counts = [0] * threads
    begin = time.monotonic() + 1
    end = begin + WINDOW_S

    def work(number):
        with connect(known_port) as connection:
            while time.monotonic() < end:
                connection.sendall(COMMAND)
                assert connection.recv(100).startswith((b"*", b"%", b"-"))
                counts[number] += begin <= time.monotonic() < end

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    # Four standard deviations of the service times, which vary by 14 %, and 1 % for the server's own error.
    operations = known_throughput(threads) * WINDOW_S
    assert sum(counts) == pytest.approx(operations, rel=0.01 + 4 * 0.144 / operations**0.5)
