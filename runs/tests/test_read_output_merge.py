"""manage.py read_output --merge: several clients' files in, one run out."""

import json

import pytest
from django.core.management import call_command

from runs.ycsb.tests.samples import DATA, corpus


def merged(capsys, *paths, as_json=True):
    call_command("read_output", "--merge", *(["--json"] if as_json else []), *map(str, paths))
    output = capsys.readouterr().out
    return json.loads(output)["merged"] if as_json else output


def files(run):
    return sorted(path for path in (DATA / run).glob("*/*") if path.suffix != ".properties")


def test_histograms_are_added_exactly(capsys):
    (run,) = merged(capsys, *files("two_clients"))
    assert (run["clients_merged"], run["merged"]) == (2, "2 of 2 clients merged")
    assert run["percentiles"] == "exact, histograms added"
    read = run["operations"]["READ"]
    assert read["count"] == 14_892 + 14_560
    assert read["returns"] == {"OK": read["count"]}
    assert "percentiles_bounds_us" not in read


def test_logs_alone_are_enough(capsys):
    (run,) = merged(capsys, *sorted((DATA / "v1_target").glob("*/READ.hdr")))
    assert (run["clients_merged"], run["operations"]["READ"]["count"]) == (2, 749 + 975)


def test_summaries_give_bounds(capsys):
    paths = [DATA / f"two_clients/{number}/summary.txt" for number in (0, 1)]
    (run,) = merged(capsys, *paths)
    read = run["operations"]["READ"]
    low, high = read["percentiles_bounds_us"]["99"]
    assert low < high
    assert "99" not in read["percentiles_us"]
    text = merged(capsys, *paths, as_json=False)
    assert "bounds, histograms missing" in text
    assert f"{low:,.0f}-{high:,.0f}" in text


def test_what_somebody_calls_one_run_is_one_run(capsys):
    """Two published outputs of one run, the second of which began two minutes later."""
    paths = [*corpus().glob("012_*"), *corpus().glob("013_*")]
    (run,) = merged(capsys, *paths)
    read = run["operations"]["READ"]
    assert (run["clients_merged"], read["count"]) == (2, 16_699 + 15_407)
    assert read["mean_us"] == pytest.approx(
        (16_699 * 3981.7847775315886 + 15_407 * 4328.689751411696) / (16_699 + 15_407)
    )
    low, high = read["percentiles_bounds_us"]["99"]
    assert 10_215 <= low <= high <= 10_927
    assert run["overlap"] == 0.0


def test_load_and_run_stay_apart(capsys):
    measured = merged(capsys, *files("load"), *files("two_clients"))
    assert [(run["phase"], run["clients_merged"]) for run in measured] == [("load", 2), ("measure", 2)]
