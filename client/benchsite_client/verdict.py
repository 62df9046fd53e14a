"""Judge runs against a baseline, with the exit codes of `benchsite upload`: 0 pass, 1 regression, 4 inconclusive."""

import argparse
import json
from typing import Any

from benchsite_client.site import Client, read_login
from benchsite_client.upload import collect_verdicts, outcome, show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("runs", nargs="+", metavar="RUN", help="id of a run; its commit's repeats are judged with it")
    add("--baseline", default="", metavar="NAME", help="judge against this baseline (default: the site's rule)")
    add("--strict", action="store_true", help="end with 4 where the verdict is inconclusive")
    add("--mixed", choices=("fail", "pass"), default="fail", help="what a loss beside a gain means (default: fail)")
    add("--json", action="store_true", help="print runs and verdicts as JSON")


def run(options: argparse.Namespace) -> int:
    client = Client(read_login())
    stored = {"runs": [_read_run(client, run_id) for run_id in options.runs]}
    verdicts = collect_verdicts(client.site, options, stored["runs"])
    options.dry_run = options.no_verdict = False
    code, headline = outcome(options, stored, verdicts)
    if options.json:
        report = {"exit_code": code, "headline": headline, **stored, "verdicts": verdicts}
        print(json.dumps(report, indent=1, ensure_ascii=False))
    else:
        show(stored, verdicts, headline)
    return code


def _read_run(client: Client, run_id: str) -> dict[str, Any]:
    """As the answer to an upload has it: with the findings that warn or reject."""
    stored = client.get(f"runs/{run_id}")
    findings = client.get(f"runs/{run_id}/findings")["findings"]
    notable = [finding for finding in findings if finding["severity"] in ("warn", "reject")]
    return {**stored, "verdict_url": stored["links"]["verdict"], "findings": notable}
