"""The metadata of the runs of an upload, with the team's workloads and curves."""

from collections.abc import Sequence

from benchsite.accounts.models import Team
from runs.identifiers import parse_uuid
from runs.models import Phase, Sweep, Workload
from runs.uploads.manifest import Manifest, ManifestRefused
from runs.uploads.messages import CURVE_OF_PURPOSE, CURVE_OF_SYSTEM, CURVE_OF_WORKLOAD, NO_SUCH_CURVE
from runs.uploads.metadata import RunMetadata, StatedWorkload
from runs.uploads.metadata_merge import merge_metadata
from runs.ycsb.file_grouping import RunFiles


def build_metadata(manifest: Manifest, team: Team, runs: Sequence[RunFiles]) -> RunMetadata:
    """The complete metadata of these runs. Raises ManifestRefused with every fault at once."""

    def find_workload(name: str) -> StatedWorkload | None:
        row = Workload.objects.filter(team=team, name=name).first()
        return state_workload(row) if row else None

    metadata, faults = merge_metadata(manifest, runs, find_workload)
    if not faults and manifest.sweep:
        curves = Sweep.objects.filter(team=team, matrix=None, phase=Phase.MEASURE)
        sweep_id = parse_uuid(manifest.sweep)
        sweep = curves.filter(pk=sweep_id).first() if sweep_id else None
        problem = find_sweep_problem(metadata, sweep) if sweep else NO_SUCH_CURVE
        if problem:
            faults = [("#/manifest/sweep", problem)]
    if faults:
        raise ManifestRefused(faults)

    return metadata


def state_workload(row: Workload) -> StatedWorkload:
    """A workload of the team."""
    return StatedWorkload(id=str(row.pk), name=row.name, short_name=row.short_name, properties=row.properties)


def find_sweep_problem(metadata: RunMetadata, sweep: Sweep) -> str:
    """Why the runs cannot be points of this curve; empty where they can."""
    if (sweep.system, sweep.mode) != (metadata.system, metadata.mode):
        return CURVE_OF_SYSTEM.format(system=sweep.system, mode=sweep.mode)
    if sweep.purpose != metadata.purpose:
        return CURVE_OF_PURPOSE.format(purpose=sweep.purpose)
    workload = sweep.runs.values_list("workload_name", flat=True).first()
    if workload not in (None, metadata.workload.name):
        return CURVE_OF_WORKLOAD.format(workload=workload)
    return ""
