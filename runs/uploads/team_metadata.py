"""The metadata of the runs of an upload by a program, with the team's workloads and curves."""

from collections.abc import Sequence

from benchsite.accounts.models import Team
from runs.identifiers import parse_uuid
from runs.models import Phase, Sweep, Workload
from runs.uploads.manifest import Manifest, ManifestRefused
from runs.uploads.messages import NO_SUCH_CURVE
from runs.uploads.metadata import RunMetadata, StatedWorkload
from runs.uploads.metadata_merge import merge_metadata
from runs.ycsb.file_grouping import RunFiles


def build_metadata(manifest: Manifest, team: Team, runs: Sequence[RunFiles]) -> RunMetadata:
    """The complete metadata of these runs. Raises ManifestRefused with every fault at once."""

    def find_workload(name: str) -> StatedWorkload | None:
        row = Workload.objects.filter(team=team, name=name).first()
        if row is None:
            return None
        return StatedWorkload(id=str(row.pk), name=name, short_name=row.short_name, properties=row.properties)

    metadata, faults = merge_metadata(manifest, runs, find_workload)
    if not faults and manifest.sweep:
        faults = _check_sweep(metadata, team)
    if faults:
        raise ManifestRefused(faults)

    return metadata


def _check_sweep(metadata: RunMetadata, team: Team) -> list[tuple[str, str]]:
    """Why the runs cannot be points of the stated curve."""
    pk = parse_uuid(metadata.sweep)
    sweep = None
    if pk:
        sweep = Sweep.objects.filter(pk=pk, team=team, matrix=None, phase=Phase.MEASURE).first()
    if sweep is None:
        problem = NO_SUCH_CURVE
    else:
        workload = sweep.runs.values_list("workload_name", flat=True).first()
        problem = metadata.find_sweep_problem(sweep.system, sweep.mode, sweep.purpose, workload)

    if problem:
        return [("#/manifest/sweep", problem)]

    return []
