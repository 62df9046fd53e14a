"""Curves without the names of machines and people, before anything is drawn or judged of them. Pure.

A picture cuts long names, so what must not be seen has to be gone before: half a host name is found by no search.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from reports.curves import Curve, MachineFacts, Point, Setup
from reports.frozen.redaction import Redactor, safe_value


def roles_of(curves: Sequence[Curve]) -> dict[str, str]:
    """The sides' machines and load generators by name -> what each is called in a report: "machine 1"."""
    machines = dict.fromkeys(
        machine.name for curve in curves for machine in (*curve.setup.cluster_machines, *curve.setup.generator_machines)
    )
    generators = dict.fromkeys(name for curve in curves for name in curve.setup.generators)
    return {
        **{name: f"load generator {number}" for number, name in enumerate(generators, 1)},
        **{name: f"machine {number}" for number, name in enumerate(machines, 1)},
    }


def without_places(curve: Curve, redactor: Redactor, roles: Mapping[str, str]) -> Curve:
    """The curve as outsiders may see it. Its ceiling and its knee stay what they are."""

    def clean(text: str, where: str) -> str:
        return redactor.clean(text, where) if text else text

    seen = replace(
        curve,
        name=clean(curve.name, "names of sweeps"),
        database_name=clean(curve.database_name, "names of databases"),
        system_name=clean(curve.system_name, "names of systems"),
        mode=clean(curve.mode, "durability modes"),
        mode_name=clean(curve.mode_name, "durability modes"),
        workload=clean(curve.workload, "names of workloads"),
        matrix_name=clean(curve.matrix_name, "name of the matrix"),
        tags=(),
        notes="",
        points=tuple(_point(point, redactor) for point in curve.points),
        setup=_setup(curve.setup, redactor, roles),
    )
    # Worked out once already, of the same numbers.
    seen.__dict__.update(ceiling=curve.ceiling, knee=curve.knee)
    return seen


def _point(point: Point, redactor: Redactor) -> Point:
    texts = (point.worst_finding, *point.excluded, *point.overridden, *(repeat.reason for repeat in point.left_out))
    if not any(texts):
        return point
    where = "findings of the checks, and reasons"
    return replace(
        point,
        worst_finding=redactor.clean(point.worst_finding, where),
        excluded=tuple(redactor.clean(reason, where) for reason in point.excluded),
        overridden=tuple(redactor.clean(reason, where) for reason in point.overridden),
        left_out=tuple(replace(repeat, reason=redactor.clean(repeat.reason, where)) for repeat in point.left_out),
    )


def _setup(setup: Setup, redactor: Redactor, roles: Mapping[str, str]) -> Setup:
    def machines(facts: tuple[MachineFacts, ...]) -> tuple[MachineFacts, ...]:
        return tuple(
            MachineFacts(machine.id, roles.get(machine.name, machine.name), machine.cores) for machine in facts
        )

    def settings(values: Mapping[str, Any]) -> dict[str, str]:
        return {name: safe_value(name, value) for name, value in values.items()}

    return replace(
        setup,
        version=redactor.clean(setup.version, "versions"),
        server_settings=settings(setup.server_settings),
        binding_properties=settings(setup.binding_properties),
        mode_settings=settings(setup.mode_settings),
        client_version=redactor.clean(setup.client_version, "versions"),
        cluster_machines=machines(setup.cluster_machines),
        generators=tuple(roles.get(name, name) for name in setup.generators),
        generator_machines=machines(setup.generator_machines),
    )
