"""Every file of a published report has a signature that `verify_report.py` checks offline; no changed byte passes."""

import importlib.util
import random
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings as site

from conftest import signed_in
from reports.models import Report
from reports.published.links import find_link
from reports.tests.snapshots import imported, published
from runs.tests.factories import make_team, make_user

pytestmark = pytest.mark.django_db
SCRIPT = Path(site.BASE_DIR) / "static" / "verify_report.py"
FILES = (".json", "@1.json", ".zip", "@1.zip", ".md", ".html", "/figures/ceilings.csv", "@1/tables/points.json")
TRIES = 1000


@pytest.fixture(autouse=True)
def key_file(settings, tmp_path):
    settings.SIGNING_KEY, settings.SIGNING_KEY_FILE = "", tmp_path / "signing-key"
    return settings.SIGNING_KEY_FILE


@pytest.fixture
def verifier():
    specification = importlib.util.spec_from_file_location("verify_report", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def public_keys(client):
    return client.get("/.well-known/benchsite-signing-key").content


def test_every_export_has_a_genuine_signature(team, client, verifier, key_file):
    url = f"/r/{find_link(published(team)).token}"
    keys = verifier.read_keys(public_keys(client))
    for file in FILES:
        signature = client.get(f"{url}{file}.sig")
        assert len(signature.content) == 64 and signature["Content-Disposition"].endswith('.sig"'), file
        assert verifier.is_genuine(client.get(url + file).content, signature.content, keys), file
    assert key_file.stat().st_mode & 0o777 == 0o600


def test_compressed_answers_have_the_same_signature(team, client):
    url = f"/r/{find_link(published(team)).token}@1.json.sig"
    assert client.get(url, HTTP_ACCEPT_ENCODING="gzip").content == client.get(url).content


@pytest.mark.slow
def test_any_flipped_bit_is_detected(team, client, verifier):
    """In 1,000 of 1,000 random places of the file, and in every byte of the signature."""
    url = f"/r/{find_link(published(team)).token}@1.json"
    data, signature = client.get(url).content, client.get(f"{url}.sig").content
    keys = verifier.read_keys(public_keys(client))
    assert verifier.is_genuine(data, signature, keys)
    random_places = random.Random(20261124)
    flips = [(random_places.randrange(len(data)), 1 << random_places.randrange(8)) for _ in range(TRIES)]
    accepted = [flip for flip in flips if verifier.is_genuine(flipped(data, *flip), signature, keys)]
    accepted += [at for at in range(64) if verifier.is_genuine(data, flipped(signature, at, 1), keys)]
    assert accepted == []


def flipped(data, at, bits):
    return data[:at] + bytes([data[at] ^ bits]) + data[at + 1 :]


def test_the_script_checks_files_offline(team, client, tmp_path):
    url = f"/r/{find_link(published(team)).token}"
    key, files = tmp_path / "key.pem", [tmp_path / f"report{suffix}" for suffix in (".json", ".zip")]
    key.write_bytes(public_keys(client))
    for file in files:
        file.write_bytes(client.get(url + file.suffix).content)
        Path(f"{file}.sig").write_bytes(client.get(f"{url}{file.suffix}.sig").content)
    assert exit_code(key, *files) == 0
    files[1].write_bytes(files[1].read_bytes() + b"\n")
    assert exit_code(key, *files) == 1
    assert exit_code(key, tmp_path / "absent.json") == 2
    key.write_bytes(b"no key")
    assert exit_code(key, *files) == 2


def exit_code(key, *files):
    arguments = [sys.executable, "-I", SCRIPT, "--key", key, *files]
    return subprocess.run(arguments, capture_output=True, check=False).returncode


def test_signatures_of_a_former_key_stay_genuine(team, client, verifier, settings, key_file):
    url = f"/r/{find_link(published(team)).token}@1.json"
    data, signature = client.get(url).content, client.get(f"{url}.sig").content
    settings.SIGNING_KEY = "another text of forty characters or more"
    assert not verifier.is_genuine(data, signature, verifier.read_keys(public_keys(client)))
    settings.SIGNING_KEY_FALLBACKS = [key_file.read_text()]
    assert verifier.is_genuine(data, signature, verifier.read_keys(public_keys(client)))
    assert client.get(f"{url}.sig").content != signature


def test_imported_reports_are_not_signed(team):
    """A signature states that this site published the bytes; an import could be anything."""
    original = published(team).revisions.get()
    other = make_team(name="Elsewhere")
    olga = make_user(team=other, username="olga")
    url = f"/r/{find_link(imported(other, olga, original)).token}"
    assert signed_in(olga).get(f"{url}.json").status_code == 200
    for file in FILES:
        assert signed_in(olga).get(f"{url}{file}.sig").status_code == 404, file
    assert "does not sign imported reports" in signed_in(olga).get(url).content.decode()


def test_signatures_of_private_reports_are_private(team, client):
    report = published(team, access=Report.Access.PRIVATE)
    assert client.get(f"/r/{find_link(report).token}.json.sig").status_code == 404
