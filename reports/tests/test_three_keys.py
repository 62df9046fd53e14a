"""A verdict turns three keys: an effect that matters, an interval that agrees, environments that are alike."""

import random
from dataclasses import replace

import pytest

from reports.compare.analysis.blocks import Blocks
from reports.compare.analysis.comparability import DiffersAnswer, EnvironmentAnswer
from reports.compare.analysis.repeat_comparison import compare_values
from reports.trends.analysis.baseline_levels import Level
from reports.trends.analysis.sessions import SessionSpread, look
from reports.trends.analysis.verdict_rules import (
    ALGORITHM,
    Metric,
    State,
    Verdict,
    combined,
    get_threshold,
    judge,
)
from runs.ycsb.tests.samples import golden

ALIKE = EnvironmentAnswer()
CHANGED = EnvironmentAnswer(False, (DiffersAnswer("hardware", "The hardware differs."),))


def throughput(new, base) -> Metric:
    """Each value is the run of a session of its own."""
    return Metric("throughput", "throughput", True, _sessions(new), _sessions(base))


def p99(new, base) -> Metric:
    return Metric("READ p99", "p99", False, _sessions(new), _sessions(base), "service")


def _sessions(values):
    return tuple((value,) for value in values)


BASE = (1000.0, 1004.0, 998.0, 1001.0, 997.0)
SLOWER = tuple(value * 0.88 for value in BASE)
FASTER = tuple(value * 1.12 for value in reversed(BASE))


def test_it_is_a_regression_with_all_three_keys():
    finding = judge([throughput(SLOWER, BASE)], ALIKE)
    assert finding.verdict == Verdict.REGRESSION and finding.metrics[0].state is State.REGRESSED
    assert finding.reasons[0] == "Regression: throughput 12 % lower."
    assert finding.reasons[1].startswith("Throughput is 12 % lower: ratio 0.880, 5 sessions against 5.")
    assert "The interval [0.876, 0.884] excludes 1" in finding.reasons[1]


def test_it_is_an_improvement_with_all_three_keys():
    finding = judge([throughput(FASTER, BASE)], ALIKE)
    assert finding.verdict == Verdict.IMPROVEMENT and finding.reasons[0] == "Improvement: throughput 12 % higher."


def test_accepted_loss_passes_and_is_stated():
    accepted = replace(throughput(SLOWER, BASE), accepted="m0000012")
    finding = judge([accepted, p99(BASE, BASE)], ALIKE)
    assert finding.verdict == Verdict.PASS and [metric.state for metric in finding.metrics] == ["accepted", "held"]
    assert finding.reasons[0] == "Pass, loss accepted: throughput 12 % lower."
    assert finding.reasons[1].endswith("The level that begins with m0000012 was accepted.")
    assert judge([accepted], CHANGED).verdict == Verdict.INCONCLUSIVE, "nothing was accepted of other machines"
    without_loss = judge([replace(throughput(BASE, BASE), accepted="m0000012")], ALIKE)
    assert without_loss.reasons[0] == "Pass: no loss in throughput."


def test_accepted_level_names_no_metric_without_a_loss():
    noisy = replace(p99((990.0, 1020.0), (900.0, 1100.0, 1000.0)), accepted="m0000012")
    finding = judge([replace(throughput(SLOWER, BASE), accepted="m0000012"), noisy], ALIKE)
    assert finding.reasons[0] == "Pass, loss accepted: throughput 12 % lower."
    assert finding.metrics[1].state is State.INCONCLUSIVE and "open: READ p99" in finding.certainty


def test_loss_after_an_accepted_level_is_not_accepted():
    """Of each metric alone: the throughput is at the accepted level, the p99 has lost once more."""
    accepted = replace(
        throughput((812.0,), (1000.0,)),
        history=_sessions(BASE),
        since=_sessions((810.0, 811.0)),
        accepted_since=_sessions((810.0, 811.0)),
        accepted="m0000012",
    )
    assert judge([accepted], ALIKE, level=Level.COMMIT).reasons[0].startswith("Pass, loss accepted: throughput 19 %")
    lost_again = replace(
        accepted, name="READ p99", statistic="p99", higher_is_better=False, new=_sessions((2000.0,)),
        since=_sessions((1300.0, 1301.0)), accepted_since=_sessions((1300.0, 1301.0)),
    )  # fmt: skip
    finding = judge([accepted, lost_again], ALIKE, level=Level.COMMIT)
    assert [metric.state for metric in finding.metrics] == [State.ACCEPTED, State.REGRESSED]
    assert finding.verdict == Verdict.REGRESSION


def follow_commit(new, since, base, history, **fields):
    metric = replace(throughput(new, base), since=_sessions(since), history=_sessions(history), **fields)
    return judge([metric], ALIKE, level=Level.COMMIT)


def test_commit_that_was_asked_for_is_at_its_own_level():
    """Though it is not back at the level that was left before it, or only a part of it has left that."""
    (back,) = follow_commit((970.0,), (), (970.0,), (800.0, 801.0, *BASE, *BASE)).metrics
    assert back.comparison.ratio == pytest.approx(1) and back.comparison.n_b == 1
    (half,) = follow_commit((988.0,), (), (973.0, 1003.0), (*BASE, *BASE)).metrics
    assert half.comparison.ratio == pytest.approx(1, abs=0.001) and half.comparison.n_b == 2


def test_sessions_between_two_commits_confirm_and_add_nothing():
    finding = follow_commit((900.0,), (700.0, 700.0), (1000.0,), BASE)
    (metric,) = finding.metrics
    assert finding.reasons[0] == "Regression: throughput 10 % lower." and metric.comparison.n_a == 1
    assert metric.comparison.open_sessions == 3 and "later" not in finding.certainty
    small = follow_commit((970.0,), (700.0, 700.0), (1000.0,), BASE)
    assert small.verdict != Verdict.REGRESSION, "what was asked for has lost less than the threshold"
    better = follow_commit((1100.0,), (1300.0, 1300.0), (1000.0,), BASE)
    assert better.reasons[0] == "Improvement: throughput 10 % higher."


UNSTEADY = (1000.0, 1020.0, 980.0, 1022.0, 978.0, 1001.0, 1024.0, 979.0, 1018.0, 981.0)


def test_later_commits_confirm_what_one_session_leaves_open():
    """A loss that is too small to be seen in one session among five metrics, of the second metric only."""
    steady = [replace(p99(UNSTEADY[:1], UNSTEADY[1:2]), history=_sessions(UNSTEADY[2:])) for _ in range(4)]
    lost = replace(throughput((936.0,), UNSTEADY[:1]), name="UPDATE", history=_sessions(UNSTEADY[1:]))
    screened = judge([steady[0], lost, *steady[1:]], ALIKE, level=Level.BRANCH)
    assert screened.flagged and screened.metrics[1].comparison.adjusted_p > 0.05
    lost = replace(lost, later=_sessions((941.0, 935.0, 942.0, 937.0)))
    confirmed = judge([steady[0], lost, *steady[1:]], ALIKE, level=Level.BRANCH)
    metric = confirmed.metrics[1]
    assert confirmed.verdict == Verdict.REGRESSION and metric.state is State.REGRESSED
    assert metric.comparison.ratio == screened.metrics[1].comparison.ratio and metric.comparison.n_a == 1
    assert "sessions in a row, [0.9" in metric.reason and metric.comparison.adjusted_p < 0.05
    assert confirmed.certainty.endswith("later ones confirm it.")


def test_without_an_effect_that_matters_nothing_is_red():
    finding = judge([throughput([value * 0.97 for value in BASE], BASE)], ALIKE)
    assert finding.verdict == Verdict.PASS
    assert "A loss of 5 % or more is excluded." in finding.reasons[1]


def test_without_an_interval_that_agrees_nothing_is_red():
    finding = judge([throughput((700.0, 1000.0, 900.0), (1000.0, 1300.0, 800.0))], ALIKE)
    assert finding.verdict == Verdict.INCONCLUSIVE and finding.needs_more
    assert "holds 1" in finding.reasons[1]
    assert finding.reasons[0].startswith("No difference found in throughput; ")
    assert finding.certainty.startswith("2 sessions against 3; ") and finding.certainty.endswith("may decide.")


def test_blocks_of_one_plan_lack_blocks_and_no_sessions():
    new, base = (700.0, 1000.0, 900.0), (1000.0, 1300.0, 800.0)
    blocks = Blocks(dict(enumerate(new)), dict(enumerate(base)))
    finding = judge([replace(throughput((1.0,), (1.0,)), new=(new,), base=(base,), blocks=blocks)], ALIKE)
    assert finding.needs_more > 1
    assert finding.certainty == f"3 blocks against 3; {finding.needs_more} more blocks may decide."


@pytest.mark.parametrize("new", [SLOWER, FASTER, BASE[::-1]])
def test_a_changed_environment_is_never_red_nor_green(new):
    finding = judge([throughput(new, BASE), p99(new, BASE)], CHANGED)
    assert finding.verdict == Verdict.INCONCLUSIVE
    assert {metric.state for metric in finding.metrics} == {State.NOT_COMPARABLE}
    assert finding.metrics[0].comparison.ratio is not None, "the ratio is shown all the same"
    assert finding.reasons[0] == "Not compared: the environments differ in hardware."
    assert finding.certainty == "Only runs of equal environments are judged; the ratios are for orientation."


@pytest.mark.parametrize(("new", "base", "said"), [
    ((880.0,), (1000.0,), "1 session against 1 session: how much this test varies between sessions is not known"),
    ((880.0,), BASE, "1 session against 5. One session does not decide"),
])  # fmt: skip
def test_one_session_shows_the_ratio_and_decides_nothing(new, base, said):
    finding = judge([throughput(new, base)], ALIKE)
    assert finding.verdict == Verdict.INCONCLUSIVE and finding.metrics[0].comparison.ratio == pytest.approx(
        0.88, rel=0.01
    )
    assert said in finding.reasons[1] and "ratio 0.88" in finding.reasons[1]
    assert finding.needs_more == 1 and finding.flagged == (base == BASE)


def test_a_loss_and_a_gain_are_mixed():
    finding = judge([throughput(FASTER, BASE), p99([value * 1.3 for value in BASE], BASE[::-1])], ALIKE)
    assert finding.verdict == Verdict.MIXED
    assert finding.reasons[0] == "Mixed: worse READ p99 30 % higher, better throughput 12 % higher."
    assert finding.reasons[1].startswith("READ p99 is 30 % higher"), "what is worse stands first"


def test_open_metric_blocks_a_pass_and_is_named_beside_a_loss():
    noisy = p99((100.0, 300.0, 200.0), (150.0, 250.0, 220.0))
    assert judge([throughput(BASE[::-1], BASE), noisy], ALIKE).verdict == Verdict.INCONCLUSIVE
    finding = judge([throughput(SLOWER, BASE), noisy], ALIKE)
    assert finding.verdict == Verdict.REGRESSION
    assert finding.reasons[0] == "Regression: throughput 12 % lower."
    assert finding.certainty.startswith("5 sessions against 5; open: READ p99")


NOISY = ((100.0, 300.0, 200.0), (150.0, 250.0, 220.0))
MANY = ("READ", "UPDATE", "INSERT", "SCAN", "READ-MODIFY-WRITE")


@pytest.mark.parametrize("environment", [ALIKE, CHANGED])
@pytest.mark.parametrize(
    "sides",
    [
        [(SLOWER, BASE)],
        [(FASTER, BASE)],
        [(BASE[::-1], BASE)],
        [NOISY],
        [(SLOWER, BASE), NOISY],
        [(SLOWER, BASE), (FASTER, BASE), NOISY],
        [((880.0,), BASE)],
        [((880.0,), (1000.0,))],
    ],
)
def test_headline_and_certainty_are_short_and_plain(environment, sides):
    """Of many metrics: what was found in at most 20 words, how sure it is in at most 15."""
    metrics = [
        Metric(f"{name} p99", "p99", True, _sessions(new), _sessions(base)) for name in MANY for new, base in sides
    ]

    judgement = judge(metrics, environment)

    assert len(judgement.reasons[0].split()) <= 20 and len(judgement.certainty.split()) <= 15
    for word in ("nconclusive", "not comparable", "("):
        assert word not in judgement.reasons[0]


def test_equal_values_are_the_same():
    finding = judge([throughput((1000.0,), (1000.0,))], ALIKE)
    assert "throughput the same" in finding.reasons[0]


def test_a_gain_that_may_be_small_is_no_loss():
    finding = judge([throughput((1020.0, 1080.0, 1055.0, 1030.0, 1065.0), BASE)], ALIKE)
    assert finding.metrics[0].state is State.HELD and finding.verdict == Verdict.PASS


def test_threshold_is_by_name_then_statistic_then_default():
    metric = p99(BASE, BASE)
    assert get_threshold(metric, {}) == 0.10 and get_threshold(throughput(BASE, BASE), {}) == 0.05
    assert get_threshold(metric, {"p99": 0.2}) == 0.2
    assert get_threshold(metric, {"p99": 0.2, "READ p99": 0.3}) == 0.3
    assert judge([throughput(SLOWER, BASE)], ALIKE, thresholds={"throughput": 0.15}).verdict == Verdict.PASS
    assert judge([throughput([v * 0.97 for v in BASE], BASE)], ALIKE, thresholds={"throughput": 0.02}).verdict == (
        Verdict.REGRESSION
    )


def test_machine_variation_counts_if_test_has_no_history():
    metric = throughput((880.0, 885.0), (1000.0, 1004.0))
    assert judge([metric], ALIKE).verdict == Verdict.REGRESSION
    finding = judge([metric], ALIKE, spread=SessionSpread(0.1**2, 20, 21, 4))
    assert finding.verdict == Verdict.INCONCLUSIVE and finding.metrics[0].comparison.low < 0.8


def test_a_loss_that_only_the_first_session_has_is_not_confirmed():
    base = tuple(value / 10 for value in (1000.0, 1020.0, 985.0, 1010.0, 990.0, 1005.0, 1000.0, 980.0))
    once = judge([throughput((99.0, 62.0), base)], ALIKE)
    assert once.verdict == Verdict.INCONCLUSIVE and not once.flagged
    assert judge([throughput((88.0, 87.0), base)], ALIKE).verdict == Verdict.REGRESSION


def test_error_is_shared_by_tests_of_a_commit_and_looks():
    metric = throughput((930.0, 920.0), (1000.0, 1020.0, 985.0, 1010.0, 990.0))
    alone, among = (judge([metric], ALIKE, tests=tests).metrics[0].comparison for tests in (1, 50))
    assert alone.adjusted_p == pytest.approx(2 * alone.p) and among.adjusted_p == pytest.approx(100 * alone.p)
    assert judge([metric], ALIKE).verdict == Verdict.REGRESSION
    assert judge([metric], ALIKE, tests=50).verdict == Verdict.INCONCLUSIVE
    assert [look(count) for count in (1, 2, 4, 5, 7, 10)] == [
        (1, 1),
        (2, 0.5),
        (2, 0.5),
        (5, 0.25),
        (5, 0.25),
        (10, 0.125),
    ]
    third = throughput((1.0, 930.0, 920.0), (1000.0, 1020.0, 985.0, 1010.0, 990.0))
    assert judge([third], ALIKE).metrics[0].comparison.ratio == alone.ratio, "the next look is at five sessions"


@pytest.mark.parametrize("bad", [(0.0, 1.0), (-1.0, 2.0), (float("nan"), 1.0), ()])
def test_values_that_have_no_ratio_are_inconclusive(bad):
    finding = judge([throughput(bad, BASE)], ALIKE)
    assert finding.verdict == Verdict.INCONCLUSIVE and finding.metrics[0].comparison.ratio is None


def test_many_metrics_are_judged_together():
    """What one metric alone would show is to be expected by chance among many."""
    edge = throughput((930.0, 915.0), (1000.0, 1025.0, 975.0, 995.0))
    assert judge([edge], ALIKE).verdict == Verdict.REGRESSION
    others = [p99((100.0 + i, 300.0), (150.0, 250.0, 220.0, 200.0)) for i in range(20)]
    assert judge([edge, *others], ALIKE).verdict == Verdict.INCONCLUSIVE


def test_several_tests_come_to_one_verdict():
    v = Verdict
    assert combined([v.PASS, v.PASS]) == v.PASS
    assert combined([v.PASS, v.REGRESSION, v.INCONCLUSIVE]) == v.REGRESSION
    assert combined([v.IMPROVEMENT, v.REGRESSION]) == v.MIXED and combined([v.MIXED, v.PASS]) == v.MIXED
    assert combined([v.PASS, v.INCONCLUSIVE]) == v.INCONCLUSIVE and combined([v.ERROR, v.PASS]) == v.ERROR


def test_the_algorithm_has_a_name():
    assert "session" in ALGORITHM and "Holm" in ALGORITHM


def test_golden_ratios_are_judged_as_the_study_of_methods_says():
    samples = golden("ratio_ci")
    a, b = samples["A"], samples["B"]
    metric = judge([throughput(a, b)], ALIKE).metrics[0]
    comparison = metric.comparison
    assert comparison.ratio == pytest.approx(3.6267, abs=1e-4)
    welch = compare_values(a, b, higher_is_better=True)
    assert (welch.low, welch.high) == pytest.approx((3.5702, 3.6840), abs=1e-4)
    assert (comparison.low, comparison.high) == pytest.approx((welch.low, welch.high), rel=2e-3), "of pooled variance"
    assert metric.state is State.IMPROVED and judge([throughput(b, a)], ALIKE).verdict == Verdict.REGRESSION


@pytest.mark.slow
def test_false_reds_are_rare_over_noise_alone():
    """Five metrics, five repeats, 4 % noise and no change: red in at most 1 of 50."""
    chance = random.Random(11)

    def noise(level):
        return [level * chance.lognormvariate(0, 0.04) for _ in range(5)]

    def drawn():
        finding = judge([throughput(noise(1000), noise(1000)), *(p99(noise(80), noise(80)) for _ in range(4))], ALIKE)
        return finding.verdict

    verdicts = [drawn() for _ in range(400)]
    red = sum(verdict in (Verdict.REGRESSION, Verdict.MIXED) for verdict in verdicts)
    assert red <= 8, f"{red} of 400"
    assert sum(verdict == Verdict.IMPROVEMENT for verdict in verdicts) <= 8


def test_true_losses_are_found():
    """15 % of throughput with 3 % noise and five repeats: found nearly always."""
    chance = random.Random(12)
    found = 0
    for _ in range(100):
        sides = [[level * chance.lognormvariate(0, 0.03) for _ in range(5)] for level in (850, 1000)]
        found += judge([throughput(*sides)], ALIKE).verdict == Verdict.REGRESSION
    assert found >= 90
