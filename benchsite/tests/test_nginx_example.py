"""nginx as docs/deployment.md configures it: slow clients delay no page, and uploads go through as they arrive."""

import contextlib
import os
import pwd
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from benchsite.tests.ports import free_port
from benchsite.tests.test_requests_counted_by_all_workers import Web
from benchsite.tests.test_slow_clients import ANSWERED, ATTACKS, CLIENTS, attack, delays, is_hanging, page_s

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.needs("nginx"),
]
FILES = "/generator-api/v1/clients/00000000-0000-0000-0000-000000000000/files/hdr/READ.hdr"
DOCUMENT = Path(settings.BASE_DIR) / "docs" / "deployment.md"


def documented(port: int, site: int) -> str:
    """The first server of the example, without TLS, at this port."""
    text = DOCUMENT.read_text()
    example = text[text.index("nginx:\n\n") + 8 : text.index("    server {\n        listen 80;")]
    example = re.sub(r"\n +ssl_certificate.*", "", example).replace("listen 443 ssl;", f"listen 127.0.0.1:{port};")
    return example.replace("127.0.0.1:8000", f"127.0.0.1:{site}")


def write_configuration(folder: Path, servers: str) -> Path:
    """A configuration with these servers and every file in the folder."""
    temporary = "".join(
        f"{name}_temp_path {folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    path = folder / "nginx.conf"
    path.write_text(
        f"user {pwd.getpwuid(os.geteuid()).pw_name}; daemon off;\n"
        f"pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{ access_log off;\n{temporary}{servers} }}\n"
    )
    return path


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def documented_nginx(folder: Path, site: int) -> Iterator[int]:
    """The port of an nginx in front of the site at that port."""
    port = free_port()
    path = write_configuration(folder, documented(port, site))
    assert NGINX is not None
    with subprocess.Popen([NGINX, "-p", folder, "-c", path]) as nginx:
        end = time.monotonic() + 10
        while not is_open(port):
            assert time.monotonic() < end
            time.sleep(0.05)
        yield port
        nginx.terminate()


@pytest.fixture(scope="module")
def proxied(tmp_path_factory):
    """The site behind nginx, with `port` that of nginx."""
    folder = tmp_path_factory.mktemp("nginx")
    web = Web(folder)
    web.start()
    with documented_nginx(folder, web.port) as port:
        web.port = port
        yield web
    web.part.guarded.stop()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name == "padded length" else []) for name in ATTACKS]
)
def test_slow_clients_delay_no_page(proxied, name):
    with delays(proxied) as seconds, attack(proxied.port, ATTACKS[name]) as clients:
        seconds += [page_s(proxied) for _ in range(8)]
        hanging = 0 if name in {"second request", "blank lines", "slow enrolment", "slow file"} | ANSWERED else CLIENTS
        proxied.until(lambda: sum(map(is_hanging, clients)) == hanging)


@pytest.mark.parametrize(
    ("path", "reaches_site"),
    [("/api/v1/runs", True), (FILES, True), ("/sign-in/", False), ("/generator-api/v1/register", False)],
)
def test_only_uploads_reach_the_site_before_their_end(proxied, path, reaches_site):
    """The site answers an upload without a token while its body arrives; nginx waits for the body of a form."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\n"
    with socket.create_connection(("127.0.0.1", proxied.port), timeout=5) as client:
        client.sendall(head.encode() + b"Content-Length: 50000000\r\n\r\n--x\r\n" + b"a" * 200_000)
        if reaches_site:
            assert client.recv(100).split()[1] in (b"401", b"405")
        else:
            with pytest.raises(TimeoutError):
                client.recv(100)


def test_enrolment_has_a_small_body(proxied):
    with socket.create_connection(("127.0.0.1", proxied.port), timeout=5) as client:
        client.sendall(b"POST /generator-api/v1/enrol HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n{")
        assert client.recv(100).startswith(b"HTTP/1.1 413")
