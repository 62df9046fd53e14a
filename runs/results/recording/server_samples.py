"""The samples of a run's machines and servers, from its artifacts."""

from collections.abc import Iterable
from itertools import chain
from typing import Any, cast

from django.db.models import QuerySet

from runs.checks.facts import fact, parse_number
from runs.models import Artifact, Run
from runs.queue.spec import RunSpec, list_generators
from runs.results import artifacts
from runs.results.measures.exporters import KIND as EXPORTER_KIND, SampledSeries, read_samples
from runs.results.measures.host import COUNTERS_KIND, KIND, Columns, HostSamples, Samples, read_columns
from runs.results.measures.server_use import summary


def get_sample_artifacts(run: Run) -> QuerySet[Artifact]:
    """The artifacts that `read_host_samples` and `read_counters` read."""
    kinds = run.artifacts.filter(kind__in=[KIND, COUNTERS_KIND])
    return kinds.select_related("client_run__load_generator__machine")


def read_host_samples(run: Run, artifacts_of_run: Iterable[Artifact]) -> tuple[HostSamples, ...]:
    """Samples of the run's machines: of the servers' by the conductor, of each other by one client.

    `artifacts_of_run` have their clients' machines. Raises OSError.
    """
    spec = cast(RunSpec, run.spec)
    nodes: dict[str, int] = {}
    for position, machine in enumerate(spec["cluster"]["machines"], 1):
        nodes.setdefault(machine["name"], position)

    generators = {generator["machine"]["name"] for generator in list_generators(spec)}
    described = [*spec["cluster"]["machines"], *(generator["machine"] for generator in list_generators(spec))]
    speeds = {machine["name"]: parse_number(fact(machine["facts"], "nic_bits_per_s")) for machine in described}
    server_cpus = tuple(run.evidence.get("cpus", {}).get("servers", ()))
    hosts = []
    for artifact in artifacts_of_run:
        columns = None
        if artifact.kind == KIND:
            columns = _columns(artifact)
        if columns is None:
            continue

        client = artifact.client_run
        name = client.load_generator.machine.name if client and client.load_generator else next(iter(nodes), "")
        owners = [("servers_cores", name in nodes), ("clients_cores", name in generators)]
        hosts.append(
            HostSamples(
                machine=name,
                columns=columns,
                owners=tuple(owner for owner, is_there in owners if is_there),
                node=nodes.get(name),
                server_cpus=server_cpus if name in nodes else (),
                nic_bits_per_s=speeds.get(name),
            )
        )

    return tuple(hosts)


def read_counters(artifacts_of_run: Iterable[Artifact]) -> Samples | None:
    """Counters of the run's servers, None without any. Raises OSError."""
    for artifact in artifacts_of_run:
        if artifact.kind == COUNTERS_KIND and (columns := _columns(artifact)) is not None:
            return Samples(columns=columns)
    return None


def read_exporters(run: Run) -> list[SampledSeries]:
    """The series of all exporters that were scraped during the run; one query. Raises OSError."""
    files = run.artifacts.filter(kind=EXPORTER_KIND).order_by("name")
    texts = [artifacts.open_artifact(artifact).decode("utf-8", errors="replace") for artifact in files]
    return list(chain.from_iterable(read_samples(text) for text in texts))


def _columns(artifact: Artifact) -> Columns | None:
    return read_columns(artifacts.open_artifact(artifact).decode("utf-8", errors="replace"))


def compute_server_use(run: Run, begin_s: float, end_s: float) -> dict[str, Any]:
    """Use of servers and machines within these seconds since 1970; empty without samples.

    Raises OSError.
    """
    files = list(get_sample_artifacts(run))
    counters = read_counters(files)
    hosts = [host.within(begin_s, end_s) for host in read_host_samples(run, files)]
    return summary(hosts, counters.within(begin_s, end_s) if counters else None)
