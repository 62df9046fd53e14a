"""Which results meet a need: the question in the address, and answers from curves (analysis 9)."""

import uuid
from dataclasses import replace

import pytest
from django.http import QueryDict

from reports.compare.curves import Progress, Setup, Standing
from reports.compare.pages.answer_messages import plain_text
from reports.sizing.forms import QuestionForm
from reports.sizing.views import answer
from reports.tests.curves import DISK, curve, operation, point

NODES = Setup(nodes=3, price_per_hour=6.0, replication_factor=2, records=1_000_000, record_bytes=1000)
REPLICATED = {**DISK, "replicas_acked": 1, "replica_ack": "memory"}


def form(query):
    return QuestionForm(QueryDict(query))


def asked(query):
    question = form(query)
    assert question.is_answerable
    return question.cleaned_data


def text(template, **result):
    return plain_text(f"sizing/{template}.txt", **result).replace("\N{NARROW NO-BREAK SPACE}", " ")


def side(throughputs=((8, 410_000.0, 500.0), (16, 820_000.0, 1000.0)), setup=NODES, **changes):
    """Rungs of (threads, ops/s, mean µs); p99 is three times the mean."""
    points = [
        point(n, x, operations=(operation("READ", us), operation("UPDATE", us * 1.2))) for n, x, us in throughputs
    ]
    return curve(points=points, setup=setup, **changes)


def only(result):
    assert len(result["answers"]) == 1 and not result["refused"]
    return result["answers"][0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, 200_000.0) for text in ("200k", "200000", "200,000", "200 000", "2e5", "200k ops/s", "0.2M")),
        ("1.5M", 1_500_000.0),
        (".5k", 500.0),
    ],
)
def test_throughput_is_read_as_people_write_it(text, value):
    assert asked(f"throughput={text}")["throughput"] == value


@pytest.mark.parametrize("text", ["0", "-5", "nan", "inf", "lots", "1e99", "1e400", "2,5", "200kk"])
def test_what_is_no_number_has_a_sentence_beside_its_field(text):
    question = form(f"throughput={text}&within={text}&headroom={text}&copies={text}")
    assert set(question.errors) == {"throughput", "within", "headroom", "copies"}
    assert not question.is_answerable and "Write it like" in question.errors["throughput"][0]


def test_other_nonsense_has_a_sentence_too():
    question = form(
        "throughput=1&op=DROP&stat=p98&survives=ragnarok&survives=node_loss&copies=1.5&headroom=1.2&data=100"
    )
    assert set(question.errors) == {"op", "stat", "survives", "copies", "headroom", "node"}


def test_the_empty_question_has_no_problem_and_no_answer():
    assert form("").is_valid() and not form("").is_answerable


def test_the_worked_sizing():
    """820,000 ops/s on three nodes, a million needed, 4,000 GB twice on nodes of 3,200 GB."""
    qualified = only(answer([side()], asked("throughput=1M&data=4000&copies=2&node=3200")))
    assert (qualified.nodes, qualified.binding) == (6, "throughput")
    assert qualified.parts == {"throughput": 6, "storage": 4, "copies": 2}
    assert qualified.node_ops_s == pytest.approx(273_333, abs=1)
    assert qualified.operations_per_dollar == pytest.approx(492e6)
    assert qualified.dollars_per_million == pytest.approx(0.00203, abs=5e-6)
    assert (qualified.dollars_an_hour, qualified.dollars_a_month) == (12.0, 8760.0)
    assert text("scaling", answer=qualified) == "linear scaling assumed from 3 nodes"
    alone = only(answer([side(setup=replace(NODES, nodes=1))], asked("throughput=1M")))
    split = f"load and data split over {alone.nodes}"
    assert text("scaling", answer=alone) == f"linear scaling assumed from 1 node, {split}"


def test_single_runs_answer_with_the_highest_measured():
    peaked = side(((8, 410_000.0, 500.0), (16, 820_000.0, 1000.0), (32, 800_000.0, 1500.0)))
    assert only(answer([peaked], asked("throughput=200k"))).reached.how == "the highest measured, at 16 threads"


def test_the_limit_lowers_what_a_node_brings():
    within = only(answer([side()], asked("throughput=1M&within=2.4&op=READ")))
    assert 410_000 < within.reached.throughput_ops_s < 820_000 and within.reached.operation == "READ"
    assert within.reached.how.startswith("≈ between 8 ")
    every = only(answer([side()], asked("throughput=1M&within=2.4")))
    assert every.reached.operation == "UPDATE" and every.reached.throughput_ops_s < within.reached.throughput_ops_s


def refusal(one, query):
    result = answer([one], asked(query))
    assert not result["answers"]
    return text("refusal", side=result["refused"][0])


def test_who_does_not_qualify_is_told_why():
    assert "above 1.00 ms even on its lowest rung" in refusal(side(), "throughput=1k&within=1")
    assert "the loss of a node" in refusal(side(), "throughput=1k&survives=node_loss")
    assert "The durability mode is not stated" in refusal(side(durability={}), "throughput=1k&survives=power_loss")
    assert "number of nodes is not stated" in refusal(side(setup=Setup()), "throughput=1k")
    assert "p99 of SCAN was not measured" in refusal(side(), "throughput=1k&within=5&op=SCAN")
    nothing = side((), progress=Progress(runs=6, cancelled=3, failed=2))
    assert refusal(nothing, "throughput=1k") == "Nothing of it was measured, 3 cancelled, 2 failed, 1 not ended."
    unknown = side((), progress=Progress(runs=2, succeeded=1, failed=1))
    assert refusal(unknown, "throughput=1k") == "The throughput or the threads of its runs are unknown."
    assert "No operation ended" in refusal(side(((8, 0.0, 1.0),)), "throughput=1k")
    bare = curve(points=[point(8, 10.0, operations=())], setup=NODES)
    assert "p99 of any operation" in refusal(bare, "throughput=1k&within=5")


def test_a_replicated_write_survives_the_loss_of_a_node():
    query = "throughput=1k&survives=node_loss&survives=power_loss&survives=process_crash"
    assert only(answer([side(durability=REPLICATED)], asked(query))).binding == "copies"


def test_rejected_points_answer_nothing():
    rejected = side()
    rejected = replace(rejected, points=tuple(replace(p, standing=Standing.REJECTED) for p in rejected.points))
    expected = "No point of it counts: rejected by the validity checks."
    assert refusal(rejected, "throughput=1k") == expected


def test_what_the_measurement_does_not_cover_is_said():
    qualified = only(answer([side(purpose="demo")], asked("throughput=1M&data=4000&copies=3&node=3200")))
    notes = plain_text("sizing/notes.txt", answer=qualified)
    assert "measured with 2 copies, not 3" in notes and "on a node, not" in notes and "too short to rely on" in notes
    assert "lower bound" in notes  # two rungs that doubled


def test_a_price_in_the_question_replaces_the_machines():
    assert only(answer([side()], asked("throughput=1M&price=10"))).dollars_an_hour == 60.0
    unpriced = only(answer([side(setup=replace(NODES, price_per_hour=None))], asked("throughput=1M")))
    assert (
        unpriced.dollars_an_hour is None and unpriced.operations_per_dollar is None and unpriced.dollars_a_month is None
    )


def scaled(*sizes, **changes):
    matrix = uuid.uuid4()
    return [
        side(((8, x, 500.0),), setup=replace(NODES, nodes=nodes), matrix_id=matrix, **changes) for nodes, x in sizes
    ]


def test_several_cluster_sizes_of_one_matrix_answer_together():
    qualified = only(answer(scaled((2, 400.0), (4, 600.0), (8, 900.0)), asked("throughput=490")))
    assert text("scaling", answer=qualified) == "scaling measured on 2, 4 and 8 nodes" and qualified.reached.nodes == 8
    assert qualified.parts["throughput"] == 6  # 490 / 0.7 = 700: a third of the way from four nodes to eight
    beyond = only(answer(scaled((2, 400.0), (4, 600.0)), asked("throughput=700")))
    assert text("scaling", answer=beyond) == "scaling measured on 2 and 4 nodes, extrapolated beyond"


def test_more_nodes_that_bring_nothing_are_no_answer():
    (refused,) = answer(scaled((2, 400.0), (4, 390.0)), asked("throughput=700"))["refused"]
    assert text("refusal", side=refused) == "2 and 4 nodes were measured, and 4 may do more: the ladder is too short."


def test_sweeps_of_other_matrices_or_same_size_stay_separate():
    first, second = scaled((2, 400.0)), scaled((4, 600.0))
    assert len(answer([*first, *second], asked("throughput=100"))["answers"]) == 2
    assert len(answer(scaled((2, 400.0), (2, 500.0)), asked("throughput=100"))["answers"]) == 2


def test_the_cheapest_comes_first_then_the_fewest_nodes():
    cheap = side(setup=replace(NODES, price_per_hour=3.0), mode="cheap")
    free = side(setup=replace(NODES, price_per_hour=None), mode="unpriced")
    response = answer([free, side(mode="dear"), cheap], asked("throughput=1M"))
    assert [answer.curve.mode for answer in response["answers"]] == ["cheap", "dear", "unpriced"]


def test_the_product_of_ratios_stands_beside_what_binds():
    slow = side(((8, 200_000.0, 500.0),), setup=replace(NODES, replication_factor=4, price_per_hour=60.0))
    against = answer([side(), slow], asked("throughput=1M&data=4000&node=3200"))["against"]
    assert [round(ratio["throughput_ratio"], 2) for ratio in against] == [4.1] and against[0]["storage_ratio"] == 2.0
    assert against[0]["product"] == pytest.approx(8.2) and against[0]["binding"] == pytest.approx(4.1)
    assert answer([side(), slow], asked("throughput=1M"))["against"] == []


def test_response_times_count_where_a_target_was_set():
    points = [
        point(8, x, target_ops_s=int(x), operations=(operation("READ", 100.0), operation("READ", us, kind="response")))
        for x, us in ((1000.0, 200.0), (2000.0, 4000.0))
    ]
    qualified = only(answer([curve(points=points, setup=NODES, ladder="target")], asked("throughput=1k&within=3")))
    assert qualified.reached.throughput_ops_s < 2000.0


def targets(*rungs):
    """Rungs of (target, achieved, mean µs); p99 is three times the mean."""
    points = [point(64, x, target_ops_s=t, operations=(operation("READ", us),)) for t, x, us in rungs]
    return curve(points=points, setup=NODES, ladder="target")


FAILED = ((25_000, 25_000.0, 100.0), (50_000, 45_000.0, 120.0), (100_000, 89_900.0, 150.0))


@pytest.mark.parametrize("query", ["throughput=10k&within=100", "throughput=10k"])
def test_no_latency_limit_gives_more_than_sustained_ceiling(query):
    qualified = only(answer([targets(*FAILED)], asked(query)))
    assert qualified.reached.throughput_ops_s == 25_000
    capped = only(answer([targets(*FAILED)], asked("throughput=10k&within=100"))).reached
    assert capped.how == "measured at a target of 25.0k, the last that was sustained"


def test_limit_below_the_ceiling_of_targets_is_interpolated():
    side = targets((25_000, 25_000.0, 100.0), (50_000, 50_000.0, 400.0), (100_000, 80_000.0, 900.0))
    reached = only(answer([side], asked("throughput=10k&within=0.6"))).reached
    assert 25_000 < reached.throughput_ops_s < 50_000 and reached.how.startswith("≈ between a target of 25.0k and")


def test_targets_of_which_none_was_sustained_answer_nothing():
    never = targets((25_000, 20_000.0, 100.0), (50_000, 30_000.0, 120.0))
    for query in ("throughput=10k", "throughput=10k&within=100"):
        result = answer([never], asked(query))
        assert not result["answers"] and result["refused"][0]["code"] == "not_sustained"
