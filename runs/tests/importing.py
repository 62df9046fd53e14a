"""What tests of imports share: storages of their own, files to upload, and the form filled in."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.files.storage import storages
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from runs.models import Upload
from runs.uploads.run_grouping import MAX_SHARE_OFF, count_operations, get_shares
from runs.ycsb.properties import PROPORTIONS

DATA = Path(__file__).parent.parent / "ycsb" / "tests" / "data"
CORPUS = django_settings.BASE_DIR.parent / "shared" / "data" / "corpus"
# A summary of YCSB 0.17.0 with everything that a reader looks for.
SUMMARY = """\
Command line: -db site.ycsb.db.RedisClient -P workloads/workloada -p redis.host=10.0.0.1 -threads 8 -t
YCSB Client 0.17.0
[OVERALL], RunTime(ms), 10000
[OVERALL], Throughput(ops/sec), {throughput}
[READ], Operations, {reads}
[READ], AverageLatency(us), 412.5
[READ], MinLatency(us), 101
[READ], MaxLatency(us), 9007
[READ], 95thPercentileLatency(us), {p95}
[READ], 99thPercentileLatency(us), {p99}
[READ], Return=OK, {reads}
[UPDATE], Operations, {updates}
[UPDATE], AverageLatency(us), 530.25
[UPDATE], MinLatency(us), 150
[UPDATE], MaxLatency(us), 10015
[UPDATE], 95thPercentileLatency(us), 900
[UPDATE], 99thPercentileLatency(us), 1500
[UPDATE], Return=OK, {updates}
"""


@pytest.fixture
def import_folder(settings: Any, tmp_path: Path) -> Path:
    """Both storages of this test only: incoming and artifacts."""
    settings.INCOMING_DIR = tmp_path / "incoming"
    settings.STORAGES = {
        **settings.STORAGES,
        "artifacts": _folder(tmp_path / "artifacts"),
        "incoming": _folder(tmp_path / "incoming", file_permissions_mode=0o600, directory_permissions_mode=0o700),
    }
    for name in ("artifacts", "incoming"):
        storages._storages.pop(name, None)  # type: ignore[attr-defined]
    return tmp_path


def list_paths(folder: Path) -> list[str]:
    """Of all files below it."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def _folder(location: Path, **options: Any) -> dict[str, Any]:
    backend = "django.core.files.storage.FileSystemStorage"
    return {"BACKEND": backend, "OPTIONS": {"location": location, **options}}


def summary(**changes: Any) -> bytes:
    numbers = {"reads": 50_000, "updates": 50_000, "p95": 700, "p99": 1200} | changes
    numbers.setdefault("throughput", (numbers["reads"] + numbers["updates"]) / 10)
    return SUMMARY.format(**numbers).encode()


def sent(name: str, content: bytes | str) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content if isinstance(content, bytes) else content.encode())


def corpus(name: str) -> SimpleUploadedFile:
    """A file that somebody else published; the test is skipped where the collection is not there."""
    path = next(CORPUS.glob(f"{name}*"), None)
    if path is None:
        pytest.skip(f"{CORPUS} holds no {name}: the published outputs are not here")
    return sent(path.name, path.read_bytes())


def zipped(folder: Path, name: str = "results.zip") -> SimpleUploadedFile:
    """A folder with all in it as one archive."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return zipped_files({str(path.relative_to(folder)): path.read_bytes() for path in paths}, name)


def zipped_files(files: Mapping[str, bytes], name: str = "results.zip") -> SimpleUploadedFile:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return sent(name, packed.getvalue())


def bring(client: Client, *files: SimpleUploadedFile) -> Upload:
    """Upload files together; the import they became."""
    response = client.post("/import/", {"files": list(files)})
    assert response.status_code == 302, response.content.decode()[-3000:]
    return Upload.objects.get(pk=response["Location"].split("/")[-2])


def answers(upload: Upload, **changes: Any) -> dict[str, Any]:
    """The form of an import, filled in for every run in it."""
    filled: dict[str, Any] = {
        "mode": "redis:always",
        "database": "Redis",
        "workload": "",
        "workload_name": "YCSB A",
        "properties": f"{state_mix(upload)}requestdistribution=zipfian",
        "records": "100000",
        "purpose": "measured",
    }
    for number, run in enumerate(upload.recognised["runs"]):
        hints: Mapping[str, Any] = run["hints"]
        filled |= {
            f"run-{number}-keep": "on",
            f"run-{number}-phase": run["phase"] or "measure",
            f"run-{number}-threads": str(hints["threads"] or 8),
            f"run-{number}-target": str(hints["target_ops_s"] or ""),
        }
    return filled | changes


def state_mix(upload: Upload) -> str:
    """Those of workload A, or of the first measured run where that had others; as lines of properties."""
    workload_a = {"READ": 0.5, "UPDATE": 0.5}
    counted = filter(None, (count_operations(run) for run in upload.recognised["runs"]))
    shares = get_shares(next(counted, {})) or workload_a
    if shares.keys() == workload_a.keys() and all(abs(share - 0.5) < MAX_SHARE_OFF for share in shares.values()):
        shares = workload_a
    return "".join(f"{name}={shares[operation]}\n" for name, operation in PROPORTIONS.items() if operation in shares)


def save(client: Client, upload: Upload, **changes: Any) -> Upload:
    """Complete an import and save it."""
    response = client.post(f"/import/{upload.pk}/", answers(upload, **changes))
    assert response.status_code == 302, response.content.decode()[-6000:]
    upload.refresh_from_db()
    return upload
