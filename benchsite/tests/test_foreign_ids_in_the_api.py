"""Every operation of the API with whatever names something of another team, in paths, queries and bodies.

Operations come from the API's description. A parameter of a path or query, or an operation with a body, that stands in
no table below fails the walk.
"""

import json
import re
from itertools import product
from uuid import UUID

import pytest

from benchsite.tests.asking import described, make_program
from benchsite.tests.test_foreign_ids_everywhere import MARK, SHA256, ours, references, theirs, versions

__all__ = ["ours", "theirs"]
pytestmark = [pytest.mark.django_db, pytest.mark.slow]

# Parameters of paths that name rows, or texts of a team.
ROWS = {
    "run_id": "runs.Run", "sweep_id": "runs.Sweep", "matrix_id": "runs.Matrix", "upload_id": "runs.Upload",
    "report_id": "reports.Report", "webhook_id": "teams.Webhook", "schedule_id": "runs.Schedule",
    "cluster_id": "runs.Cluster",
}  # fmt: skip
TEXTS = {"name": MARK, "sha256": SHA256}
# A badge is open to whoever has its link (test_badges.py), so this is none; an operation of YCSB is no secret.
SAME_FOR_ALL = {"token": "x" * 22, "operation": "READ"}
# Beside a foreign value for each other parameter of the same path.
OWN = {"matrix_id": "matrix", "upload_id": "upload", "run_id": "run"}
QUERIES = {
    "matrix": "runs.Matrix", "sweep": "runs.Sweep", "base": MARK, "new": MARK, "baseline": MARK, "system": "redis",
    "database": MARK, "workload": MARK, "label": MARK, "commit": "c", "branch": MARK,
}  # fmt: skip
NAME_NOTHING = {
    "limit", "cursor", "mode", "status", "verdict", "source", "phase", "since", "until", "dry_run", "Idempotency-Key",
    "cut", "form", "latency_kind", "names", "operation", "points", "throughput_percent", "mean_percent", "p99_percent",
    "wait",
}  # fmt: skip
BODIES_THAT_NAME_NOTHING = {
    "upload_runs", "annotate_run", "accept_level", "change_schedule", "add_repeats",
    "change_report_access", "make_webhook", "change_webhook", "confirm_data", "put_machine", "put_workload",
    "push_metrics",
}  # fmt: skip
VALID = {
    "add_repeats": {"look": 3}, "change_report_access": {"access": "private"}, "confirm_data": {"target": MARK},
    "push_metrics": {"machine": MARK, "text": "up 1"},
}  # fmt: skip


DEFINITIONS = f"""
format = "benchsite-plan"
version = 3
[clusters.lab]
nodes = [{{ machine = "{MARK}", address = "192.0.2.1:6379" }}]
"""


def bodies(keys) -> dict[str, object]:
    """By operation: a body that names rows of another team wherever one can."""
    matrix, run = str(keys["runs.Matrix"]), str(keys["runs.Run"])
    database, workload = str(keys["runs.Database"]), str(keys["runs.Workload"])
    query = f"v=1&matrix={matrix}&sweep={keys['runs.Sweep']}"
    plan = {"entries": [{"database": database, "mode": "always"}], "workloads": [workload], "rungs": [2]}
    return {
        "import_plan": {
            "plan": "format = 1\n",
            "clusters": {"cluster-1": str(keys["runs.Cluster"])},
            "generators": {"generator-1": str(keys["runs.LoadGenerator"])},
        },
        "make_matrix": {**plan, "load_generators": [str(keys["runs.LoadGenerator"])]},
        "make_schedule": {"matrix": matrix, "name": "x"},
        "put_cluster": {"nodes": [{"machine": MARK}]},
        "put_database": {"system": "redis", "cluster": MARK},
        "apply_file": {"file": DEFINITIONS},
        "set_baseline": {"runs": [run]},
        "publish_report": {"title": "x", "query": query},
        "revise_report": {"query": query},
    }


@pytest.fixture(autouse=True)
def as_many_requests_as_the_walk_needs(settings):
    settings.API_REQUESTS_PER_MINUTE = settings.API_UPLOADS_PER_MINUTE = 0


def test_every_parameter_and_body_is_classified(theirs):
    paths, queries, with_body = set(), set(), set()
    for _, path, operation in described():
        paths |= set(re.findall(r"{(\w+)}", path))
        queries |= {entry["name"] for entry in operation.get("parameters", []) if entry["in"] != "path"}
        with_body |= {operation["operationId"]} if "requestBody" in operation else set()
    assert paths == ROWS.keys() | TEXTS.keys() | SAME_FOR_ALL.keys()
    assert queries == QUERIES.keys() | NAME_NOTHING
    assert with_body == bodies(theirs.keys).keys() | BODIES_THAT_NAME_NOTHING


def addresses(path, ours, theirs):
    """The path with something foreign in each place that can hold it, in turn beside rows of one's own."""
    names = re.findall(r"{(\w+)}", path)
    named = [name for name in names if name not in SAME_FOR_ALL]
    own = {name: str(getattr(ours.world, OWN[name]).pk) for name in named if name in OWN and len(named) > 1}
    foreign = {name: str(theirs.keys[label]) for name, label in ROWS.items()} | TEXTS | SAME_FOR_ALL
    for values in product(*([foreign[name], *own.get(name, "").split()] for name in names)):
        if not named or any(dict(zip(names, values, strict=True))[name] == foreign[name] for name in named):
            yield path.format(**dict(zip(names, values, strict=True)))


def test_no_operation_reaches_anything_of_another_team(ours, theirs):
    program = make_program(ours.world.team)
    before, known = versions(), {(where, key) for where, key, _ in references()}
    foreign = {MARK, *(str(key) for key in theirs.keys.values() if isinstance(key, UUID))}
    values = {name: str(theirs.keys.get(label, label)) for name, label in QUERIES.items()}
    requests, open_ones = 0, []
    for method, path, operation in described():
        body = {**bodies(theirs.keys), **VALID}.get(operation["operationId"], {})
        query = "&".join(
            f"{entry['name']}={values[entry['name']]}"
            for entry in operation.get("parameters", [])
            if entry["in"] == "query" and entry["name"] in values
        )
        names_rows = bool(set(re.findall(r"{(\w+)}", path)) - SAME_FOR_ALL.keys())
        for address in addresses(path, ours, theirs):
            response = program.ask(method, f"{address}?{query}", body if "requestBody" in operation else None)
            content = b"".join(response).decode() if response.streaming else response.content.decode()
            sent = address + query + json.dumps(body)
            requests += 1
            if any(text in content and text not in sent for text in foreign):
                open_ones.append((operation["operationId"], address, "shows", content[:300]))
            if response.status_code == 500 or (names_rows and response.status_code < 400):
                open_ones.append((operation["operationId"], address, response.status_code, content[:300]))
    assert requests >= len(described())
    assert not open_ones
    after, keys = versions(), set(theirs.keys.values())
    assert not [row for row in theirs.rows if before[row] != after.get(row)]
    assert not [row for row in references() if row[2] in keys and row[:2] not in known]
