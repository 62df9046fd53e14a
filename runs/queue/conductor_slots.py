"""Which conductors may carry out the runs of a cluster, and when each of them has room for the next run."""

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from runs.models import Cluster, Conductor, Deployment, Provisioner, Run, Status

LOCAL = (Provisioner.PROCESS, Provisioner.DOCKER)  # servers that a conductor starts itself


def find_conductors(clusters: Collection[UUID]) -> dict[UUID, frozenset[UUID]]:
    """Cluster -> the living conductors that may carry out its runs; without any it is left out. Three queries.

    Any conductor drives an external server, and nodes that load generators start, which have addresses, too. Another
    server that Benchsite starts is started by a conductor of its own machine. While one conductor has a server up on a
    machine, the others leave it that machine.
    """
    hosts = dict(Conductor.living().order_by().values_list("pk", "host_key"))
    nodes = list(
        Cluster.objects.filter(pk__in=clusters)
        .order_by()
        .values_list("pk", "provisioner", "nodes__machine", "nodes__machine__host_key", "nodes__address")
    )
    holders: dict[UUID, set[UUID]] = defaultdict(set)
    up = Deployment.objects.filter(
        conductor__in=hosts, state__in=Deployment.State.running(), cluster__provisioner__in=LOCAL
    )
    for machine, conductor in up.values_list("cluster__nodes__machine", "conductor"):
        holders[machine].add(conductor)

    allowed: dict[UUID, set[UUID]] = defaultdict(set)
    for cluster, provisioner, _, host_key, address in nodes:
        is_anywhere = address or provisioner not in LOCAL
        allowed[cluster] |= {pk for pk, host in hosts.items() if host == host_key or is_anywhere}

    for cluster, provisioner, machine, _, _ in nodes:
        if provisioner in LOCAL:
            allowed[cluster] = {pk for pk in allowed[cluster] if not holders[machine] - {pk}}

    return {cluster: frozenset(conductors) for cluster, conductors in allowed.items() if conductors}


def free_times(now: datetime) -> dict[UUID, list[datetime]]:
    """Living conductor -> the predicted times at which it can begin a further run, one for each of its slots."""
    ends = defaultdict(list)
    running = Run.objects.filter(status=Status.RUNNING, conductor__isnull=False)
    for conductor, started_at, expected_s in running.values_list("conductor", "started_at", "expected_s"):
        ends[conductor].append(max(now, (started_at or now) + timedelta(seconds=expected_s)))
    return {
        conductor: [*ends[conductor], *[now] * (capacity - len(ends[conductor]))]
        for conductor, capacity in Conductor.living().order_by().values_list("pk", "capacity")
    }
