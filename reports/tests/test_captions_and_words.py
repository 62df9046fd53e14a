"""The lines that figures and pages make by themselves."""

import uuid
from dataclasses import replace

import numpy as np
import pytest

from reports.compare.analysis.differences import differences, split_differences
from reports.compare.analysis.points import Spread
from reports.compare.curves import MachineFacts, Progress, Setup, Standing, describe_durability
from reports.compare.figures.captions import (
    MAX_WORDS,
    caption,
    collect_notes,
    join_terms,
    list_conditions,
    machine_sentence,
)
from reports.compare.figures.ceilings import CeilingsFigure
from reports.compare.figures.ladder import LadderFigure
from reports.compare.figures.latency import LatencyFigure
from reports.compare.figures.latency_points import Choice
from reports.compare.figures.loss import LossFigure
from reports.compare.figures.overlay import choose_overlays, list_throughputs
from reports.compare.figures.percentiles import PercentilesFigure, SweepsPercentilesFigure
from reports.compare.figures.run_series import Event, RunSeriesFigure, Window
from reports.compare.figures.scalability import ScalabilityFigure
from reports.compare.figures.sweeps_over_time import SweepsOverTimeFigure
from reports.compare.figures.theme import get_labels
from reports.tests.curves import DISK, MEMORY, ONE_MACHINE, curve, point
from reports.tests.rendering import ceiling_sentence, knee_sentence, rendered

SHARED = Setup(cluster_machines=(ONE_MACHINE,), generator_machines=(ONE_MACHINE,), generators=("a", "b"))


def test_it_says_when_everything_ran_on_one_machine():
    assert machine_sentence([curve(setup=SHARED), curve(setup=SHARED)]) == (
        "Everything ran on one machine (2 cores): compare the shapes, not the numbers"
    )
    assert machine_sentence([curve()]) == ""


def test_it_says_that_several_nodes_share_one_machine():
    ring = replace(SHARED, server_settings={"nodes": "3"})
    assert machine_sentence([curve(setup=SHARED), curve(setup=ring)]) == (
        "Several nodes on one machine (2 cores): compare the shapes, not the numbers"
    )


def test_names_machine_shared_by_generators_and_cluster():
    other = MachineFacts("m3", "three", None)
    partly = Setup(cluster_machines=(ONE_MACHINE, other), generator_machines=(ONE_MACHINE,))
    assert "(one)" in machine_sentence([curve(setup=partly)])


def test_details_have_each_term_once():
    remarks = [("Ceilings", "Short ladder (a)."), ("Lines", "Solid."), ("Ceilings", "Highest measured (b).")]
    assert join_terms(remarks) == [("Ceilings", "Short ladder (a). Highest measured (b)."), ("Lines", "Solid.")]


def test_only_measured_and_soak_are_no_demonstration():
    assert collect_notes([curve(purpose="measured"), curve(purpose="soak")]) == ()
    assert collect_notes([curve(), curve(purpose="tuning")]) == ("Tuning: not to be published",)
    for purpose in ("smoke", "demo"):
        assert collect_notes([curve(), curve(purpose=purpose)]) == ("Demonstration: too short to publish",)


def test_notes_name_the_rung_that_no_curve_explains():
    uneven = curve(points=[point(2, 4971.0), point(4, 3490.0), point(16, 13589.0)])
    assert uneven.shape.check_id == "V26"
    (note,) = collect_notes([curve(), uneven])
    assert note.replace("\N{NARROW NO-BREAK SPACE}", " ").startswith(
        "Uneven ladder: Redis 7.0 · always: 3.49k ops/s at 4 threads is below 4.97k ops/s at 2 threads"
    )
    assert collect_notes([uneven, uneven])[0].startswith("Uneven ladder, and 1 more: ")


def test_at_most_three_notes_stand_in_a_figure():
    """A demonstration on one machine of a mode that loses more than its record says; Details have the others."""
    points = [point(2, 4971.0), point(4, 3490.0, mode_verified=False), point(16, 13589.0)]
    record = {**MEMORY, "loss_window_s": 0.5, "worst_loss_window_s": None}
    side = curve(mode="everysec", points=points, purpose="demo", setup=SHARED, durability=record)
    figure = CeilingsFigure([side])

    assert [note.split(":")[0] for note in figure.notes] == [
        "Demonstration",
        "Everything ran on one machine (2 cores)",
        "Loss of Redis 7.0 · everysec",
    ]
    assert {"Stated modes", "Ladders"} < dict(figure.conditions).keys()
    assert {"Purpose", "Machines", "Loss", "Stated modes", "Ladders"} < dict(list_conditions([side], "service")).keys()


def test_caption_states_runs_window_and_kind():
    text = caption([curve()], kind="service")

    assert text.replace("\u202f", " ") == (
        "n = 1 run per point, so no interval. 10 s measured after 2 s of warm-up. Service time."
    )
    assert "Response time" in caption([curve()], kind="response")
    assert caption([curve(points=[])]) == ""


def test_windows_that_settling_made_longer_are_a_range():
    points = [point(8, 900.0, window_s=10.0, warmup_s=12.0), point(16, 950.0, window_s=20.0, warmup_s=2.0)]
    setup = Setup(measure_s=10, warmup_s=12, settle_s=10)

    measured, planned = (" ".join(text.split()) for text in (caption([curve(points=points)]), setup.window))

    assert "10 s to 20 s measured after 2 s to 12 s of warm-up." in measured
    assert planned == "at least 10 s measured after 2 s to 12 s of warm-up"


def test_windows_that_read_the_same_are_no_range():
    points = [point(8, 900.0, window_s=59.98), point(16, 950.0, window_s=60.01)]
    assert (
        caption([curve(points=points)])
        .replace("\u202f", " ")
        .endswith(" interval. 1 min measured after 2 s of warm-up.")
    )


def test_conditions_say_what_is_as_it_should_be():
    conditions = dict(list_conditions([curve()], "service"))

    assert conditions["Clients"] == "2 of 2 clients merged at every point."
    assert conditions["Durability mode"] == "Durability mode read back before and after every run."
    assert (conditions["Left out"], conditions["Checks"]) == ("Nothing.", "No check objects.")


def test_the_caption_admits_what_is_missing():
    points = [
        point(2, 100.0, throughput_ops_s=Spread(100.0, 90.0, 110.0, 3)),
        point(4, 200.0, clients_merged=1, mode_verified=False, rejected=1, excluded=("noise",)),
        point(
            8,
            300.0,
            standing=Standing.REJECTED,
            rejected_by=("V03",),
            worst_finding="V03 reject: the client was the limit.",
        ),
        point(16, 300.0, worst_finding="V05 warn: short."),
    ]
    text = caption([curve(points=points)])
    assert "Only 1 of 2 clients merged at 1 point" in text
    assert "Durability mode not read back at 1 point" in text
    assert "1 run rejected and 1 run left out by a person" in text
    assert "Checks object to 2 points" in text
    assert len(text.split()) <= 35
    conditions = dict(list_conditions([curve(points=points)], "service"))
    assert conditions["Repeats"].startswith("n = 1 to 3 runs per point: geometric mean, band from least to most")
    assert conditions["Checks"].startswith("Worst finding V03 reject: the client was the limit")


def test_the_ladder_in_words():
    single = ceiling_sentence(curve().ceiling)
    assert "is the highest measured" in single and "is open: no repeats" in single and "is the ceiling" not in single
    short = ceiling_sentence(curve(points=[point(2, 100.0), point(4, 190.0)]).ceiling)
    assert short.startswith("190") and "too short" in short
    assert "add lower rungs" in ceiling_sentence(curve(points=[point(2, 200.0), point(4, 100.0)]).ceiling)
    assert "one rung says nothing" in ceiling_sentence(curve(points=[point(2, 100.0)]).ceiling)
    assert ceiling_sentence(None) == "No point counts, so there is no ceiling."
    targets = [point(8, target * 0.99, target_ops_s=target) for target in (1000, 2000)]
    assert "every target up to 2.00k" in ceiling_sentence(curve(points=targets).ceiling)


def test_the_knee_in_words():
    sentence = knee_sentence(curve().knee, curve().ceiling)
    assert sentence.startswith("The knee is at 3.30k") and "of the highest measured. The mean latency is" in sentence
    assert "No knee within the ladder: 2 of at least 4 rungs" in knee_sentence(
        curve(points=[point(2, 1.0), point(4, 2.0)]).knee, None
    )
    assert knee_sentence(None, None) == ""


def test_progress_in_words():
    assert rendered("sweep/ladder_text", curve=curve()).endswith("No run belongs to this sweep.")
    going = curve(progress=Progress(runs=9, succeeded=4, failed=2))
    assert rendered("sweep/ladder_text", curve=going).endswith("4 of 9 runs succeeded, 2 failed, 3 to come.")


def test_a_promise_in_a_few_words():
    assert describe_durability(DISK) == "disk, loses none"
    assert describe_durability(MEMORY) == "memory, may lose any"
    assert describe_durability({**DISK, "replicas_acked": 1}) == "disk and 1 other copy, loses none"
    assert describe_durability({**MEMORY, "loss_window_s": 0.6}) == "memory, may lose 0.6 s"
    assert describe_durability({}) == ""


def test_it_finds_what_the_sides_differ_in():
    first = curve(mode="off", setup=Setup(version="7.0", records=1000, record_bytes=100, generators=("a",)))
    second = curve(mode="always", setup=Setup(version="7.2", records=2000, record_bytes=100, generators=("a",)))
    other = curve("PostgreSQL", system="postgresql", setup=Setup(version="15", records=1000, record_bytes=100))
    found = {difference.label: difference for difference in differences([first, second, other])}
    assert found["data set"].values == ("1,000 records of 100 B", "2,000 records of 100 B")
    # Versions are compared within a system: another system has another by nature.
    assert found["version of Redis"].values == ("7.0", "7.2")
    assert not any("PostgreSQL" in what for what in found)
    assert "clients" in found


def test_equal_sides_differ_in_nothing():
    assert differences([curve(mode="off"), curve(mode="always")]) == []
    # What is not measured yet makes no difference; another plan does.
    assert differences([curve(rungs=(2, 4)), curve(rungs=(2, 4), points=[point(2, 1.0)])]) == []
    assert [difference.label for difference in differences([curve(rungs=(2, 4)), curve(rungs=(2, 8))])] == ["ladder"]


def test_workload_and_commit_are_planned_only_within_a_plan():
    plan = uuid.uuid4()
    first = curve(matrix_id=plan, commit="aaaa", branch="main")
    second = curve(matrix_id=plan, commit="bbbb", branch="next", workload="B", points=[point(2, 1.0)])
    planned, rest = split_differences([first, second], {})
    assert [difference.label for difference in planned] == ["workload", "commit"]
    assert [difference.label for difference in rest] == ["branch"]
    planned, rest = split_differences([first, replace(second, matrix_id=None)], {})
    assert planned == [] and {"workload", "commit", "branch"} <= {difference.label for difference in rest}


def test_points_without_throughput_are_counted():
    assert "No throughput at 2 points" in caption([curve(points=[point(2, 0.0), point(4, 0.0), point(8, 9.0)])])
    assert "No throughput" not in caption([curve()])


def test_sides_with_equal_names_use_their_figure_labels():
    first, second = curve(workload="A"), curve(workload="B")
    (workload, *_) = differences([first, second], get_labels([first, second]))
    assert [labels for _, labels in workload.sides] == [("Redis 7.0 · always · A",), ("Redis 7.0 · always · B",)]


def doubtful(database, mode, factor, **changes):
    """A side of a short ladder with all that a caption admits."""
    points = [
        point(2, 100.0 * factor, throughput_ops_s=Spread(100.0 * factor, 40.0, 300.0 * factor, 3, (30.0, 900.0))),
        point(4, 0.0, clients_merged=1, mode_verified=False, rejected=1, excluded=("noise",), worst_finding="V05"),
        point(8, 300.0 * factor, overridden=("known",), worst_finding="V03"),
    ]
    return curve(database, mode, points, stand_ins=("mock",), **changes)


DOUBTFUL = [
    doubtful(f"Database number {number} on a cluster of a long name", mode, number + 1)
    for number in range(3)
    for mode in ("off", "always")
]
FIGURES = {
    "ceilings": CeilingsFigure(DOUBTFUL, published=list_throughputs(choose_overlays(("thumbtack-2013",)))),
    "ladder": LadderFigure(DOUBTFUL),
    "latency": LatencyFigure(DOUBTFUL, Choice(load_ops_s=1e6), list_throughputs(choose_overlays(("thumbtack-2013",)))),
    "loss": LossFigure(DOUBTFUL),
    "percentiles of a run": PercentilesFigure("run", DOUBTFUL[0].points[0]),
    "percentiles": SweepsPercentilesFigure(DOUBTFUL),
    "scalability": ScalabilityFigure(DOUBTFUL),
    "sweeps over time": SweepsOverTimeFigure(DOUBTFUL, {}, operation="READ"),
    "run series": RunSeriesFigure(
        "run",
        [],
        Window(2.0, 12.0, None),
        band=(np.array([0.0]), np.array([1.0]), np.array([2.0])),
        events=[Event(second, f"the primary of the replica set changed to member {second}") for second in range(9)],
        faults=[(number, 3.0, 4.0, "pause of one node") for number in range(1, 6)],
        offered=(np.array([0.0]), np.array([1.0]), np.array([2.0])),
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_caption_of_every_figure_has_at_most_35_words(name):
    figure = FIGURES[name]
    answer = figure.answer(theme="light", narrow=False)
    sentences = [answer["caption"], *(text for _, text in answer["conditions"])]

    assert 0 < len(answer["caption"].split()) <= MAX_WORDS
    for _, text in figure.remarks:
        assert text.rstrip(".") in " ".join(sentences)


def test_caption_says_first_what_is_amiss():
    figure = CeilingsFigure(DOUBTFUL)

    assert "At least: the ladder is too short" in figure.caption and "6 runs against a mock" in figure.caption
    assert {"Checks", "Marks"} < dict(figure.conditions).keys()


def test_captions_count_the_repeats_of_points_that_do_not_count():
    """A re-run that is rejected too is a second run of its point."""
    rejected = point(8, 1000.0, throughput_ops_s=Spread(1000.0, 990.0, 1010.0, 2), standing=Standing.REJECTED)
    assert "n = 2" in caption([curve(points=[rejected])]).replace("\u202f", " ")
