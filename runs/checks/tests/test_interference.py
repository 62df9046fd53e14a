"""V25: what other processes of the machines used while a run was measured."""

from dataclasses import replace

import numpy as np
import pytest

from runs.checks import profile
from runs.checks.tests.test_checks import both, facts, host, result, severity


def for_part(cores, share):
    """So many cores during this share of the 300 s, from the middle on."""
    used = np.full(300, 0.02)
    used[150 : 150 + round(300 * share)] = cores
    return used


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (for_part(1.6, 0.40), "warn"),
        (for_part(1.6, 0.09), "pass"),
        (for_part(0.39, 0.50), "pass"),
        (for_part(4.0, 0.50), "reject"),
        (1.01, "reject"),
        (0.99, "warn"),
    ],
)
def test_judges_other_processes_by_cores_and_time(other, expected):
    assert severity("V25", facts(hosts=(host("machine 0"), host("machine 1", other)))) == expected


def test_names_cores_time_and_machine():
    finding = result("V25", facts(clients=both(machine="lab"), hosts=(host("lab", for_part(0.8, 0.4), cores=2),)))
    assert (
        finding.message
        == "On lab other processes used 0.8 of 2 cores during 40\N{NARROW NO-BREAK SPACE}% of the window."
    )
    assert finding.severity == "warn"


def test_counts_steal_as_interference():
    finding = result("V25", facts(hosts=(host("machine 0", steal_cores=2.0), host("machine 1"))))
    assert finding.severity == "reject"
    assert "2 on average by the hypervisor" in finding.message


@pytest.mark.parametrize("purpose", ["demo", "smoke"])
def test_only_warns_for_demo_and_smoke(purpose):
    busy = facts(hosts=(host("machine 0", 3.0), host("machine 1")))
    assert severity("V25", busy, profile(purpose)) == "warn"
    assert severity("V25", busy, profile("tuning")) == "reject"


def test_needs_samples_of_every_load_generator():
    finding = result("V25", facts(hosts=(host("machine 0"),)))
    assert finding.severity == "not_assessed"
    assert finding.message == "Nothing was sampled on machine 1."
    assert severity("V25", facts(hosts=(host("machine 0", 3.0),))) == "reject"


def test_needs_to_see_servers_and_clients():
    """A server that the sampler does not see would count as another process."""
    unseen = replace(host("machine 0", 2.0), owners=("servers_cores", "clients_cores"))
    finding = result("V25", facts(hosts=(unseen, host("machine 1"))))
    assert finding.severity == "not_assessed"
    assert "did not see the servers" in finding.message


def test_ignores_samples_outside_the_window():
    warmup = np.where(np.arange(300) < 100, 4.0, 0.0)
    assert host("lab", warmup).within(1100.0, 1300.0).mean("other_cores") == 0.0
    assert len(host("lab").within(2000.0, 3000.0)) == 0
