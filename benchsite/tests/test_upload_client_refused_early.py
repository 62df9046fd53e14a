"""The single-file client and a site that refuses a large upload before it has come."""

import os
import socket
import subprocess
import sys
import threading

import pytest
from django.conf import settings

pytestmark = pytest.mark.slow

CLIENT = settings.BASE_DIR / "static" / "benchsite-upload.py"
PROBLEM = b'{"type": "/problems/unauthenticated", "detail": "This token was revoked."}'
ANSWER = (
    b"HTTP/1.1 401 Unauthorized\r\nContent-Type: application/problem+json\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(PROBLEM), PROBLEM)
)


@pytest.fixture
def site():
    """It reads the headers, answers, and hangs up while the body is still coming. Whatever it was sent, by request."""
    listening, asked = socket.create_server(("127.0.0.1", 0)), []

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                asked.append(connection.recv(4_096))
                connection.sendall(ANSWER)

    thread = threading.Thread(target=serve)
    thread.start()
    yield listening.getsockname()[1], asked
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    thread.join()


def upload(address, folder):
    (folder / "large.txt").write_bytes(b"x" * 20_000_000)
    env = {"PATH": os.environ["PATH"], "BENCHSITE_TOKEN": "bs_secret", "BENCHSITE_URL": address, "PYTHONUTF8": "1"}
    argv = [sys.executable, str(CLIENT), "--patience", "1", "large.txt"]
    ended = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)
    return ended.returncode, ended.stdout + ended.stderr


def test_it_says_why_it_was_refused_and_does_not_try_again(site, tmp_path):
    port, asked = site
    code, said = upload(f"http://127.0.0.1:{port}", tmp_path)
    assert (code, len(asked)) == (2, 1)
    assert "This token was revoked. (HTTP 401, unauthenticated)" in said


def test_it_sends_nothing_where_no_tls_comes_about(site, tmp_path):
    port, asked = site
    code, said = upload(f"https://127.0.0.1:{port}", tmp_path)
    assert code == 3 and "the site cannot be reached" in said
    assert all(b"bs_secret" not in one and b"xxxx" not in one for one in asked)
