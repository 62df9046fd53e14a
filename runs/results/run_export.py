"""Many runs as lines of CSV or JSON, written by PostgreSQL's COPY: as fast as they can be sent."""

from collections.abc import Iterator
from typing import Final, Literal

from django.db import connection
from django.db.models import F, FilteredRelation, Q, QuerySet

from benchsite.core.formatting import FORMULA_BEGINS, FORMULA_SIGNS
from runs.models import LatencyKind, Run
from runs.results.pages.run_list import LATENCIES, SERVER_VERSION, list_operations

# What a spreadsheet would take for a formula is marked in `csv`, and left as it is in `raw`.
Form = Literal["csv", "raw", "jsonl"]
CONTENT_TYPES: Final = {
    "csv": "text/csv; charset=utf-8",
    "raw": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl; charset=utf-8",
}
BLOCK_BYTES: Final = 1 << 18
# Column -> its path; those of the list of runs. TEXTS are what people and files name.
COLUMNS: Final = {
    "id": "pk", "name": "name", "source": "source", "matrix": "matrix__name", "sweep_id": "sweep_id",
    "system": "system", "database": "sweep__database_name", "version": "server_version", "mode": "mode",
    "workload": "workload_name", "phase": "phase", "purpose": "purpose", "threads": "threads",
    "target_ops_s": "target_ops_s", "repeat": "repeat", "status": "status", "reason": "reason", "verdict": "verdict",
    "verdict_override": "verdict_override", "throughput_ops_s": "throughput_ops_s",
    "excluded_reason": "excluded_reason", "tags": "tags", "created_at": "created_at", "started_at": "started_at",
    "finished_at": "finished_at", "notes": "notes", "commit": "commit", "branch": "branch", "test": "config_key",
    "committed_at": "committed_at", "offered_ops_s": "current_set__arrivals__offered_ops_s",
    "dropped_share": "current_set__arrivals__dropped_share",
}  # fmt: skip
TEXTS: Final = frozenset({
    "name", "matrix", "database", "version", "mode", "workload", "excluded_reason", "tags", "notes", "commit", "branch",
})  # fmt: skip
_CURRENT: Final = "current_set"
# JSON escapes both signs, so as CSV between them it stays as it is.
_AS_JSON: Final = r"(FORMAT csv, QUOTE E'\x01', DELIMITER E'\x02')"


def stream_runs(runs: QuerySet[Run], form: Form) -> Iterator[bytes]:
    """Blocks of lines, the oldest run first: CSV with a header, or a JSON object in each line.

    Latencies are columns such as `READ_p99_us`, those of the response time such as `READ_response_p99_us`.
    """
    statement, parameters = _compile(runs, form)
    connection.ensure_connection()
    block = bytearray()
    with connection.connection.cursor() as cursor, cursor.copy(statement, parameters) as copy:
        for line in copy:
            block += line
            if len(block) >= BLOCK_BYTES:
                yield bytes(block)
                block.clear()
    yield bytes(block)


def _compile(runs: QuerySet[Run], form: Form) -> tuple[str, tuple[object, ...]]:
    current = FilteredRelation("measurement_sets", condition=Q(measurement_sets__is_current=True))
    rows = runs.order_by().annotate(**{_CURRENT: current}, server_version=SERVER_VERSION)
    selected = rows.values_list(*COLUMNS.values(), F(f"{_CURRENT}__pk"))
    inner, inner_parameters = selected.query.sql_with_params()
    columns, joins, join_parameters = [], [], []
    for name in COLUMNS:
        columns.append(f"{_select(name, form)} AS {_quote(name)}")

    for number, (operation, kind) in enumerate(list_operations(runs)):
        stem = operation
        if kind != LatencyKind.SERVICE:
            stem = f"{operation}_{kind}"
        columns += [f"m{number}.{latency} AS {_quote(f'{stem}_{latency}')}" for latency in LATENCIES]
        joins.append(
            f"LEFT JOIN runs_measurement m{number} ON m{number}.measurement_set_id = r.{_CURRENT}"
            f" AND m{number}.operation = %s AND m{number}.latency_kind = %s"
        )
        join_parameters += [operation, kind]

    names = ", ".join(map(_quote, (*COLUMNS, _CURRENT)))
    query = f"SELECT {', '.join(columns)} FROM ({inner}) AS r({names}) {' '.join(joins)} ORDER BY r.created_at, r.id"
    parameters = (*inner_parameters, *join_parameters)
    if form == "jsonl":
        return f"COPY (SELECT row_to_json(line)::text FROM ({query}) AS line) TO STDOUT {_AS_JSON}", parameters

    return f"COPY ({query}) TO STDOUT (FORMAT csv, HEADER)", parameters


def _quote(name: str) -> str:
    """As an identifier: operations have the names that outputs gave them."""
    return connection.ops.quote_name(name.replace('"', "'")).replace("%", "%%")


def _select(name: str, form: Form) -> str:
    column = f"r.{_quote(name)}"
    if name == "threads":
        column = f"NULLIF({column}, 0)"  # 0: not known
    if name == "tags" and form != "jsonl":
        column = f"array_to_string({column}, ', ')"
    if form == "csv" and name in TEXTS:
        # PostgreSQL prefers the longest alternative, Python the first: each is a step of its own.
        marked = f"regexp_replace({column}, '{FORMULA_SIGNS}', E'\\\\1''', 'g')"
        marked = f"regexp_replace({marked}, '{FORMULA_BEGINS}', '''')"
        return f"CASE WHEN {column} ~ '{FORMULA_SIGNS}|{FORMULA_BEGINS}' THEN {marked} ELSE {column} END"
    return column
