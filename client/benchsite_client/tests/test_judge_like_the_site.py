"""`benchsite judge` says of published outputs and of the cases of the field what the site says of their upload."""

from pathlib import Path

import pytest
from django.conf import settings

from benchsite_client.judging import FINDING_FIELDS, judge
from runs.tests.judged_files import files_below
from runs.uploads.api_upload import UploadRequest, judge_only
from runs.uploads.manifest import ManifestRefused, build_manifest
from runs.uploads.upload_errors import ResultRefused
from runs.uploads.upload_handlers import ReceivedFile

DATA = settings.BASE_DIR.parent / "shared" / "data"
PLACES = ("field-cases", "corpus")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.skipif(not (DATA / PLACES[0]).is_dir(), reason=f"{DATA} is not on this machine"),
]
STATED = {"system": "redis", "mode": "always", "workload": {"name": "YCSB A"}}


def list_uploads() -> list[dict[str, bytes]]:
    """Each file of the collections, and each folder of a case as clients that belong together."""
    cases = [files_below(folder) for folder in sorted((DATA / "field-cases").iterdir()) if folder.is_dir()]
    published = [{path.name: path.read_bytes()} for path in sorted((DATA / "corpus").glob("*.txt"))]
    singles = [{name: content} for case in cases if len(case) > 1 for name, content in case.items()]
    return [files for files in (*cases, *singles, *published) if files]


def arrive(name: str, content: bytes) -> ReceivedFile:
    file = ReceivedFile(name)
    file.write(content)
    return file


def judge_on_site(team, user, files, stated):
    """Findings of every run with its throughput, or the refusal's places and sentences."""
    arrived = [arrive(name, content) for name, content in files.items()]
    try:
        _, judged = judge_only(UploadRequest(team, user, "key", build_manifest(stated), arrived))
    except ResultRefused as error:
        return sorted((place.file, place.line, text) for place, text in error.faults or ())
    except ManifestRefused as error:
        return {pointer.split("/")[2] for pointer, _ in error.faults}
    return [
        (
            run.collected.merged.throughput_ops_s,
            [tuple(getattr(finding, name) for name in FINDING_FIELDS) for finding in run.findings],
        )
        for run in judged
    ]


def judge_offline(files, stated):
    report = judge(files.items(), stated)
    if report["refusals"]:
        return sorted((refusal["file"], refusal["line"], refusal["message"]) for refusal in report["refusals"])
    unknown = {entry["field"] for entry in report["missing"]} - {"mode", "hardware"}
    if unknown:
        return unknown
    return [
        (
            run["throughput_ops_s"],
            [tuple(finding[name] for name in FINDING_FIELDS) for finding in run["findings"]],
        )
        for run in report["runs"]
    ]


def test_judges_as_the_site_does(team, user, settings):
    settings.UPLOAD_AT_ONCE_BYTES = settings.UPLOAD_EXPANDED_BYTES = 1 << 30
    uploads = list_uploads()
    assert len(uploads) > 150

    judged = [(files, judge_offline(files, STATED), judge_on_site(team, user, files, STATED)) for files in uploads]

    assert [(list(files), offline, site) for files, offline, site in judged if offline != site] == []
    assert sum(isinstance(site, list) and any(len(entry) == 2 for entry in site) for _, _, site in judged) > 100


def test_what_is_not_stated_hides_no_number():
    """Without a manifest a run is judged all the same, and what is missing is named."""
    path = next(Path(DATA / "corpus").glob("001_*"))

    report = judge([(path.name, path.read_bytes())], {})

    assert [entry["field"] for entry in report["missing"]] == ["mode", "hardware"]
    assert report["runs"][0]["throughput_ops_s"] == pytest.approx(2116.4, abs=0.1)
    assert report["verdict"] == "reject"
