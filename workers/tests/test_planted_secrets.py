"""A driver that repeats a password in its errors: it is in nothing that leaves the load generator."""

import uuid

from workers.generator.client import Client
from workers.generator.work_folder import PRINTED_FILES, ClientResult, created_work_folder
from workers.processes.process import write_properties

# Nothing in the text around it tells that it is one.
PLANTED = "Zq7marker,of;a server"


def test_files_of_a_client_have_no_password(tmp_path):
    """Of what a driver printed, the property file, and the reason of a failure."""
    properties = {"redis.host": "127.0.0.1", "redis.password": PLANTED}
    with created_work_folder(tmp_path, uuid.uuid4(), uuid.uuid4(), "generator-1") as folder:
        write_properties(folder.properties, properties)
        message = f"site.ycsb.DBException: ERR I do not know {PLANTED}: connection refused\n"
        for name in PRINTED_FILES:
            (folder.path / name).write_text(message)
        order = {"binding": "redis", "properties": properties}
        client = Client(None, {"order": order, "label": ""}, folder, None)

        symptoms = client._symptoms()
        folder.record_result(ClientResult())

        texts = [path.read_text() for _, path in folder.files()]
    assert "I do not know" in symptoms
    assert len(texts) == 3 and not [text for text in [symptoms, *texts] if "Zq7marker" in text or "a server" in text]
