"""A server that repeats a password in its errors: it is in nothing that leaves the load generator or the conductor."""

import contextlib
import socketserver
import threading
import uuid

import pytest
from django.conf import settings

from runs.catalog import load_catalog
from workers.generator.client import Client
from workers.generator.work_folder import ClientResult, created_work_folder
from workers.processes.process import java_argv, run_process, write_properties
from workers.provision.administration.base import Address, AdministrationError
from workers.provision.administration.program import ProgramAdministration
from workers.systems.build import build

pytestmark = pytest.mark.slow
# Nothing in the text around it tells that it is one.
PLANTED = "Zq7marker,of;a server"


class Repeating(socketserver.BaseRequestHandler):
    """Answers whatever a client of Redis says with an error that holds all of it."""

    def handle(self):
        with contextlib.suppress(OSError):
            while received := self.request.recv(4096):
                text = received.decode(errors="replace").replace("\r\n", " ")
                self.request.sendall(f"-ERR I do not know {text}\r\n".encode())


@pytest.fixture
def port():
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Repeating) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def test_message_of_the_administration_has_no_password(port):
    system = load_catalog().system("redis")
    address = Address(host="127.0.0.1", port=port, password=PLANTED)
    administration = ProgramAdministration(system, address, {"redis.password": PLANTED})

    with contextlib.closing(administration), pytest.raises(AdministrationError) as caught:
        administration.ping()

    assert "I do not know" in str(caught.value)
    assert "Zq7marker" not in str(caught.value)


def test_files_of_a_client_have_no_password(port, tmp_path):
    manifest = build(settings.YCSB_DIR)["redis"]
    properties = {"redis.host": "127.0.0.1", "redis.port": str(port), "redis.password": PLANTED}
    with created_work_folder(tmp_path, uuid.uuid4(), uuid.uuid4(), "generator-1") as folder:
        write_properties(folder.properties, properties)
        arguments = ["-t", "-P", str(folder.properties), "-db", manifest.java_class]
        run_process(
            java_argv(manifest, "benchsite.Start", arguments),
            registry=tmp_path / "guarded",
            label="client",
            stdout_path=folder.path / "stdout.txt",
            stderr_path=folder.path / "stderr.txt",
            deadline_s=60,
        )
        printed = (folder.path / "stderr.txt").read_text()
        assert PLANTED in printed  # The driver repeats what the server says.

        client = Client(None, {"order": {"binding": "redis", "properties": properties}, "label": ""}, folder, None)
        symptoms = client._symptoms()
        folder.record_result(ClientResult())

        texts = [path.read_text() for _, path in folder.files()]
    assert len(texts) == 3 and not [text for text in [symptoms, *texts] if "Zq7marker" in text or "a server" in text]
