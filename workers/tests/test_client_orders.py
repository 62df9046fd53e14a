"""The orders of a run's clients: shares of threads, target and records, and bounds of operations and time."""

import pytest

from runs.plans.operation_limit import MAX_PREDICTED_OPERATIONS
from runs.queue.reasons import Reason
from runs.tests.factories import make_load_generator, make_matrix, make_spec, make_sweep, make_team
from workers.errors import RunFailed
from workers.generator.client_commands import check_slots, client_orders, ready_deadline_s

pytestmark = pytest.mark.django_db
SECONDS = {"min_measure_s": 12 * 3600, "max_measure_s": 12 * 3600}


def test_orders_every_process_within_the_limit():
    """Two generators with three processes each share 205,000 ops/s for 12 hours."""
    team = make_team()
    matrix = make_matrix(team=team, processes_per_generator=3, warmup_s=60, **SECONDS)
    generators = [make_load_generator(), make_load_generator()]
    spec = make_spec(make_sweep(team=team, matrix=matrix), threads=64, target_ops_s=205_000, generators=generators)
    orders = client_orders(spec, {})
    assert [(order.load_generator_id, order.process_number) for order in orders] == [
        (str(generator.pk), process) for generator in generators for process in range(3)
    ]
    assert sum(order.order["threads"] for order in orders) == 64
    assert sum(order.order["target_ops_s"] for order in orders) == 205_000
    for order in (order.order for order in orders):
        assert order["duration_s"] == 12 * 3600 + 61
        assert order["target_ops_s"] * order["duration_s"] <= MAX_PREDICTED_OPERATIONS
        # YCSB stops by time: the count is the largest that its int holds.
        assert order["properties"]["maxexecutiontime"] == str(order["duration_s"])
        assert order["properties"]["operationcount"] == "2147483647"


def test_clients_count_until_the_operations_are_done():
    """They may work for the longest time."""
    window = {"warmup_s": 60, "min_measure_s": 600, "max_measure_s": 3600, "min_operations": 10**7}
    spec = make_spec(make_sweep(), generators=[make_load_generator()])
    [timed] = client_orders(spec, {})
    [counting] = client_orders({**spec, "window": window}, {})
    assert "window_s" not in timed.order
    assert (counting.order["window_s"], counting.order["duration_s"]) == (60, 3661)


def test_refuses_a_generator_that_lost_slots():
    """Its worker was restarted with fewer after the run had been submitted."""
    generators = [make_load_generator(slots=2), make_load_generator(name="lab-7", slots=1)]
    spec = make_spec(make_sweep(), generators=generators)
    check_slots(generators, spec)
    spec["load"]["processes"] = 2
    with pytest.raises(RunFailed, match="lab-7 now runs 1 at a time") as failure:
        check_slots(generators, spec)
    assert failure.value.reason == Reason.BAD_PLAN


def test_clients_of_a_primed_run_may_take_so_much_longer():
    spec = {"phase": "measure", "workload": {"properties": {}}, "load": {}}
    primed = {**spec, "primed": {"seconds": 60, "reads_only": False}}

    assert ready_deadline_s(primed) - ready_deadline_s(spec) == 60
