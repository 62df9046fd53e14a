"""A client run is claimed once, however often its message is delivered, and whatever it waits for on the way."""

import time
import uuid

import pytest
from django.db import transaction

from runs.models import ClientRun, Run
from runs.queue import client_lifecycle
from runs.queue.reasons import Reason
from runs.tests.factories import make_load_generator, make_run, make_sweep

pytestmark = pytest.mark.slow


@pytest.fixture
def waiting(transactional_db):
    run = make_run(make_sweep(), threads=2, status="running")
    ClientRun.objects.filter(run=run).delete()
    return ClientRun.objects.create(
        run=run, number=1, order={}, load_generator=make_load_generator(), state=ClientRun.State.WAITING
    )


def test_of_claims_that_wait_for_one_another_one_wins(waiting, race):
    """The first holds the row for a moment: the others have found it waiting, and must look again before they write."""

    def claim():
        with transaction.atomic():
            claim_id = uuid.uuid4()
            won = client_lifecycle.claim(waiting.pk, claim_id)
            time.sleep(0.3)
        return claim_id if won else None

    won = [answer for answer in race(claim, times=3) if answer]
    assert len(won) == 1
    waiting.refresh_from_db()
    assert (waiting.state, waiting.claim) == (ClientRun.State.STARTING, won[0])


def test_it_is_not_claimed_twice_nor_after_its_run_has_ended(waiting):
    assert client_lifecycle.claim(waiting.pk, uuid.uuid4())
    assert not client_lifecycle.claim(waiting.pk, uuid.uuid4())

    ClientRun.objects.filter(pk=waiting.pk).update(state=ClientRun.State.WAITING, claim=None)
    Run.objects.filter(pk=waiting.run_id).update(cancel_requested_at=waiting.run.created_at)
    assert not client_lifecycle.claim(waiting.pk, uuid.uuid4())


@pytest.fixture
def claim(waiting):
    claim_id = uuid.uuid4()
    assert client_lifecycle.claim(waiting.pk, claim_id)
    return claim_id


def complete(client_run, claim, reason=Reason.NONE):
    client_lifecycle.complete(client_run.pk, claim, reason, "", exit_code=0)
    client_run.refresh_from_db()
    return client_run.state


def test_claim_can_be_repeated_by_its_holder(waiting, claim):
    """The answer to the first attempt may be lost with its connection."""
    assert client_lifecycle.claim(waiting.pk, claim)


def test_client_that_stores_output_is_active(waiting, claim):
    """Its heartbeats keep the run alive, and both moments are recorded."""
    client_lifecycle.begin_storing(waiting.pk, claim)
    waiting.refresh_from_db()
    assert (waiting.state, waiting.output_stored_at) == (ClientRun.State.STORING, None)
    assert waiting.stopped_at is not None
    assert client_lifecycle.beat(waiting.pk, claim)

    assert complete(waiting, claim) == ClientRun.State.FINISHED
    assert waiting.stopped_at <= waiting.output_stored_at


def test_late_output_completes_an_ended_client(waiting, claim):
    client_lifecycle.abandon(waiting.run_id, Reason.WORKER_LOST, "Silent.")
    client_lifecycle.begin_storing(waiting.pk, claim)
    waiting.refresh_from_db()
    assert waiting.state == ClientRun.State.FAILED

    assert complete(waiting, claim) == ClientRun.State.FINISHED
    assert (waiting.reason, waiting.exit_code) == ("", 0)
    assert waiting.output_stored_at is not None


def test_late_failure_keeps_the_first_reason(waiting, claim):
    client_lifecycle.abandon(waiting.run_id, Reason.CANCELLED_BY_USER, "Cancelled.")
    assert complete(waiting, claim, Reason.CLIENT_FAILED) == ClientRun.State.FAILED
    assert waiting.reason == Reason.CANCELLED_BY_USER


def test_another_claim_completes_nothing(waiting, claim):
    assert complete(waiting, uuid.uuid4()) == ClientRun.State.STARTING
    assert waiting.output_stored_at is None
