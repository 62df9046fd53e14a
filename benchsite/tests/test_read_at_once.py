"""Small files read in memory give the numbers that the import page gives, and hold no secrets."""

import gzip

import pytest

from benchmarks.speed.uploads import typical
from runs.checks.team_thresholds import get_thresholds
from runs.results.recording.client_merge import merge_upload
from runs.tests.importing import DATA, bring, import_folder, save, sent, summary
from runs.uploads.file_pipeline import recognise
from runs.uploads.inline import TooMuchAtOnce, read_at_once
from runs.uploads.judgement import judge_by
from runs.uploads.reads import runs_in
from runs.ycsb.errors import LimitExceeded

pytestmark = pytest.mark.slow

__all__ = ["import_folder"]
FOLDERS = (
    "hdrhistogram_verbose", "two_clients", "intended", "histogram", "raw_file", "go_ycsb/json", "go_ycsb/plain",
    "go_ycsb/errors", "killed", "target",
)  # fmt: skip


def list_files(folder):
    return [(path.name, path.read_bytes()) for path in sorted(folder.rglob("*")) if path.is_file()]


def numbers(found):
    merged = found.merged
    return (
        merged.throughput_ops_s,
        merged.operations,
        [(series.operation, series.kind, series.interval_s, series.points.tobytes()) for series in found.series],
        [(name, content.digest) for name, content in found.intervals.items()],
    )


@pytest.mark.django_db
@pytest.mark.usefixtures("import_folder")
@pytest.mark.parametrize("files", [*FOLDERS, "typical"])
def test_it_gives_what_the_import_page_gives(client_in, files):
    brought = (
        [(name, content) for name, content in typical(3).files]
        if files == "typical"
        else [
            file for file in list_files(DATA / files) if file[0].endswith((".txt", ".hdr", ".log", ".json", ".out", ""))
        ]
    )
    upload = bring(client_in, *(sent(name, content) for name, content in brought))
    reads = read_at_once(brought)
    recognised = recognise(reads, "told")["files"]
    assert [file["error"] for file in recognised] == [file["error"] for file in upload.recognised["files"]]
    runs = list(save(client_in, upload).runs.order_by("position"))
    assert runs
    for run in runs:
        by_page = run.measurement_sets.get()
        once = merge_upload(runs_in(reads, "told")[run.position], reads, run.spec)
        assert once.merged.throughput_ops_s == by_page.throughput_ops_s
        thresholds = get_thresholds(run.team_id, run.spec["purpose"])
        findings = judge_by(thresholds, run.spec, once.merged, once.series)
        assert [(f.check_id, f.severity) for f in findings] == [
            (f.check_id, f.severity) for f in by_page.findings.order_by("id")
        ]
        stored = {artifact.name: artifact.sha256 for artifact in run.artifacts.filter(kind="intervals")}
        assert {name: content.digest for name, content in once.intervals.items()} == stored


def test_both_ways_of_merging_give_the_same_numbers(settings):
    """In memory, and from the logs decoded piece by piece."""
    from dataclasses import replace

    from runs.uploads.file_pipeline import read_members

    whole = read_at_once([(name, content) for name, content in typical(1).files])
    by_pieces = read_members(list(whole.members.values()))
    spec = {"phase": "measure", "window": {"warmup_s": 3}}
    first, second = (merge_upload(runs_in(reads, "told")[0], reads, spec) for reads in (whole, by_pieces))
    assert numbers(replace(first))[2:] == numbers(second)[2:]
    assert first.merged.throughput_ops_s == second.merged.throughput_ops_s


def test_it_takes_secrets_out():
    (member,) = read_at_once([("a.txt", summary() + b"-p redis.password=hush\n")]).members.values()
    assert b"hush" not in member.content
    assert member.redacted_lines == 1


def test_it_refuses_what_is_packed_too_tightly():
    with pytest.raises(LimitExceeded):
        read_at_once([("a.gz", gzip.compress(b"\0" * 200_000_000))], most_expanded=1 << 40)


def test_it_leaves_what_unpacks_to_much_to_a_worker():
    with pytest.raises(TooMuchAtOnce):
        read_at_once([("a.txt", summary()), ("b.gz", gzip.compress(summary() * 40))], most_expanded=9_000)


def test_names_are_labels():
    reads = read_at_once([("../../etc/passwd", summary()), ("../../etc/passwd", summary(reads=7))])
    assert sorted(reads.members) == ["../../etc/passwd", "../../etc/passwd (2)"]
