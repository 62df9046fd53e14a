"""The plan file that goes with a report: as it is exported, without what must not be seen."""

import tomllib
from collections import defaultdict
from typing import Any, Final

import tomli_w

from reports.frozen.redaction import Redactor
from runs.kits.plan import PlanRefused
from runs.kits.plan_file import export_plan
from runs.kits.plan_text import read_plan
from runs.models import Matrix
from runs.models.run import Status

WHERE: Final = "plan file"
# The tables whose keys are roles, which other entries name.
ROLES: Final = ("clusters", "generators", "databases", "workloads")


def plan_for_others(matrix: Matrix, redactor: Redactor) -> str:
    """The plan of a matrix; empty where it has none, or none is left that could be run. Six queries."""
    try:
        text = export_plan(matrix)
    except PlanRefused:
        return ""
    document = tomllib.loads(text)
    seen_here = _versions(matrix)
    for database in document.get("databases", {}).values():
        # A repetition needs the measured version if none is stated.
        database["version"] = database.get("version") or seen_here.get(database.get("name", ""), "")
    roles = {role for table in ROLES for role in document.get(table, {})}
    seen = _seen(document, redactor, roles)
    if seen == tomllib.loads(text):
        return text
    comments = "".join(f"{line}\n" for line in text.splitlines() if line.startswith("#"))
    clean = f"{comments}\n{tomli_w.dumps(seen)}"
    try:
        read_plan(clean)
    except PlanRefused:
        return ""
    return clean


def _versions(matrix: Matrix) -> dict[str, str]:
    """What the server of each database answered, where it was the same all the time. One query."""
    rows = matrix.runs.filter(status=Status.SUCCEEDED, sweep__database__isnull=False)
    by_name: dict[str, set[str]] = defaultdict(set)
    for name, version in rows.values_list("sweep__database__name", "evidence__server_version").distinct():
        by_name[str(name)].add(str(version or ""))
    return {name: versions.pop() for name, versions in by_name.items() if len(versions) == 1}


def _seen(value: Any, redactor: Redactor, roles: set[str]) -> Any:
    if isinstance(value, str):
        return value if value in roles else redactor.clean(value, WHERE)
    if isinstance(value, dict):
        return {name: _seen(item, redactor, roles) for name, item in value.items()}
    if isinstance(value, list):
        return [_seen(item, redactor, roles) for item in value]
    return value
