"""A client run is claimed once, however often its message is delivered, and whatever it waits for on the way."""

import time

import pytest
from django.db import transaction

from runs import client_lifecycle
from runs.models import ClientRun, Run
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
            won = client_lifecycle.claim(waiting.pk)
            time.sleep(0.3)
        return won

    won = [answer for answer in race(claim, times=3) if answer]
    assert len(won) == 1
    waiting.refresh_from_db()
    assert (waiting.state, waiting.claim) == (ClientRun.State.STARTING, won[0])


def test_it_is_not_claimed_twice_nor_after_its_run_has_ended(waiting):
    assert client_lifecycle.claim(waiting.pk)
    assert client_lifecycle.claim(waiting.pk) is None

    ClientRun.objects.filter(pk=waiting.pk).update(state=ClientRun.State.WAITING, claim=None)
    Run.objects.filter(pk=waiting.run_id).update(cancel_requested_at=waiting.run.created_at)
    assert client_lifecycle.claim(waiting.pk) is None
