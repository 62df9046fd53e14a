"""Answer the questions of an assistant about results and plans, by the Model Context Protocol over standard input.

It asks the site with the stored token, so it reads and starts what that token may. Every measured number has n, its
interval, its verdict and its durability mode.
"""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, Final, ParamSpec

from benchsite_client import __version__, messages
from benchsite_client.site import Client, find_matrix, find_row, read_login
from benchsite_client.upload import PASS, USAGE, Ended
from runs.results.measures.repeatability import compute_mean_interval

P = ParamSpec("P")
Answer = dict[str, Any]
MAX_ROWS: Final = 50
OPS: Final = "ops/s"
STATISTICS: Final = ("mean", "p50", "p90", "p95", "p99", "p999")
NOT_JUDGED: Final = "not judged"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    pass


def run(options: argparse.Namespace) -> int:
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp_types import ToolAnnotations
    except ImportError:
        raise Ended(USAGE, messages.NO_MCP) from None
    site = Tools(Client(read_login()))
    server = MCPServer("benchsite", instructions=messages.INSTRUCTIONS, version=__version__, log_level="WARNING")

    def explain(tool: Callable[P, Answer]) -> Callable[P, Answer]:
        """The site's own sentence is what an assistant reads of a refusal."""

        @wraps(tool)
        def answer(*args: P.args, **kwargs: P.kwargs) -> Answer:
            try:
                return tool(*args, **kwargs)
            except Ended as end:
                raise ToolError(str(end)) from None

        return answer

    for tool in site.reading:
        server.tool(annotations=ToolAnnotations(read_only_hint=True))(explain(tool))
    for tool in site.planning:
        server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False))(explain(tool))
    server.run("stdio")
    return PASS


def build_quantity(values: Sequence[float], unit: str, *, verdict: str, mode: str, why: str = "") -> Answer:
    """The geometric mean of the runs' values with its 95 % interval."""
    if not values:
        return _quantity(None, unit, None, None, n="0", verdict=verdict, mode=mode, why=messages.NO_INTERVAL["none"])
    interval = compute_mean_interval(values)
    if interval.low is None:
        why = messages.NO_INTERVAL["single" if len(values) == 1 else "alike"]
    return _quantity(
        interval.mean, unit, interval.low, interval.high, n=str(len(values)), verdict=verdict, mode=mode, why=why
    )


def _quantity(
    value: float | None, unit: str, low: float | None, high: float | None, *, n: str, verdict: str, mode: str, why: str
) -> Answer:
    interval: Any = {"low": low, "high": high, "level": "95 %"}
    if low is None or high is None:
        interval = {"none": why}
    return {
        "text": messages.describe_quantity(value, unit, low, high, n),
        "value": value, "unit": unit, "n": n, "interval": interval, "verdict": verdict or NOT_JUDGED, "mode": mode,
    }  # fmt: skip


class Tools:
    """What an assistant may call. Docstrings are what it reads of them."""

    def __init__(self, client: Client) -> None:
        self.client = client

    @property
    def reading(self) -> list[Callable[..., Answer]]:
        return [
            self.list_curves, self.read_curve, self.read_ceiling, self.read_latency, self.list_runs, self.read_run,
            self.judge_run, self.compare, self.judge_builds, self.list_plans, self.read_plan, self.list_databases,
            self.list_workloads, self.list_systems, self.list_baselines, self.preview_plan,
        ]  # fmt: skip

    @property
    def planning(self) -> list[Callable[..., Answer]]:
        return [self.store_plan, self.start_plan, self.cancel_plan]

    # --- Results

    def list_curves(self, database: str = "", system: str = "", mode: str = "", workload: str = "") -> Answer:
        """Measured curves (throughput over a load ladder), the newest first: their ids and what they are of."""
        rows = self._list("sweeps", database=database, system=system, mode=mode, workload=workload)
        names = ("id", "name", "database", "version", "mode", "workload", "cluster", "purpose", "permalink")
        return {"curves": [_pick(row, names) for row in rows]}

    def read_curve(self, curve: str) -> Answer:
        """The throughput of a curve at each load. `curve` is an id of list_curves."""
        sweep = self._find_curve(curve)
        points = [
            {"load": messages.describe_load(point["threads"], point["target_ops_s"]),
             "throughput": self._describe_point(point, sweep["mode"])}
            for point in sweep["points"]
        ]  # fmt: skip
        return {**_describe_curve(sweep), "points": points}

    def read_ceiling(self, curve: str) -> Answer:
        """The highest throughput of a curve, and whether it lies at the end of its ladder."""
        sweep = self._find_curve(curve)
        measured = [point for point in sweep["points"] if point["throughput_ops_s"] is not None]
        if not measured:
            return {**_describe_curve(sweep), "ceiling": build_quantity([], OPS, verdict="", mode=sweep["mode"])}
        best = max(measured, key=lambda point: float(point["throughput_ops_s"]))
        return {
            **_describe_curve(sweep),
            "load": messages.describe_load(best["threads"], best["target_ops_s"]),
            "is_last_load": best is measured[-1],
            "ceiling": self._describe_point(best, sweep["mode"]),
            "search": (sweep.get("search") or {}).get("state") or "fixed loads",
        }

    def read_latency(self, curve: str, load: str, operation: str = "READ", statistic: str = "p99") -> Answer:
        """A latency of a curve at one load, as read_curve names it. Statistics: mean, p50, p90, p95, p99, p999."""
        sweep = self._find_curve(curve)
        loads = {messages.describe_load(point["threads"], point["target_ops_s"]): point for point in sweep["points"]}
        if load not in loads:
            raise Ended(USAGE, messages.NO_POINT.format(load=load, loads="; ".join(loads)))
        counted = [run for run in loads[load]["runs"] if run["counts"]]
        by_kind: dict[str, list[float]] = {}
        measured: set[str] = set()
        for row in counted:
            for each in self.client.get(f"runs/{row['id']}/measurements")["measurements"]:
                measured |= {f"{each['operation']} {name}" for name in STATISTICS if each.get(f"{name}_us") is not None}
                if each["operation"] == operation and each.get(f"{statistic}_us") is not None:
                    by_kind.setdefault(each["latency_kind"], []).append(each[f"{statistic}_us"])
        if not by_kind:
            names = ", ".join(sorted(measured)) or "nothing"
            raise Ended(USAGE, messages.NO_OPERATION.format(operation=operation, statistic=statistic, measured=names))
        verdict = _find_worst(run["verdict"] for run in counted)
        quantities = {
            f"{kind} time": build_quantity(values, "µs", verdict=verdict, mode=sweep["mode"])
            for kind, values in sorted(by_kind.items())
        }
        return {**_describe_curve(sweep), "load": load, "operation": operation, "statistic": statistic, **quantities}

    def list_runs(self, database: str = "", mode: str = "", commit: str = "", status: str = "") -> Answer:
        """Single runs, the newest first. One run alone supports no comparison."""
        rows = self._list("runs", database=database, mode=mode, commit=commit, status=status)
        return {"runs": [self._describe_run(row) for row in rows]}

    def read_run(self, run: str) -> Answer:
        """One run: its throughput and latencies, and what the validity checks say of it."""
        row = self.client.get(f"runs/{run}")
        answer = {**self._describe_run(row), "checks": [], "latencies": {}}
        if row["status"] != "succeeded":
            return answer
        for finding in self.client.get(f"runs/{run}/findings")["findings"]:
            if finding["severity"] in ("warn", "reject"):
                check = _pick(finding, ("check_id", "severity", "message"))
                answer["checks"].append({**check, "n": "1", "mode": row["mode"]})
        judged = {"verdict": row["verdict"], "mode": row["mode"]}
        for each in self.client.get(f"runs/{run}/measurements")["measurements"]:
            for statistic in STATISTICS:
                value = each.get(f"{statistic}_us")
                if value is not None:
                    name = f"{each['operation']} {statistic}, {each['latency_kind']} time"
                    answer["latencies"][name] = build_quantity([value], "µs", **judged)
        return answer

    # --- Verdicts

    def judge_run(self, run: str, baseline: str = "") -> Answer:
        """Whether the commit of a run is slower or faster than its baseline, by sessions."""
        return self._describe_verdict(self.client.get(f"runs/{run}/verdict", baseline=baseline))

    def compare(self, base: str, new: str) -> Answer:
        """Two groups of runs, test by test. A group is a commit, run ids with commas between them, a baseline's name,
        branch:NAME, this-week or last-week.
        """
        answer = self.client.get("compare", base=base, new=new)
        tests = [self._describe_verdict(document) for document in answer["comparisons"]]
        return {"verdict": answer["verdict"], "tests": tests}

    def judge_builds(self, plan: str, new: str = "", base: str = "") -> Answer:
        """The builds of one plan against each other, by the repeats that it interleaves."""
        matrix = find_matrix(self.client, plan)
        answer = self.client.get(f"matrices/{matrix['id']}/verdict", new=new, base=base)
        builds = [_pick(build, ("name", "version", "commit", "branch", "digest")) for build in answer["builds"]]
        comparisons = []
        for each in answer["comparisons"]:
            tests = [self._describe_verdict(test) for test in each["tests"]]
            comparisons.append({**_pick(each, ("new", "base", "verdict")), "tests": tests})
        return {**_pick(answer, ("verdict", "pending")), "builds": builds, "comparisons": comparisons}

    # --- Plans

    def list_plans(self) -> Answer:
        """Plans (matrices), the newest first, and how far they are."""
        return {"plans": [_describe_plan(row) for row in self._list("matrices")]}

    def read_plan(self, plan: str) -> Answer:
        """One plan by its name or id, and how far it is."""
        return _describe_plan(find_matrix(self.client, plan))

    def list_databases(self) -> Answer:
        """Databases that plans can name, with their systems."""
        rows = self._list("databases")
        return {"databases": [{"name": row["name"], **_pick(row["definition"], ("system", "cluster"))} for row in rows]}

    def list_workloads(self) -> Answer:
        """Workloads that plans can name, with their YCSB properties."""
        workloads = []
        for row in self._list("workloads"):
            properties = {name: str(value) for name, value in row["definition"]["properties"].items()}
            workloads.append({"name": row["name"], "properties": properties})
        return {"workloads": workloads}

    def list_systems(self) -> Answer:
        """The catalog: systems and what a write of each durability mode waits for."""
        systems = []
        for row in self.client.get("systems")["items"]:
            modes = {mode["mode"]: mode["name"] for mode in row["modes"]}
            systems.append({**_pick(row, ("system", "name")), "modes": modes})
        return {"systems": systems}

    def list_baselines(self) -> Answer:
        """Named baselines, which compare takes."""
        return {"baselines": [_pick(row, ("name", "rule")) for row in self.client.get("baselines")["items"]]}

    def preview_plan(self, plan: dict[str, Any]) -> Answer:
        """What a plan (the body of POST /matrices) would make and cost. Nothing is stored."""
        preview = self.client.post("matrices", plan, dry_run=1)
        return {"can_be_submitted": preview["can_be_submitted"], "preview": messages.describe_preview(preview)}

    def store_plan(self, plan: dict[str, Any]) -> Answer:
        """Store a plan (the body of POST /matrices) without starting it: ask for its start separately."""
        return _describe_plan(self.client.post("matrices", plan))

    def start_plan(self, plan: str) -> Answer:
        """Queue the runs of a stored plan. It occupies machines: have a person agree first."""
        matrix = find_matrix(self.client, plan)
        return _describe_plan(self.client.post(f"matrices/{matrix['id']}/submit"))

    def cancel_plan(self, plan: str) -> Answer:
        """Cancel what of a plan has not ended; what has stays."""
        matrix = find_matrix(self.client, plan)
        return _describe_plan(self.client.post(f"matrices/{matrix['id']}/cancel"))

    # --- Parts of answers

    def _list(self, path: str, **query: str) -> list[Any]:
        """The newest rows alone."""
        page = self.client.get(path, limit=MAX_ROWS, **query)
        return list(page["items"])

    def _find_curve(self, curve: str) -> Any:
        sweep = find_row(self.client, ["sweeps"], curve)
        if sweep is None:
            raise Ended(USAGE, messages.NO_SWEEP.format(name=curve))
        return sweep

    def _describe_point(self, point: Mapping[str, Any], mode: str) -> Answer:
        counted = [run for run in point["runs"] if run["counts"] and run["throughput_ops_s"]]
        verdict = _find_worst(run["verdict"] for run in counted or point["runs"])
        return build_quantity([run["throughput_ops_s"] for run in counted], OPS, verdict=verdict, mode=mode)

    def _describe_run(self, row: Mapping[str, Any]) -> Answer:
        names = ("id", "name", "status", "database", "version", "mode", "workload", "commit", "branch", "permalink")
        rates = [row["throughput_ops_s"]] if row["throughput_ops_s"] else []
        throughput = build_quantity(rates, OPS, verdict=row["verdict"], mode=row["mode"])
        return {**_pick(row, (*names, "reason_detail", "excluded_reason")), "throughput": throughput}

    def _describe_verdict(self, document: Mapping[str, Any]) -> Answer:
        """Ratios say how many times better the new side is, of latencies too."""
        ids = document["new"]["runs"]
        mode = NOT_JUDGED
        if ids:
            mode = self.client.get(f"runs/{ids[0]}")["mode"]
        metrics = {}
        for metric in document["metrics"]:
            n = f"{metric['new_sessions']} against {metric['base_sessions']}"
            ratio = _quantity(
                metric["ratio"], "times better", metric["low"], metric["high"],
                n=n, verdict=metric["state"], mode=mode, why=metric["reason"],
            )  # fmt: skip
            metrics[metric["name"]] = {**ratio, "why": metric["reason"]}
        sides = {
            side: _pick(document[side], ("commit", "branch", "name", "chosen"))
            for side in ("new", "base")
            if document[side]
        }
        same = {"verdict": document["verdict"], "mode": mode, "reasons": document["reasons"], "metrics": metrics}
        return {**same, **sides}


def _pick(row: Mapping[str, Any], names: Iterable[str]) -> Answer:
    return {name: row[name] for name in names if row.get(name) not in (None, "")}


def _describe_curve(sweep: Mapping[str, Any]) -> Answer:
    return {"curve": _pick(sweep, ("id", "name", "database", "version", "mode", "workload", "cluster", "permalink"))}


def _describe_plan(matrix: Mapping[str, Any]) -> Answer:
    entries = [f"{entry['database']}: {entry['mode']}" for entry in matrix["entries"]]
    return {
        **_pick(matrix, ("id", "name", "purpose", "state", "permalink")),
        "measures": entries,
        "builds": [_pick(build, ("name", "commit", "branch")) for build in matrix["builds"]],
        "runs": messages.describe_counts(matrix["runs"]) or "none",
    }


def _find_worst(verdicts: Iterable[str]) -> str:
    distinct = set(verdicts)
    return next((verdict for verdict in ("reject", "warn", "pass") if verdict in distinct), "")
