"""A run as a conductor would have stored it, out of recorded outputs of real clients."""

import uuid
from typing import Any

from django.utils import timezone

from benchsite.accounts.models import Team
from runs.models import Run, Sweep
from runs.models.run import Status
from runs.queue import lifecycle
from runs.results import artifacts
from runs.results.recording import scheduled_runs as recording
from runs.tests.factories import make_client_run, make_load_generator, make_run, make_spec, make_sweep
from runs.ycsb.properties import CORE_WORKLOADS, check_workload
from runs.ycsb.tests.samples import DATA


def recorded_run(
    team: Team,
    *clients: str,
    warmup_s: int = 1,
    measure_s: int = 3,
    phase: str = "measure",
    sweep: Sweep | None = None,
    target_ops_s: int | None = None,
    **fields: Any,
) -> Run:
    """A succeeded run whose clients left what is below runs/ycsb/tests/data: by default two of them, for seconds."""
    clients = clients or ("two_clients/0", "two_clients/1")
    sweep = sweep or make_sweep(team=team, purpose="demo", phase=phase)
    generator = make_load_generator(machine=sweep.database.cluster.nodes.get().machine)  # type: ignore[union-attr]
    load = {"threads": 2 * len(clients), "target_ops_s": target_ops_s}
    spec = make_spec(sweep, **load, generators=[generator])  # type: ignore[arg-type]
    spec["workload"]["properties"] = check_workload({**CORE_WORKLOADS["A"], "recordcount": 1000})
    spec["window"] = {
        "warmup_s": warmup_s, "min_measure_s": measure_s, "max_measure_s": measure_s, "min_operations": 0,
    }  # fmt: skip
    run = make_run(sweep, **load, status=Status.RUNNING, spec=spec, generators=[generator], **fields)  # type: ignore[arg-type]
    for number, name in enumerate(clients):
        client = make_client_run(run, generator=generator, number=number, state="finished", order={"threads": 2})
        for path in sorted((DATA / name).iterdir()):
            kind = path.stem if path.suffix == ".txt" else path.suffix.lstrip(".")
            artifacts.store(run, kind, path.name, path.read_bytes(), client)
    claim = run.claim or uuid.uuid4()
    Run.objects.filter(pk=run.pk).update(starts_at=None, started_at=timezone.now())
    run.refresh_from_db()
    recording.record(run, claim, recording.collect(run), rows=None)
    lifecycle.finish(run.pk, claim, Status.SUCCEEDED)
    run.refresh_from_db()
    return run
