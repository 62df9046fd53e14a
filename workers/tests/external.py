"""Runs on a real server that the site takes for an external one."""

from typing import Any

from runs.models import Node, Run
from runs.models.run import Phase, Status
from runs.tests.factories import (
    WORKLOAD_A,
    make_cluster,
    make_database,
    make_machine,
    make_matrix,
    make_run,
    make_sweep,
    make_workload,
)
from workers.provision.servers import Server

NETWORKS = ["127.0.0.0/8"]  # for settings.EXTERNAL_NETWORKS


def external_run(
    server: Server, *, phase: str = Phase.LOAD, mode: str = "off", load_policy: str = "load", **properties: Any
) -> Run:
    """A dispatched run on an external cluster of one node, which is `server`; `properties` are of the workload."""
    system = server.spec.system
    cluster = make_cluster(provisioner="external", machines=[])
    Node.objects.create(cluster=cluster, machine=make_machine(), address=f"127.0.0.1:{server.port}")
    database = make_database(
        cluster=cluster, system=system.slug, binding_properties={system.binding.endpoint.password: server.password}
    )
    workload = make_workload(team=cluster.team, properties={**WORKLOAD_A, **properties})
    matrix = make_matrix(team=cluster.team, workloads=[workload], load_policy=load_policy)
    sweep = make_sweep(matrix=matrix, database=database, workload=workload, mode=mode, phase=phase)
    return make_run(sweep, status=Status.DISPATCHED, phase=phase)
