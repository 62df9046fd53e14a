"""Workloads that a plan needs and a team does not have: proposed in the builder, stored with the matrix."""

import uuid
from collections.abc import Collection, Mapping, Sequence

from benchsite.accounts.models import Team
from runs.models import Matrix, Workload
from runs.ycsb.properties import WORKLOAD_PROPERTIES

_PROPOSED = uuid.UUID("6f3a2f0e-8a0b-5c55-9d5d-3a6c0a1f7b41")  # names the workloads that are not yet stored


def match_workloads(
    team: Team, planned: Sequence[Workload], team_workloads: Sequence[Workload]
) -> tuple[list[Workload], list[Workload]]:
    """The planned workloads that the team has already, by their properties, and the others, not stored."""
    stored = {_key(workload): workload for workload in team_workloads}
    names = {workload.name for workload in team_workloads}
    matches, proposed = [], []
    for workload in planned:
        key = _key(workload)
        if key in stored:
            matches.append(stored[key])
            continue
        workload.pk = uuid.uuid5(_PROPOSED, f"{team.pk} {key}")
        workload.team = team
        workload.name = _free(workload.name, names)
        names.add(workload.name)
        proposed.append(workload)

    return matches, proposed


def store_proposed(proposed: Sequence[Workload], chosen: Sequence[Workload], matrix: Matrix) -> list[Workload]:
    """The chosen workloads with the proposed ones made; the matrix' rules name them by their new keys."""
    keys = {workload.pk for workload in proposed}
    created: dict[str, Workload] = {}
    for workload in chosen:
        if workload.pk in keys:
            created[str(workload.pk)] = Workload.objects.create(
                team=workload.team, name=workload.name, short_name=workload.short_name,
                properties=workload.properties, notes=workload.notes,
            )  # fmt: skip

    for rule in (*matrix.exclusions, *matrix.overrides):
        if (named := rule["match"].get("workload")) in created:
            rule["match"]["workload"] = str(created[named].pk)

    return [created.get(str(workload.pk), workload) for workload in chosen]


def _key(workload: Workload) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(_with_defaults(workload.properties).items()))


def _with_defaults(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties with what YCSB takes for those that are missing."""
    defaults = {
        name: declared.default for name, declared in WORKLOAD_PROPERTIES.items() if declared.default is not None
    }
    return {**defaults, **{name: str(value) for name, value in properties.items()}}


def _free(name: str, taken: Collection[str]) -> str:
    """The name, or with a number behind it where the team has something else of that name."""
    name, number = name[:76], 2
    free = name
    while free in taken:
        free, number = f"{name} {number}", number + 1
    return free
