"""The plan file that goes with a report: as it is exported, without what must not be seen."""

import tomllib
from typing import Any, Final

import tomli_w

from reports.frozen.redaction import Redactor
from runs.kits.plan import PlanRefused
from runs.kits.plan_file import export_plan, read_plan
from runs.models import Matrix

WHERE: Final = "plan file"
# The tables whose keys are roles, which other entries name.
ROLES: Final = ("clusters", "generators", "databases", "workloads")


def plan_for_others(matrix: Matrix, redactor: Redactor) -> str:
    """The plan of a matrix; empty where it has none, or none is left that could be run. Five queries."""
    try:
        text = export_plan(matrix)
    except PlanRefused:
        return ""
    document = tomllib.loads(text)
    roles = {role for table in ROLES for role in document.get(table, {})}
    seen = _seen(document, redactor, roles)
    if seen == document:
        return text
    said = "".join(f"{line}\n" for line in text.splitlines() if line.startswith("#"))
    clean = f"{said}\n{tomli_w.dumps(seen)}"
    try:
        read_plan(clean)
    except PlanRefused:
        return ""
    return clean


def _seen(value: Any, redactor: Redactor, roles: set[str]) -> Any:
    if isinstance(value, str):
        return value if value in roles else redactor.clean(value, WHERE)
    if isinstance(value, dict):
        return {name: _seen(one, redactor, roles) for name, one in value.items()}
    if isinstance(value, list):
        return [_seen(one, redactor, roles) for one in value]
    return value
