"""The plans of the published studies: what ships, what is refused, how they are scaled, what a plan does otherwise."""

import dataclasses

import pytest

from runs.catalog import load_catalog
from runs.catalog.toml_table import CatalogError
from runs.studies import studies
from runs.studies.deviations import Chosen, ChosenEntry, deviations
from runs.studies.scaling import MAX_RECORDS, Machine, scaled
from runs.studies.templates import FOLDER, UnknownScenario, UnknownTemplate, read_template, template_of, templates

THUMBTACK = (FOLDER / "thumbtack-2013.toml").read_text("utf-8")
LADDER_2013 = (
    1, 2, 4, 6, 8, 10, 15, 20, 25, 30, 35, 40, 45, 50, 75, 100, 125, 150, 175, 200, 250, 300, 350, 400, 450,
)  # fmt: skip


def test_each_study_has_a_template():
    assert {template.slug for template in templates()} == {study.slug for study in studies()}
    assert [template.year for template in templates()] == sorted(template.year for template in templates())


def test_thumbtack_2013_is_the_study_plan():
    durable, fast = template_of("thumbtack-2013").scenarios
    for scenario, records in ((durable, 500_000_000), (fast, 50_000_000)):
        assert scenario.rungs == tuple(1000 * rung for rung in LADDER_2013)
        assert (scenario.ladder, scenario.threads, scenario.measure_s) == ("target", 256, 600)
        assert [(w.short_name, w.records) for w in scenario.workloads] == [("A", records), ("B", records)]
        assert scenario.workloads[1].properties["readproportion"] == "0.95"
    assert [part.slug for part in durable.parts if not part.runs] == ["couchbase-1", "couchbase-2"]


def test_templates_of_four_studies_match_their_plans():
    """Thumbtack 2014, Aerospike 2017, Vari 2013 and Columbia 2016."""
    scaling = template_of("thumbtack-2014").scenario()
    assert (scaling.nodes, scaling.records, scaling.per_node) == ((4, 6, 8), 20_000_000, True)
    assert (scaling.warmup_s, scaling.measure_s, scaling.repeats) == (60, 300, 2)
    assert scaling.workloads[0].properties["fieldlength"] == "150"
    primary, modified = template_of("aerospike-2017").scenarios
    assert primary.warmup_s + primary.measure_s == 12 * 3600
    assert (primary.records, modified.records, primary.rungs) == (1_000_000_000, 215_000_000, (4 * 90,))
    assert [s.workloads[0].properties["requestdistribution"] for s in (primary, modified)] == ["uniform", "zipfian"]
    get = template_of("vari-2013").scenario("get")
    assert (get.rungs, get.workloads[0].properties["readproportion"]) == ((20 * 8,), "1.0")
    mixes = template_of("columbia-2016").scenario("mixes")
    assert [w.short_name for w in mixes.workloads] == list("ABCDE")
    assert mixes.workloads[4].properties["updateproportion"] == "0.95"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('ladder = "target"', 'ladder = "steps"', "must be one of threads, target"),
        ("nodes = [4]", "nodes = [0]", "whole numbers, 1 or more"),
        ("nodes = [4]", "nodes = []", "whole numbers, 1 or more"),
        ("threads = 256", "", "threads belongs to a ladder of targets"),
        ("rungs = [1_000, 2_000", "rungs = [2_000, 1_000", "must ascend"),
        ('mode = "all"', 'mode = "al"', "Did you mean 'all'"),
        ("[scenarios.durable.parts.aerospike]", "[scenarios.durable.parts.aerspike]", "no system 'aerspike'"),
        ('workloads = ["A", "B"]', 'workloads = ["A", "Z"]', "no workload 'Z'"),
        ('readproportion = "0.5"', 'readpropotion = "0.5"', "readproportion"),
        ("repeats = 1", "repeates = 1", "repeates"),
        ('guarantee = "durable"', 'guarantee = "safe"', "must be one of durable, fast"),
        ("records = 500_000_000", "records = 0", "recordcount is 0"),
        ('slug = "thumbtack-2013"', 'slug = "Thumbtack 2013"', "small letters"),
        ("[workloads.A]", "[workloads.A", "test.toml"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(old, new, message):
    assert old in THUMBTACK
    with pytest.raises(CatalogError, match=r"test\.toml") as refused:
        read_template(THUMBTACK.replace(old, new, 1), "test.toml", load_catalog())
    assert message in str(refused.value)


def test_unknown_names_are_answered_with_the_nearest():
    with pytest.raises(UnknownTemplate, match="thumbtack-201"):
        template_of("thumbtack-2031")
    with pytest.raises(UnknownScenario, match="durable"):
        template_of("thumbtack-2013").scenario("durble")


@pytest.mark.parametrize("cores", [1, 2, 64])
@pytest.mark.parametrize("memory", [1 << 26, 4 << 30, 1 << 40])
@pytest.mark.parametrize("clients", [1, 2, 40])
def test_small_fits_any_machine(cores, memory, clients):
    machine = Machine(cores, memory, clients)
    for template in templates():
        for study in template.scenarios:
            here = scaled(template, "small", study.slug, machine).scenario
            assert 1 <= here.records <= MAX_RECORDS
            each = int(here.workloads[0].properties["fieldcount"]) * int(here.workloads[0].properties["fieldlength"])
            assert here.records * each * 1.6 <= memory / 16
            assert len(here.rungs) == len(set(here.rungs)) <= 8
            assert list(here.rungs) == sorted(here.rungs)
            threads = here.rungs[0] if here.ladder == "threads" else here.threads
            assert threads >= clients  # Each client needs a thread.
            assert here.rungs[-1] <= study.rungs[-1] or here.ladder == "threads"
            assert 2 <= here.warmup_s <= 10 <= here.measure_s <= 60


def test_small_says_what_it_changed():
    axis = scaled(template_of("thumbtack-2013"), "small", "durable", Machine(2, 24 << 30))
    assert axis.scenario.rungs == (50, 300, 1000, 1750, 3750, 7500, 15000, 22500)
    said = "; ".join(axis.changes)
    assert "records 500,000,000 → 100,000" in said
    assert "25 up to 450,000 ops/s → 8 up to 22,500 ops/s (0.050\N{MULTIPLICATION SIGN})" in said
    assert "window 600 + 600 s → 10 + 20 s" in said
    assert "threads 256 → 32" in said


def test_a_doubling_ladder_stays_one():
    axis = scaled(template_of("thumbtack-2014"), "small", "", Machine(2, 24 << 30, 2))
    assert axis.scenario.rungs == (2, 4, 8, 16, 32)
    assert "window 60 + 300 s → 2 + 10 s" in axis.changes


def test_a_factor_scales_records_and_rungs_and_keeps_the_window():
    axis = scaled(template_of("thumbtack-2014"), 0.5)
    assert (axis.scenario.records, axis.scenario.rungs[0], axis.scenario.measure_s) == (10_000_000, 16, 300)
    full = scaled(template_of("thumbtack-2014"), 1.0)
    assert (full.scenario, full.changes) == (full.study, ())
    with pytest.raises(ValueError, match="above 0"):
        scaled(template_of("thumbtack-2014"), -1)


def chosen_like(scenario, **changes) -> Chosen:
    """A plan that does what the scenario says, with one database for each of its parts."""
    entries = tuple(
        ChosenEntry(f"our {part.name}", part.system, part.system.title(), "9", part.mode, "the mode", "its binding",
                    scenario.nodes[0], part.replication_factor)
        for part in scenario.parts if part.runs
    )  # fmt: skip
    plan = Chosen(
        entries, tuple((w.name, w.properties) for w in scenario.workloads), scenario.ladder, scenario.rungs,
        scenario.threads, scenario.clients, scenario.warmup_s, scenario.measure_s, scenario.repeats, "YCSB 0.17.0",
    )  # fmt: skip
    return dataclasses.replace(plan, **changes)


@pytest.mark.parametrize("template", templates(), ids=lambda template: template.slug)
def test_at_full_scale_only_what_time_changed_deviates(template):
    for study in template.scenarios:
        differences = deviations(template, study, chosen_like(study))
        kinds = {sentence.partition(":")[0] for sentence in differences if sentence not in study.notes}
        assert kinds - {"Nodes"} == {"Server", "Driver", "Mode", "Client", "Machines"}
        assert set(study.notes) <= set(differences)


def test_every_other_number_is_said():
    template = template_of("thumbtack-2013")
    study = template.scenario("durable")
    small = scaled(template, "small", "durable", Machine(2, 24 << 30)).scenario
    here = chosen_like(small, repeats=3, clients=2, threads=32)
    said = " ".join(deviations(template, study, here))
    for sentence in (
        "Records: 500,000,000 in the study; here 100,000 (A, B).",
        "Ladder: 25 rungs from 1,000 to 450,000 ops/s as target in the study; here 8 rungs from 50 to 22,500",
        "Threads: 256 in all in the study; here 32.",
        "Client machines: 8 in the study; here 2 load generators.",
        "Time: 600 s of warm-up and 600 s measured per rung in the study; here 10 + 20 s.",
        "Repeats: 1 in the study; here 3.",
        "Server: MongoDB 2.2.2; here Mongodb 9.",
        "Driver: MongoDB's Java driver 2.10.1",
        "writeConcern=normal",
    ):
        assert sentence in said
    other = dataclasses.replace(
        here, workloads=((small.workloads[0].name, {**small.workloads[0].properties, "fieldlength": "100"}),
                         ("ours", {**small.workloads[0].properties, "requestdistribution": "latest"})),
    )  # fmt: skip
    said = " ".join(deviations(template, study, other))
    assert "Record size: 100 B of values in the study; here 1,000 B (A)." in said
    assert "Workload: ours is none of the study's." in said
    assert "not run: B (read-heavy" in said


def test_a_stand_in_is_called_one():
    template = template_of("thumbtack-2013")
    study = template.scenario("durable")
    redis = ChosenEntry("Our Redis", "redis", "Redis", "7.0", "always", "forced", "redis", 1, 1)
    differences = deviations(template, study, chosen_like(study, entries=(redis,)))
    assert any("Our Redis (always) took no part in the study" in sentence for sentence in differences)
    assert "Nodes: 4 in the study; here 1." in differences
    # A part that the study left out is played by nobody.
    couchbase = ChosenEntry("Our Couchbase", "couchbase", "Couchbase", "7", "replicate-1", "", "couchbase2", 4, 2)
    differences = deviations(template, study, chosen_like(study, entries=(couchbase,)))
    assert any("Our Couchbase (replicate-1) took no part in the study" in sentence for sentence in differences)
