"""The previous release goes on working while the database has the migrations of this one already."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from django.conf import settings as site

from benchsite.tests.databases import database_url
from runs.models import Run, Upload

pytestmark = [pytest.mark.long, pytest.mark.django_db(transaction=True)]
# What was landed last. Whoever lands moves it on.
LANDED = "1ee6a45"

# Carried out by the previous release's own code: it inserts what people and workers insert, and reads its pages.
SCRIPT = """
import django
django.setup()
try:
    from benchsite.accounts.tenancy import serve_all_teams
except ImportError:  # an older release
    pass
else:
    serve_all_teams()
from django.conf import settings
settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from runs import artifacts
from runs.models import Run, Upload
from runs.tests.factories import make_load_generator, make_matrix, make_run, make_sweep, make_team, make_user

artifacts.mark_storage()
team = make_team(name="Of the previous release")
user = make_user(team=team, username="previous")
sweep = make_sweep(team=team, system="redis", mode="always")
runs = [make_run(sweep, threads=threads, throughput=1000 * threads) for threads in (2, 4, 8)]
make_run(sweep, threads=16, status="queued")
make_load_generator()
artifacts.store(runs[0], "stdout", "stdout.txt", b"of the previous release")
client = Client(SERVER_NAME="127.0.0.1")
client.force_login(user)
text = b"[OVERALL], RunTime(ms), 10110\\n[OVERALL], Throughput(ops/sec), 989.1\\n[READ], Operations, 10000\\n" \\
    b"[READ], AverageLatency(us), 812.5\\n[READ], 99thPercentileLatency(us), 2011\\n[READ], Return=OK, 10000\\n"
answer = client.post("/import/", {"files": SimpleUploadedFile("client.txt", text)})
assert answer.status_code == 302, (answer.status_code, answer.content[:300])
assert Upload.objects.get(team=team).state == "recognised"
for path in ("/", "/runs/", f"/runs/{runs[0].pk}/", f"/compare/?sweep={sweep.pk}", "/load-generators/", "/queue/",
             "/matrices/", "/histories/", answer["Location"], "/healthz"):
    answer = client.get(path, follow=True)
    print(path, answer.status_code)
    assert answer.status_code < 400 or path not in ("/", "/runs/", "/healthz", f"/runs/{runs[0].pk}/"), path
    assert answer.status_code < 500, path
"""


def previous_release(folder: Path) -> Path:
    """Its code, unpacked. The test is left out where the history has not come along."""
    archive = folder / "previous.tar"
    argv = ["git", "archive", f"--output={archive}", os.environ.get("BENCHSITE_PREVIOUS", LANDED)]
    done = subprocess.run(argv, cwd=site.BASE_DIR, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the previous release is not in this history: {done.stderr.strip()}")
    with tarfile.open(archive) as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.2 has none.
        packed.extractall(folder / "previous")
    return folder / "previous"


def test_it_inserts_and_reads_beside_this_release(tmp_path, settings):
    code = previous_release(tmp_path)
    environment = {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "benchsite.settings",
        "DATABASE_URL": database_url(),
        "REDIS_URL": settings.REDIS_URL,
        "BENCHSITE_SECRET_KEY": "k" * 60,
        "BENCHSITE_VAR": str(tmp_path / "var"),
    }
    argv = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(argv, cwd=code, env=environment, capture_output=True, text=True, check=False, timeout=170)
    assert done.returncode == 0, done.stdout + done.stderr
    assert Run.objects.filter(team__name="Of the previous release").count() == 4
    assert Upload.objects.get(team__name="Of the previous release").state == Upload.State.RECOGNISED
