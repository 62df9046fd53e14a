"""A run carried out in the test's own process."""

import uuid

from runs.tests.factories import claim_run
from workers.conductor.conductor import conduct_claimed_run


def conduct_run(run_id: uuid.UUID) -> None:
    """Claim a dispatched run and carry it out; where it is claimed already nothing is done."""
    claim = claim_run(run_id, actor="test")
    if claim is not None:
        conduct_claimed_run(run_id, claim)
