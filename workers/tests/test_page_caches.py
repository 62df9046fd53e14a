"""Page caches are emptied by the operator's command alone, and only where a plan asks for it."""

import sys

import pytest

from runs.models import Run
from runs.queue.reasons import Reason
from workers.conductor.page_caches import drop_page_caches
from workers.errors import RunFailed


def run_with(reset: str) -> Run:
    return Run(spec={"resets": {"rung": reset}})


def test_runs_the_command_before_a_run(settings, tmp_path):
    settings.DROP_CACHES_COMMAND = f"touch '{tmp_path}/caches are gone'"

    assert (drop_page_caches(run_with("drop_caches")) or 0) >= 0

    assert (tmp_path / "caches are gone").exists()


@pytest.mark.parametrize("reset", ["keep", "restart", "reload"])
def test_runs_nothing_unless_the_plan_asks(settings, tmp_path, reset):
    settings.DROP_CACHES_COMMAND = f"touch {tmp_path}/gone"

    assert drop_page_caches(run_with(reset)) is None
    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "set BENCHSITE_DROP_CACHES_COMMAND"),
        ("/nowhere/drop", "No such file"),
        ("unbalanced 'quote", "No closing quotation"),
        (f"{sys.executable} -c 'import sys; sys.exit(\"permission denied\")'", "ended with code 1: permission denied"),
    ],
)
def test_failure_names_the_command_and_is_not_retried(settings, command, message):
    settings.DROP_CACHES_COMMAND = command

    with pytest.raises(RunFailed, match=message) as failed:
        drop_page_caches(run_with("drop_caches"))

    assert failed.value.reason == Reason.BAD_PLAN
