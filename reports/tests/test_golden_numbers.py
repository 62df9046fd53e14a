"""Every number of the shared golden file, made by our own functions. A key without a test is a failure."""

import json
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest
from django.conf import settings

from benchsite.core import formatting
from reports.compare.analysis.ceiling import Ladder, Rung, end_as_measured, thread_ceiling
from reports.compare.analysis.knee import power, power_knee
from reports.compare.analysis.repeat_comparison import compare_values
from reports.compare.analysis.scalability import score
from reports.sizing.analysis import binding_ratio, product_as_published
from reports.tests.test_scalability import DISPUTED, PRINTED, computed
from runs.results.measures.little import explained_share
from runs.results.measures.search import Goal, State, Trial, search_target
from runs.ycsb.bounds import percentile_bounds
from runs.ycsb.contradictions import bucket_contradiction
from runs.ycsb.operation import Bucket, ReadOperation
from runs.ycsb.tests.samples import GOLDEN, golden

# The printed histogram of Vari 2013: reads by bucket, from and to microseconds, and the line for more than 128 s.
VARI = (
    (0, 256, 732_757),
    (256, 512, 1_071_121),
    (512, 1024, 159_357),
    (1024, 2000, 22_602),
    (2000, 4000, 2_699),
    (4000, 8000, 10_831),
    (8000, 16_000, 403),
    (16_000, 32_000, 38),
    (64_000, 128_000, 160),
    (1_024_000, 2_000_000, 12),
    (2_000_000, 4_000_000, 20),
)
SPURIOUS = Bucket(128_000_000, None, 32)
# Keys whose functions are tested with them beside those functions.
ELSEWHERE = {
    "coordinated_omission": "runs/results/measures/tests/test_omission.py",
    "edivisive": "reports/tests/test_edivisive.py",
    "mser5": "runs/results/measures/tests/test_steady.py",
    "stability": "runs/results/measures/tests/test_stability.py",
}
VARI_OPS_S, VARI_MEAN_US, VARI_THREADS, VARI_CLIENTS = 66_648.89362836577, 401.87, 8, 20


def test_no_key_of_the_file_is_left_unhandled():
    names = {name.removeprefix("test_golden_") for name in globals() if name.startswith("test_golden_")}
    assert names | set(ELSEWHERE) == set(json.loads(GOLDEN.read_text()))
    for name, path in ELSEWHERE.items():
        assert f'golden("{name}")' in (settings.BASE_DIR / path).read_text()


def test_golden_scalability():
    rows = golden("scalability")
    assert len(rows) == 18 and sum(row["reproduces"] for row in rows) == 15
    for row in rows:
        found = computed(row["workload"], row["db"])[row["metric"]]
        printed = PRINTED[row["workload"], row["db"]][("s6", "s8", "E").index(row["metric"])]
        rounded = Decimal(str(found)).quantize(Decimal("0.01"), ROUND_HALF_UP)
        assert found == pytest.approx(row["computed"], abs=5.1e-5) and float(printed) == row["printed"]
        assert (rounded == Decimal(printed)) is row["reproduces"]
        assert ((row["workload"], row["db"], row["metric"]) in DISPUTED) is not row["reproduces"]
    assert score({4: 1.0, 8: 2.0}).score == 1.0


def test_golden_ratios():
    rows = golden("ratios")
    for row in rows:
        ratio = row["a"] / row["b"]
        assert ratio == pytest.approx(row["computed"], abs=5.1e-5)
        assert (float(formatting.significant(ratio, 2)) == row["printed"]) is row["reproduces"]
    assert sum(row["reproduces"] for row in rows) == 6


def test_golden_ladder():
    expected = golden("ladder")
    rungs = [Rung(threads, float(throughput)) for threads, throughput in expected["rungs"]]
    ceiling, knee = thread_ceiling(rungs), power_knee(rungs)
    assert (ceiling.highest_ops_s, ceiling.saturation_threads) == (expected["ceiling"], expected["n_sat"])
    assert end_as_measured(rungs) is Ladder.SATURATED and knee.threads == expected["knee_n"] and knee.reached
    assert [power(rung) for rung in rungs] == pytest.approx(expected["power"], abs=0.6)


def test_golden_search():
    for case in golden("search"):
        trials = []
        goal = Goal(step=1.25, start_share=0.9, max_trials=14, confirmations=1)
        while target := (step := search_target(case["probe"], trials, goal)).next_load:
            trials.append(Trial(target, target, target <= case["capacity"]))
        assert [[trial.load, trial.sustained] for trial in trials] == case["trials"]
        assert (step.state, step.low, step.high) == (State.BRACKETED, case["lo"], case["hi"])


def test_golden_vari_histogram():
    expected = golden("vari_histogram")
    buckets = tuple(Bucket(low, high, count) for low, high, count in VARI)
    total = sum(bucket.count for bucket in buckets)
    assert total == expected["sum_without_overflow"] == 2_000_000
    cumulative = np.cumsum([bucket.count for bucket in buckets])[:8] / total
    assert cumulative.tolist() == pytest.approx(expected["cum"], abs=6e-7)
    bounds = percentile_bounds([ReadOperation(count=total, buckets=buckets)])
    ends = {name: (bound.low_us, bound.high_us) for name, bound in bounds.items()}
    assert ends == {"50": (256, 512), "95": (512, 1024), "99": (1024, 2000), "99.9": (4000, 8000)}
    # Eight threads cannot have done it; all twenty clients together make the headline.
    threads = explained_share([(VARI_OPS_S * VARI_MEAN_US, 1.0)], VARI_THREADS) * VARI_THREADS
    assert threads == pytest.approx(expected["little_implied_threads"], abs=5e-3)
    headline = VARI_CLIENTS * VARI_THREADS / (VARI_MEAN_US / 1e6)
    assert round(headline) == expected["headline_check"]
    assert explained_share([(headline * VARI_MEAN_US, 1.0)], VARI_CLIENTS * VARI_THREADS) == pytest.approx(1)


def test_spurious_bucket_contradicts_count_and_maximum():
    buckets = tuple(Bucket(low, high, count) for low, high, count in VARI)
    printed = ReadOperation(count=2_000_000, max_us=2_110_000, buckets=(*buckets, SPURIOUS))
    assert "2,000,032 values of 2,000,000" in bucket_contradiction(printed)
    assert bucket_contradiction(ReadOperation(count=2_000_000, max_us=2_110_000, buckets=buckets)) == ""


def test_golden_ratio_ci():
    expected = golden("ratio_ci")
    comparison = compare_values(expected["A"], expected["B"], higher_is_better=True)
    assert comparison.ratio == pytest.approx(expected["ratio"], abs=5.1e-5)
    assert [comparison.low, comparison.high] == pytest.approx(expected["ci95"], abs=5.1e-5)
    assert comparison.df == pytest.approx(expected["df"], abs=5.1e-3)


def test_golden_tco():
    expected = golden("tco")
    assert product_as_published(4, 3.6) == pytest.approx(expected["product"])
    assert binding_ratio(4, 3.6) == expected["binding"]
    unrounded = product_as_published(1_000_000_000 / 215_000_000, 410_000 / 113_000)
    assert unrounded == pytest.approx(expected["unrounded_product"], abs=5.1e-5)
