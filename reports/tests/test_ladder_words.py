"""What a sweep's page says of its ladder: brackets, notes, the knee, and what to measure next."""

from dataclasses import replace

import pytest
from django.urls import reverse

from reports.compare.analysis.ceiling import Rung, ceiling
from reports.compare.analysis.points import spread
from reports.compare.curves import Progress
from reports.compare.pages.answer_messages import plain_text
from reports.compare.pages.ladder import choose_next_loads
from reports.tests.curves import curve, operation, point
from reports.tests.rendering import ceiling_notes, ceiling_sentence, knee_sentence
from reports.tests.test_ceiling_and_knee import L1
from runs.tests.factories import make_run, make_sweep, measurement

NARROW = "\N{NARROW NO-BREAK SPACE}"


def plain(text):
    return text.replace(NARROW, " ")


def next_step(curve):
    return plain(plain_text("sweep/next_loads.txt", loads=choose_next_loads(curve)))


def get_next_target(estimate):
    """What is advised for a sweep of targets with this ceiling."""
    laddered = curve(ladder="target")
    laddered.__dict__["ceiling"] = estimate
    return next_step(laddered)


def targets(*pairs, **changes):
    return ceiling([Rung(8, achieved, target_ops_s=target, **changes) for target, achieved in pairs])


def test_a_bracket_in_words():
    found = targets((50_000, 50_000), (75_000, 74_900), (100_000, 93_000), (125_000, 94_200))
    assert plain(ceiling_sentence(found)) == (
        "74.9k ops/s is unconfirmed: 75.0k ops/s is the highest target that was sustained with all targets below it "
        "(1 run), and 100k ops/s was not (2 runs). Overloaded, it did 94.2k ops/s."
    )
    assert get_next_target(found) == (
        "Measure a target of 86,603 ops/s next: it narrows the bracket, now 75.0k to 100k ops/s."
    )


def test_repeated_target_is_the_ceiling():
    held = Rung(8, 1000, target_ops_s=1000, repeats_ops_s=(999, 1001), repeats=(1, 2))
    repeated = ceiling([held, Rung(8, 1300, target_ops_s=2000, repeats_ops_s=(1290, 1310), repeats=(1, 2))])
    assert plain(ceiling_sentence(repeated)).startswith("1.00k ops/s is the ceiling: ")


def test_nothing_sustained_in_words():
    found = targets((1000, 800), (2000, 900))
    assert plain(ceiling_sentence(found)).startswith("No target was sustained, not even 1.00k ops/s; the most")
    assert "800 ops/s next: none was sustained" in get_next_target(found)


def test_everything_sustained_asks_for_more():
    assert "2,500 ops/s next: every target so far" in get_next_target(targets((1000, 1000), (2000, 2000)))


def test_a_narrow_bracket_asks_for_a_longer_run():
    assert "repeat its lower end" in get_next_target(targets((1000, 1000), (1040, 900)))


def test_missing_threads_in_words():
    rungs = [Rung(8, 2000, 0.001, 2000.0), Rung(8, 7900, 0.001, 16000.0, p99_s=0.002)]
    said = plain(ceiling_sentence(ceiling(rungs)))
    assert said.startswith("At least 2.00k ops/s") and "lack of threads" in said and "48 threads or more" in said
    assert get_next_target(ceiling(rungs)) == "Measure the target of 16.0k ops/s with more threads next."


def test_a_target_without_a_counted_run_in_words():
    rungs = [Rung(8, 1000, target_ops_s=1000), Rung(8, 2000, target_ops_s=2000, rejected="unknown")]
    estimate = ceiling(rungs)
    assert plain(ceiling_sentence(estimate)) == (
        "At least 1.00k ops/s: every target up to 1.00k ops/s was sustained, but of 2.00k ops/s no run counts. "
        "Measure it again."
    )
    assert plain(ceiling_notes(estimate)).startswith("This target has no counted run: 2.00k ops/s.")
    assert get_next_target(estimate).startswith("Measure the target of 2.00k ops/s again next")
    below = ceiling([replace(rungs[1], target_ops_s=500), rungs[0]])
    assert "no run counts" not in plain(ceiling_sentence(below))


def test_contradicting_and_marginal_targets_in_words():
    notes = ceiling_notes(targets((1000, 1000), (2000, 1920), (3000, 2990)))
    assert "A target failed below one that was sustained" in notes and "Marginal, missed by 2 to 5 %: 2.00k" in notes
    assert "no counted run" not in notes
    assert ceiling_notes(None) == "" == ceiling_notes(curve().ceiling)


def worked(**changes):
    return curve(points=[point(threads, float(x)) for threads, x in L1.items()], **changes)


def test_the_worked_ladder_names_what_to_measure_next():
    assert next_step(worked()) == (
        "Measure 23 and 45 threads to place the knee and every rung three times to see where throughput ends next."
    )


def test_a_short_ladder_asks_for_more_threads():
    short = curve(points=[point(threads, float(x)) for threads, x in L1.items() if threads <= 32])
    assert next_step(short) == "Measure 64 and 128 threads to see the ceiling next."
    assert next_step(curve(points=[])) == ""


def test_a_ladder_that_is_still_measured_asks_for_nothing():
    assert next_step(worked(progress=Progress(runs=10, succeeded=9))) == ""


def test_rungs_on_which_nothing_was_done_are_no_error():
    for values in ([0.0], [0.0, 0.0, 0.0], [0.0, 1000.0, 0.0, 1000.0], [0.0, 0.0, 900.0]):
        points = [point(2**i, x, throughput_ops_s=spread([0.0, x, x]), operations=()) for i, x in enumerate(values, 1)]
        for ladder in ([replace(p, target_ops_s=100 * p.threads) for p in points], points):
            assert "nan" not in next_step(curve(points=ladder))


def test_the_knee_of_a_ladder_of_targets_in_words():
    points = [point(8, x, target_ops_s=int(x), operations=(operation("READ", us),)) for x, us in ((1000.0, 100.0), (2000.0, 110.0), (3000.0, 130.0), (4000.0, 900.0))]  # fmt: skip  # noqa: E501
    assert "at a target of 3.00k" in plain(knee_sentence(curve(points=points).knee, None))


def test_ladder_of_unknown_machines_asks_for_nothing():
    short = curve(points=[point(threads, float(x)) for threads, x in L1.items() if threads <= 32], uploaded=True)
    unknown = replace(short, setup=replace(short.setup, cluster_machines=()))
    assert next_step(short) == "Measure 64 and 128 threads to see the ceiling next."
    assert next_step(unknown) == ""


@pytest.mark.slow
@pytest.mark.django_db
def test_page_states_effect_of_exclusions_and_next_steps(client_in, team):
    sweep = make_sweep(team=team)
    for threads, throughput in ((2, 1000.0), (4, 1900.0), (8, 3300.0), (16, 3400.0), (32, 3410.0)):
        make_run(sweep, threads=threads, throughput=throughput)
    make_run(sweep, threads=32, repeat=2, throughput=5000.0, excluded_reason="the other host slept")
    html = plain(client_in.get(reverse("sweep", args=[sweep.pk])).content.decode())
    assert "with what people left out, 3.41k ops/s without" in html
    assert "threads to place the knee and every rung three times" in html


@pytest.mark.django_db
def test_the_page_of_a_ladder_of_targets_says_the_next_target(client_in, team):
    sweep = make_sweep(team=team, ladder="target")
    for target, reached, mean_us in ((1000, 1000.0, 900.0), (2000, 1990.0, 1000.0), (4000, 2500.0, 3200.0)):
        measurements = [measurement("READ", mean_us)]
        make_run(sweep, threads=8, target_ops_s=target, throughput=reached, measurements=measurements)
    html = plain(client_in.get(reverse("sweep", args=[sweep.pk])).content.decode())
    assert "Measure a target of 2,828 ops/s next" in html and "4.00k ops/s was not" in html


@pytest.mark.django_db
def test_a_load_has_a_ceiling_too(client_in, team):
    sweep = make_sweep(team=team, phase="load")
    for threads, throughput in ((2, 1000.0), (4, 1900.0), (8, 1910.0)):
        make_run(sweep, threads=threads, throughput=throughput)
    html = plain(client_in.get(reverse("sweep", args=[sweep.pk])).content.decode())
    assert "1.91k ops/s at 8 threads is the highest measured" in html and "· load" in html
