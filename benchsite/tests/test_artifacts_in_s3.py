"""Artifacts in a bucket of an S3-compatible service, which runs as a process of its own."""

import hashlib
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import boto3
import pytest
from django.conf import settings as site
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from benchsite.core.artifact_storage import artifact_storage
from benchsite.tests.databases import database_url
from runs.results import artifacts
from runs.tests.factories import make_run, make_sweep

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
BUCKET, KEYS = "results", {"aws_access_key_id": "somebody", "aws_secret_access_key": "something"}


@pytest.fixture(scope="module")
def service():
    """The address of the service."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    argv = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        url = f"http://127.0.0.1:{port}"
        end = time.monotonic() + 60
        while not _answers(url):
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.1)
        yield url
        process.kill()


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=5).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


@pytest.fixture
def environment(service, monkeypatch):
    """What an operator writes into the environment; a fresh bucket is behind it."""
    s3 = boto3.resource("s3", endpoint_url=service, region_name="us-east-1", **KEYS)
    bucket = s3.create_bucket(Bucket=BUCKET)
    bucket.objects.delete()
    variables = {
        "BENCHSITE_S3_BUCKET": BUCKET,
        "BENCHSITE_S3_ENDPOINT": service,
        "BENCHSITE_S3_PREFIX": "of-the-team",
        "BENCHSITE_S3_ACCESS_KEY": KEYS["aws_access_key_id"],
        "BENCHSITE_S3_SECRET_KEY": KEYS["aws_secret_access_key"],
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return variables


@pytest.fixture
def bucket(environment, service, settings, tmp_path):
    settings.STORAGES = {**settings.STORAGES, "artifacts": artifact_storage(tmp_path)}
    return boto3.resource("s3", endpoint_url=service, region_name="us-east-1", **KEYS).Bucket(BUCKET)


def build_key(artifact) -> str:
    return f"of-the-team/{artifact.sha256[:2]}/{artifact.sha256[2:]}.zst"


def test_it_stores_reads_and_streams(bucket, tmp_path, team, client_in):
    run = make_run(make_sweep(team=team))
    small = artifacts.store(run, "stdout", "stdout.txt", b"[OVERALL], RunTime(ms), 1000\n" * 10)
    log = tmp_path / "READ.hdr"
    log.write_bytes(os.urandom(3_000_000))
    digest = hashlib.sha256(log.read_bytes()).hexdigest()
    with log.open("rb") as file:
        large = artifacts.store_pieces(run, "hdr", log.name, file.read, size=3_000_000, digest=digest)
    assert artifacts.open_artifact(small) == b"[OVERALL], RunTime(ms), 1000\n" * 10
    assert b"".join(artifacts.chunks(large.sha256)) == log.read_bytes()
    names = {bucket.key for bucket in bucket.objects.all()}
    assert names == {build_key(small), build_key(large)}
    artifacts.remove(small.sha256)
    assert len(list(bucket.objects.all())) == 1


def test_it_says_what_is_missing_and_what_is_damaged(bucket, team):
    run = make_run(make_sweep(team=team))
    kept = artifacts.store(run, "stdout", "stdout.txt", b"one line\n")
    other = artifacts.store(run, "stderr", "stderr.txt", b"another line\n")
    wrong = bucket.Object(build_key(other)).get()["Body"].read()
    bucket.put_object(Key=build_key(kept), Body=wrong)
    with pytest.raises(artifacts.ArtifactDamaged):
        artifacts.open_artifact(kept)
    artifacts.remove(other.sha256)
    with pytest.raises(FileNotFoundError):
        artifacts.chunks(other.sha256)


def test_it_is_an_oserror_when_the_service_is_away(bucket, settings, tmp_path, monkeypatch):
    monkeypatch.setenv("BENCHSITE_S3_ENDPOINT", "http://127.0.0.1:1")
    settings.STORAGES = {**settings.STORAGES, "artifacts": artifact_storage(tmp_path)}
    with pytest.raises(OSError, match="does not answer as it should"):
        artifacts.chunks("ab" * 32)
    assert "artifacts: no\n" in Client().get("/readyz").text


def test_a_worker_and_the_web_server_see_the_same(bucket, environment, tmp_path):
    """What another process stored by its environment is read here, and one with another bucket does not start."""
    with pytest.raises(ImproperlyConfigured):
        artifacts.check_storage()
    artifacts.mark_storage()
    artifacts.check_storage()
    code = (
        "import django; django.setup()\n"
        "from runs.results import artifacts\n"
        "from django.core.files.base import ContentFile\n"
        "artifacts.check_storage()\n"
        "content = artifacts.Compressing(); content.write(b'of the worker'); content.close()\n"
        "artifacts.keep_compressed(content.digest, content.compressed()); print(content.digest)\n"
    )
    worker = {
        **os.environ,
        **environment,
        "DATABASE_URL": database_url(),
        "BENCHSITE_VAR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "benchsite.settings",
    }

    def work(**changed: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-c", code]
        return subprocess.run(argv, env={**worker, **changed}, cwd=site.BASE_DIR, capture_output=True, text=True)

    done = work()
    assert done.returncode == 0, done.stderr
    assert b"".join(artifacts.chunks(done.stdout.strip())) == b"of the worker"
    elsewhere = work(BENCHSITE_S3_PREFIX="of-somebody-else")
    assert elsewhere.returncode != 0 and "is not the site's" in elsewhere.stderr
