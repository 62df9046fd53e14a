"""What a comparison answered, in a sentence, and how sure it is: every kind of sentence with an example.

A cost or a ratio needs two bracketed ceilings whose repeats decide; what is a bound is called "at least".
"""

import datetime as dt
from dataclasses import replace
from itertools import chain
from uuid import uuid4

import pytest

from reports.compare.analysis.points import spread
from reports.compare.analysis.repeat_comparison import Outcome
from reports.compare.curves import Setup, Standing
from reports.compare.figures.captions import list_conditions
from reports.compare.pages.answer import Answer, Code, Doubt, Finding, Side, find_answer
from reports.compare.pages.answer_messages import certainty, count_words, render_text, sentence
from reports.compare.pages.baseline_ratios import Judging, against
from reports.compare.selection import Selection
from reports.compare.views.compare import judge
from reports.tests.curves import MEMORY, ONE_MACHINE, curve, point
from runs.checks import profile

OLDER, NEWER = dt.datetime(2026, 11, 2, tzinfo=dt.UTC), dt.datetime(2026, 11, 9, tzinfo=dt.UTC)
LADDER = ((2, 1000.0), (4, 1900.0), (8, 3300.0), (16, 3900.0), (32, 3700.0), (64, 3300.0))
LEVEL = ((2, 1000.0), (4, 1900.0), (8, 3300.0), (16, 3900.0), (32, 3850.0))
ONE_LOAD = {"ladder": ((8, 1000.0),), "rungs": (8,)}
RISING = ((1, 1000.0), (2, 2000.0), (4, 4000.0))
ONE_SECOND = {**MEMORY, "loss_window_s": 1.0}
UP_TO_TWO_SECONDS = {**ONE_SECOND, "worst_loss_window_s": 2.0}
HOUSE_WORDS = ("side", "rung", "sustained", "bracket", "among the best", "inconclusive", "(")


def side(database, mode, factor, *, runs=5, ladder=LADDER, scatter=0.002, **changes):
    """A side `factor` times as high as the ladder, whose runs differ by up to twice the scatter."""
    points = []
    for place, (threads, ops_s) in enumerate(ladder):
        values = [ops_s * factor * (1 + scatter * ((number * 7 + place * 3) % 5 - 2)) for number in range(runs)]
        points.append(replace(point(threads, ops_s * factor), throughput_ops_s=spread(values)))
    return curve(database, mode, points, **changes)


def answer(*curves):
    return find_answer(curves, Judging({}, profile("measured", {}), {}))


def answer_beside_table(sides):
    judging = Judging({}, profile("measured", {}), {})
    table = against(sides, judging, None)
    return find_answer(sides, judging, table=table), table


def limited(**changes):
    """A side whose clients were at their limit on its last rung."""
    made = side("Redis", "always", 1, ladder=RISING, **changes)
    return replace(made, points=tuple(replace(point, client_limited=True) for point in made.points))


def test_sides_of_a_finding_are_named_without_their_workload():
    sides = [side(name, "off", 1, workload=workload) for workload in ("A", "B") for name in ("Redis", "Valkey")]
    labels = [each.label for finding in answer(*sides).findings for each in finding.sides]
    assert labels and set(labels) == {"Redis · off", "Valkey · off"}


IN_TWO_MEMORIES = {**MEMORY, "replicas_acked": 1, "replica_ack": "memory"}
LATER = {"knee": 1, "value under a workload": 2}  # the finding that an example is of, where it is not the first


def accepted(side):
    """The side with points that a person counts although the checks rejected them."""
    return replace(side, points=tuple(replace(each, overridden=("known",)) for each in side.points))


UNKNOWN = [side(name, "off", 1, durability={}) for name in ("MongoDB", "MariaDB")]
EXAMPLES = {
    "cost": (
        [side("Redis", "off", 3, durability=MEMORY), side("Redis", "always", 2)],
        "Losing no write in a power cut costs Redis 33 % of its throughput, between 33 and 34 %.",
        "5 runs each.",
    ),
    "cost that is hardly known": (
        [
            side("Redis", "off", 3, durability=MEMORY, runs=3, scatter=0.064),
            side("Redis", "always", 2.4, runs=3, scatter=0.064),
        ],
        "Losing no write in a power cut costs Redis 20 % of its throughput, at most 36 %.",
        "3 runs each.",
    ),
    "cost of less": (
        [side("Redis", "off", 3, durability=MEMORY), side("Redis", "everysec", 2, durability=ONE_SECOND)],
        "Losing at most 1 s of writes costs Redis 33 % of its throughput, between 33 and 34 %.",
        "5 runs each.",
    ),
    "small cost": (
        [side("Redis", "off", 2, durability=MEMORY), side("Redis", "everysec", 2, durability=ONE_SECOND)],
        "Losing at most 1 s of writes costs Redis less than 5 % of its throughput.",
        "5 runs each.",
    ),
    "faster": (
        [side("PostgreSQL", "on", 1), side("Redis", "always", 2)],
        "Losing no write, Redis · always served 2.0 times as much as PostgreSQL · on.",
        "5 runs each.",
    ),
    "more": (
        [side("PostgreSQL", "on", 1), side("Redis", "always", 2, ladder=RISING)],
        "Losing no write, Redis · always served more than PostgreSQL · on: at least 8.00k ops/s against 3.90k ops/s.",
        "5 runs each; more load may give more.",
    ),
    "bound of the lower": (
        [side("PostgreSQL", "on", 1, ladder=RISING), side("Redis", "always", 2)],
        "Losing no write, Redis · always did 7.80k ops/s and PostgreSQL · on at least 4.00k.",
        "5 runs each; more load may give more.",
    ),
    "cost of a bound": (
        [side("Redis", "off", 3, durability=MEMORY, ladder=RISING), side("Redis", "always", 2)],
        "Redis did 7.80k ops/s in mode always and at least 12.0k in off.",
        "5 runs each; more load may give more.",
    ),
    "same": (
        [side("PostgreSQL", "on", 1.001), side("Redis", "always", 1)],
        "PostgreSQL · on and Redis · always served the same within 5 %.",
        "5 runs each.",
    ),
    "single runs": (
        [side("PostgreSQL", "on", 1, runs=1), side("Redis", "always", 2, runs=1)],
        "Losing no write, Redis · always did 7.83k ops/s and PostgreSQL · on 3.92k.",
        "1 run each; too few to call a difference.",
    ),
    "single runs of two modes": (
        [
            side("Redis", "off", 3, runs=1, **ONE_LOAD, durability=MEMORY),
            side("Redis", "always", 2, runs=1, **ONE_LOAD),
        ],
        "Redis · off did 2.99k ops/s, 1.5\N{MULTIPLICATION SIGN} the 1.99k ops/s of Redis · always.",
        "1 run each; too few to call a difference.",
    ),
    "single runs of two commits": (
        [
            side("Redis 0f1e2d3", "always", 1, runs=1, **ONE_LOAD, created_at=OLDER),
            side("Redis 9a8b7c6", "always", 0.83, runs=1, **ONE_LOAD, created_at=NEWER),
        ],
        "Losing no write, Redis 9a8b7c6 · always did 827 ops/s, "
        "0.830\N{MULTIPLICATION SIGN} the 996 ops/s of Redis 0f1e2d3 · always.",
        "1 run each; too few to call a difference.",
    ),
    "repeats of two commits": (
        [
            side("Redis 0f1e2d3", "always", 1, **ONE_LOAD, created_at=OLDER),
            side("Redis 9a8b7c6", "always", 0.83, **ONE_LOAD, created_at=NEWER),
        ],
        "Losing no write, Redis 0f1e2d3 · always served 1.20 times as much as Redis 9a8b7c6 · always.",
        "5 runs each.",
    ),
    "undecided": (
        [side("PostgreSQL", "on", 1.04, scatter=0.02), side("Redis", "always", 1, scatter=0.02)],
        "Losing no write, PostgreSQL · on did 4.05k ops/s and Redis · always 3.90k.",
        "5 runs each; too few to call a difference.",
    ),
    "undecided beside a bound": (
        [
            side("PostgreSQL", "off", 1.04, scatter=0.02, durability=MEMORY),
            side("PostgreSQL", "on", 1, scatter=0.02),
            side("Redis", "always", 2, ladder=RISING),
        ],
        "PostgreSQL did 3.90k ops/s in mode on and 4.05k in off.",
        "5 runs each; too few to call every difference.",
    ),
    "undecided beside other promises": (
        [side("PostgreSQL", "on", 1.04, scatter=0.02), side("Redis", "always", 1, scatter=0.02), *UNKNOWN],
        "Losing no write, PostgreSQL · on did 4.05k ops/s and Redis · always 3.90k.",
        "5 runs each; too few to call a difference.",
    ),
    "open end beside a cost": (
        [
            side("PostgreSQL", "off", 2, ladder=LEVEL, scatter=0.03, durability=MEMORY),
            side("PostgreSQL", "on", 1, ladder=LEVEL, scatter=0.03),
            side("Redis", "off", 3, durability=MEMORY),
            side("Redis", "always", 2),
        ],
        "PostgreSQL did 3.87k ops/s in mode on and 7.74k in off.",
        "5 runs each; the runs do not show every maximum.",
    ),
    "other promises beside a cost": (
        [side("Redis", "off", 3, durability=MEMORY), side("Redis", "always", 2), *UNKNOWN],
        "Losing no write in a power cut costs Redis 33 % of its throughput, between 33 and 34 %.",
        "5 runs each; some guarantees differ or are unknown: no ratio.",
    ),
    "other differences beside a cost": (
        [
            side("PostgreSQL", "off", 2, durability=MEMORY, setup=Setup(records=1000)),
            side("PostgreSQL", "on", 1, setup=Setup(records=1000)),
            side("Redis", "always", 2, setup=Setup(records=9)),
        ],
        "Losing no write in a power cut costs PostgreSQL 50 % of its throughput, between 49 and 51 %.",
        "5 runs each; some differ in more, so no ratio.",
    ),
    "bounds of one database": (
        [side("Redis", "off", 2, durability=MEMORY, ladder=RISING), side("Redis", "always", 1, ladder=RISING)],
        "Redis did at least 4.00k ops/s in mode always and at least 8.00k in off.",
        "5 runs each; more load may give more.",
    ),
    "bounds of two databases": (
        [side("PostgreSQL", "on", 2, ladder=RISING), side("Redis", "always", 1, ladder=RISING)],
        "Losing no write, PostgreSQL · on did at least 8.00k ops/s and Redis · always at least 4.00k.",
        "5 runs each; more load may give more.",
    ),
    "clients at their limit": (
        [limited()],
        "Redis · always did at least 4.00k ops/s.",
        "5 runs each; clients were the limit, values may be higher.",
    ),
    "other promises": (
        [side("Redis", "off", 3, durability=MEMORY), side("PostgreSQL", "on", 1)],
        "Redis · off did 11.7k ops/s and PostgreSQL · on 3.90k.",
        "5 runs each; guarantees differ or are unknown: no ratio.",
    ),
    "worst loss": (
        [side("Redis", "off", 3, durability=MEMORY), side("Redis", "everysec", 2, durability=UP_TO_TWO_SECONDS)],
        "Losing at most 2 s of writes costs Redis 33 % of its throughput, between 33 and 34 %.",
        "5 runs each.",
    ),
    "open end": (
        [
            side("PostgreSQL", "on", 1, ladder=LEVEL, scatter=0.03),
            side("Redis", "always", 2, ladder=LEVEL, scatter=0.03),
        ],
        "Losing no write, Redis · always did 7.74k ops/s and PostgreSQL · on 3.87k.",
        "5 runs each; the runs do not show the maximum.",
    ),
    "other differences": (
        [side("PostgreSQL", "on", 1, setup=Setup(records=1000)), side("Redis", "always", 2, setup=Setup(records=9))],
        "Losing no write, Redis · always did 7.80k ops/s and PostgreSQL · on 3.90k.",
        "5 runs each; they differ in more, so no ratio.",
    ),
    "alone": ([side("Redis", "always", 1)], "Redis · always did 3.90k ops/s.", "5 runs each."),
    "other modes": (
        [side("Redis", mode, factor, durability={}) for mode, factor in (("a", 1), ("b", 2), ("c", 3), ("d", 4))],
        "Redis did 15.6k ops/s in mode d, 11.7k in c, 7.80k in b and 1 more.",
        "5 runs each; guarantees differ or are unknown: no ratio.",
    ),
    "many values": (
        [side(f"Database {number}", "off", number, durability={}) for number in (1, 2, 3, 4, 5)],
        "Database 5 · off did 19.5k ops/s, Database 4 · off 15.6k, Database 3 · off 11.7k and 2 more.",
        "5 runs each; guarantees differ or are unknown: no ratio.",
    ),
    "many bounds": (
        [side(f"Database {number}", "off", number, durability={}, ladder=RISING) for number in (1, 2, 3, 4, 5)],
        "Database 5 · off did at least 20.0k ops/s, Database 4 · off at least 16.0k and 3 more.",
        "5 runs each; guarantees differ or are unknown: no ratio.",
    ),
    "long names": (
        [
            side("Our Redis Cluster of three masters without replicas", "off", 3, durability={}, ladder=RISING),
            side("Our PostgreSQL with one synchronous standby elsewhere", "on", 2, durability={}, ladder=RISING),
        ],
        "…Redis Cluster of three… did at least 12.0k ops/s and …PostgreSQL with one synchronous… at least 8.00k.",
        "5 runs each; guarantees differ or are unknown: no ratio.",
    ),
    "cost of an unknown loss": (
        [side("MongoDB", "w1", 3, durability=MEMORY), side("MongoDB", "majority", 2, durability=IN_TWO_MEMORIES)],
        "Mode majority costs MongoDB 33 % of its throughput, between 33 and 34 %.",
        "5 runs each.",
    ),
    "small cost of an unknown loss": (
        [side("MongoDB", "w1", 2, durability=MEMORY), side("MongoDB", "majority", 2, durability=IN_TWO_MEMORIES)],
        "Mode majority costs MongoDB less than 5 % of its throughput.",
        "5 runs each.",
    ),
    "knee": (
        [side("Redis", "always", 1)],
        "The latency of Redis · always rises steeply beyond 3.30k ops/s.",
        "5 runs each.",
    ),
    "cost under a workload": (
        [
            *(side("Redis", "off", 3, durability=MEMORY, workload=workload) for workload in ("A", "B")),
            *(side("Redis", "always", 2, workload=workload) for workload in ("A", "B")),
        ],
        "Losing no write in a power cut costs Redis 33 % of its throughput under A.",
        "5 runs each.",
    ),
    "faster under a workload": (
        [
            *(side("PostgreSQL", "on", 1, workload=workload) for workload in ("A", "B")),
            *(side("Redis", "always", 2, workload=workload) for workload in ("A", "B")),
        ],
        "Losing no write, Redis · always served 2.0 times as much as PostgreSQL · on under A.",
        "5 runs each.",
    ),
    "value under a workload": (
        [side("Redis", "always", 3, workload="A"), side("PostgreSQL", "on", 1, workload="E")],
        "PostgreSQL · on did 3.90k ops/s under E.",
        "5 runs each.",
    ),
    "only accepted": (
        [accepted(side("Redis", "always", 1))],
        "Nothing is compared: every ceiling has points that the checks rejected and a person accepted.",
        "",
    ),
    "nothing measured": ([curve(points=())], "No point was measured yet.", ""),
    "only stand-ins": (
        [curve(points=[point(2, 1000.0, standing=Standing.STAND_IN)], stand_ins=("vendor mock",))],
        "Nothing counts: no server that was measured is the product.",
        "",
    ),
    "overload": (
        [curve(points=[point(8, 970.0, target_ops_s=1000, offered_ops_s=1000.0, dropped_share=0.5)], ladder="target")],
        "No offered rate was kept up; the most that was done is 970 ops/s.",
        "",
    ),
    "nothing counts": (
        [curve(points=[point(2, 1000.0, standing=Standing.REJECTED)])],
        "Nothing counts: the checks rejected 1 point.",
        "",
    ),
    "stand-in beside rejected points": (
        [
            curve(
                points=[point(2, 1000.0, standing=Standing.STAND_IN), point(4, 1000.0, standing=Standing.REJECTED)],
                stand_ins=("vendor mock",),
            )
        ],
        "Nothing counts: the checks rejected 1 point.",
        "",
    ),
    "all left out": (
        [curve(points=[point(2, 1000.0, standing=Standing.EXCLUDED)])],
        "Nothing counts: people left points out.",
        "",
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_finding_and_certainty_are_plain(name):
    curves, expected, sure = EXAMPLES[name]

    answered = answer(*curves)

    number = LATER.get(name, 0)
    finding = sentence(answered.findings[number]).replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert (finding, certainty(answered)) == (expected, sure)


@pytest.mark.parametrize("name", EXAMPLES)
def test_sentences_are_short_and_without_house_words(name):
    answered = answer(*EXAMPLES[name][0])

    for finding in answered.findings:
        assert count_words(sentence(finding)) <= 20
        assert not [word for word in HOUSE_WORDS if word in sentence(finding)]
    assert len(certainty(answered).split()) <= 15


def test_every_kind_of_finding_and_doubt_has_an_example():
    answers = {name: answer(*curves) for name, (curves, _, _) in EXAMPLES.items()}

    codes = {answers[name].findings[LATER.get(name, 0)].code for name in EXAMPLES}
    doubts = set(chain.from_iterable(answered.doubts for answered in answers.values()))
    assert codes == set(Code)
    assert doubts | {Doubt.ONE_MACHINE, Doubt.DEMONSTRATION, Doubt.UNPUBLISHABLE} == set(Doubt)


@pytest.mark.parametrize("code", Code)
@pytest.mark.parametrize("bound", [True, False])
@pytest.mark.parametrize("is_of_one_database", [True, False])
def test_long_names_leave_at_most_20_words(code, bound, is_of_one_database):
    database = "A database of a very long name which somebody chose to tell {} from the others"
    sides = tuple(
        Side(name, f"mode {number} of many words", f"{name} · mode {number} of many words", 12_345.0, bound, uuid4())
        for number in range(5)
        for name in [database.format(0 if is_of_one_database else number)]
    )
    workload = "a workload of a name with more words than anybody reads"
    if code not in (Code.VALUES, Code.NOTHING_MEASURED, Code.NOTHING_COUNTS):
        sides = sides[:2]

    text = sentence(Finding(code, sides, 0.33, (0.3, 0.36), 0.0, workload))

    assert count_words(text) <= 20


@pytest.mark.parametrize("doubt", Doubt)
@pytest.mark.parametrize("purpose", [Doubt.DEMONSTRATION, Doubt.UNPUBLISHABLE])
def test_certainty_has_at_most_15_words(doubt, purpose):
    doubts = tuple({Doubt.ONE_MACHINE, purpose, doubt})
    decided = Finding(Code.SAME, (Side("Redis", "off", "Redis", 1.0, False, uuid4()),) * 2)

    for findings in ((), (decided,)):
        assert len(certainty(Answer(findings, (1, 20), doubts)).split()) <= 15


def test_databases_are_compared_where_they_promise_the_same():
    answered = answer(
        side("Redis", "off", 3, durability=MEMORY), side("PostgreSQL", "on", 1), side("Redis", "always", 2)
    )

    assert [finding.code for finding in answered.findings] == [Code.COST, Code.FASTER, Code.KNEE]
    assert [side.label for side in answered.findings[1].sides] == ["Redis · always", "PostgreSQL · on"]
    assert sentence(answered.findings[2]).startswith("The latency of Redis · always rises steeply beyond ")


def test_long_names_lose_what_all_sides_share_first():
    sides = tuple(
        Side(database, "no-commitlog", f"{database} · no-commitlog", 1_590.0, True, uuid4())
        for database in ("cassandra x2, RF 2", "cassandra x3, RF 2", "cassandra x4, RF 2")
    )

    text = sentence(Finding(Code.VALUES, sides, workload="tt14 BA"))

    assert text.startswith("…x2, RF 2 did at least 1.59k") and "…x3, RF 2 at least" in text


def test_workloads_are_not_ranked_against_each_other():
    answered = answer(side("Redis", "always", 3, workload="A"), side("PostgreSQL", "on", 1, workload="E"))

    assert [sentence(finding) for finding in answered.findings if finding.code is Code.VALUES] == [
        "Redis · always did 11.7k\N{NARROW NO-BREAK SPACE}ops/s under A.",
        "PostgreSQL · on did 3.90k\N{NARROW NO-BREAK SPACE}ops/s under E.",
    ]


def test_machines_and_purpose_limit_an_answer():
    setup = replace(curve().setup, cluster_machines=(ONE_MACHINE,), generator_machines=(ONE_MACHINE,))
    answered = answer(side("Redis", "always", 1, setup=setup, purpose="demo"))

    assert certainty(answered) == "5 runs each, one machine, short demo."
    first, second = replace(answered.findings[0], workload="E"), replace(answered.findings[0], workload="F")
    several = replace(answered, findings=(first, second))
    headline = f"{sentence(first)} {certainty(answered)}"
    assert render_text(several, 600) == f"{sentence(first)} {sentence(second)} {certainty(answered)}"
    assert render_text(several, len(headline)) == headline and render_text(several, 5) == ""
    assert render_text(answered, 600).endswith("ops/s. 5 runs each, one machine, short demo.")


def test_conditions_are_named():
    conditions = dict(list_conditions([side("Redis", "always", 1)], "service"))

    assert conditions["Window"].replace("\N{NARROW NO-BREAK SPACE}", " ") == "10 s measured after 2 s of warm-up."
    assert conditions["Left out"] == "Nothing."


def test_tuning_is_no_demonstration():
    assert certainty(answer(side("Redis", "always", 1, purpose="tuning"))) == "5 runs each, not publishable."


def test_accepted_points_are_in_no_headline():
    findings = answer(accepted(side("Redis", "always", 1))).findings

    assert [finding.code for finding in findings] == [Code.ONLY_ACCEPTED]


OTHERS = ("MongoDB", "MariaDB", "Valkey", "KeyDB", "FerretDB")


def noisy(database, mode, factor, **changes):
    return side(database, mode, factor, scatter=0.03, runs=3, **changes)


def test_line_and_table_have_one_verdict_of_a_pair():
    """Alone the interval excludes 1; among the comparisons of the table it does not count."""
    pair = [noisy("PostgreSQL", "off", 1.1, durability=MEMORY), side("PostgreSQL", "on", 1, runs=3)]
    assert answer(*pair).findings[0].code is Code.COST
    others = [
        noisy(name, "off", 1.01, durability=MEMORY) for name in ("Redis", "Valkey", "KeyDB", "MongoDB", "MariaDB")
    ]
    result, table = answer_beside_table([*pair, *others])
    verdict = next(row.ratios[0] for row in table.rows if row.curve is pair[0])
    assert table.baseline is pair[1] and verdict.outcome.startswith("inconclusive: needs")
    assert result.findings[0].code is Code.VALUES and result.findings[0].limit is Doubt.FEW_RUNS
    assert sentence(result.findings[0]).startswith("PostgreSQL did ") and "too few to call " in certainty(result)


@pytest.mark.django_db
def test_compare_page_answers_by_its_table(team):
    pair = [noisy("PostgreSQL", "off", 1.1, durability=MEMORY), side("PostgreSQL", "on", 1, runs=3)]
    others = [
        noisy(name, "off", 1.01, durability=MEMORY) for name in ("Redis", "Valkey", "KeyDB", "MongoDB", "MariaDB")
    ]
    codes = [judge(team, Selection(), sides, {}, None)[0].findings[0].code for sides in (pair, [*pair, *others])]
    assert codes == [Code.COST, Code.VALUES]


def test_pair_that_table_lacks_is_judged_among_its_comparisons():
    pair = [noisy("Redis", "off", 1.1, durability=MEMORY), side("Redis", "on", 1, runs=3)]
    others = [noisy(name, "on", 1 + 0.01 * number) for number, name in enumerate(OTHERS)]
    assert answer(*others, *pair).findings[0].code is Code.COST
    result, table = answer_beside_table([*others, *pair])
    assert table.baseline is others[0] and Code.COST not in {finding.code for finding in result.findings}


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_line_decides_no_more_than_the_table(name):
    result, table = answer_beside_table(EXAMPLES[name][0])
    rows = [row for row in table.rows if not row.is_baseline] if table else []
    outcomes = {row.curve.sweep_id: row.ratios and row.ratios[0].comparison.outcome for row in rows}
    for finding in result.findings:
        ids = {each.sweep_id for each in finding.sides}
        others = ids - {table.baseline.sweep_id} if table else ids
        if finding.code in (Code.COST, Code.SMALL_COST, Code.FASTER, Code.MORE, Code.SAME) and len(others) == 1:
            assert outcomes[others.pop()] in (Outcome.FASTER, Outcome.SLOWER, Outcome.EQUIVALENT)
