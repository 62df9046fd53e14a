"""A server that has just come up is prepared again only after its driver gave up."""

from types import SimpleNamespace

import pytest

from workers.provision.administration import AdministrationError, DriverError
from workers.provision.servers import PREPARE_ATTEMPTS, StartingProvisioner


def prepare(*errors):
    """The calls until one succeeds; the first ones raise these errors."""
    calls, left = [], list(errors)

    def call(schema):
        calls.append(schema)
        if left:
            raise left.pop(0)

    StartingProvisioner._prepare(SimpleNamespace(administration=SimpleNamespace(prepare=call)), {"user": "bench"})
    return calls


def test_prepares_again_after_a_driver_gave_up():
    assert prepare(*[DriverError("timed out")] * (PREPARE_ATTEMPTS - 1)) == [{"user": "bench"}] * PREPARE_ATTEMPTS


def test_gives_up_after_the_last_attempt():
    with pytest.raises(DriverError, match="timed out"):
        prepare(*[DriverError("timed out")] * PREPARE_ATTEMPTS)


def test_does_not_repeat_a_refusal():
    with pytest.raises(AdministrationError, match="permission denied"):
        prepare(AdministrationError("permission denied"))
