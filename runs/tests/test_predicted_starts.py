"""When a waiting run will start: a simulation of the queue over the machines."""

from datetime import UTC, datetime, timedelta

from runs.queue.pages.queue import Queued, predict_starts

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


def queued(name, machines="m", seconds=60.0, **fields):
    return Queued(name, frozenset(machines), seconds, **fields)


def starts(*runs):
    return {name: (starts - NOW).total_seconds() for name, (starts, _) in predict_starts(runs, NOW).items()}


def test_runs_on_one_machine_follow_each_other():
    assert starts(queued("a", seconds=10), queued("b", seconds=20), queued("c")) == {"a": 0, "b": 10, "c": 30}


def test_runs_on_different_machines_start_together():
    assert starts(queued("a", "m"), queued("b", "n"), queued("c", "mn")) == {"a": 0, "b": 0, "c": 60}


def test_a_running_one_holds_its_machines_until_its_expected_end():
    running = queued("r", seconds=60, started_at=NOW - timedelta(seconds=45))
    assert starts(running, queued("a")) == {"r": -45, "a": 15}


def test_a_late_one_is_expected_to_end_now():
    late = queued("r", seconds=60, started_at=NOW - timedelta(hours=1))
    assert starts(late, queued("a"))["a"] == 0


def test_a_running_one_counts_wherever_it_stands_in_the_list():
    assert starts(queued("a"), queued("r", started_at=NOW, seconds=30))["a"] == 30


def test_run_waits_for_its_load_even_with_free_machines():
    assert starts(queued("load", "m", 30), queued("run", "n", needs="load")) == {"load": 0, "run": 30}


def test_nothing_waits_for_an_ended_load():
    assert starts(queued("run", needs="ended")) == {"run": 0}


def test_an_empty_queue_predicts_nothing():
    assert predict_starts([], NOW) == {}
