"""RocksDB is a library inside the client: a plan has one client, on the machine of its cluster."""

from typing import Any

import pytest

from benchsite.accounts.models import Team
from runs.plans.drafts import stored_plan
from runs.plans.preview import preview
from runs.tests.factories import (
    make_cluster,
    make_database,
    make_load_generator,
    make_machine,
    make_matrix,
    make_workload,
)

pytestmark = pytest.mark.django_db
ONE_CLIENT = "use one load generator on the machine of Local, with one client"


@pytest.mark.parametrize(
    ("provisioner", "generators", "is_local", "fields", "words"),
    [
        ("process", 1, True, {}, ""),
        ("process", 2, True, {}, ONE_CLIENT),
        ("process", 1, True, {"processes_per_generator": 2}, ONE_CLIENT),
        ("process", 1, False, {}, ONE_CLIENT),
        ("external", 1, True, {}, "has no server: choose Benchsite's own binding and a cluster of kind process"),
        ("docker", 1, True, {}, "no image of RocksDB is known; use a cluster of kind process"),
    ],
    ids=["one", "two generators", "two clients", "elsewhere", "external", "docker"],
)
def test_takes_one_client_beside_the_data(
    team: Team, provisioner: str, generators: int, is_local: bool, fields: dict[str, Any], words: str
):
    cluster = make_cluster(team=team, provisioner=provisioner, name="Local")
    machine = cluster.nodes.get().machine if is_local else make_machine()
    made = [make_load_generator(bindings={"rocksdb": "1"}, slots=2, machine=machine) for _ in range(generators)]
    matrix = make_matrix(
        team=team,
        entries=[(make_database(team=team, cluster=cluster, system="rocksdb", name="Library"), "sync")],
        workloads=[make_workload(team=team)],
        load_generators=made,
        submitted_at=None,
        **fields,
    )
    problems = " ".join(problem.message for problem in preview(stored_plan(matrix)).problems)
    assert words in problems if words else not problems
