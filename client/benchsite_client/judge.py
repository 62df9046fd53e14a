"""`benchsite judge`: results read and judged offline."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from benchsite_client import messages
from benchsite_client.upload import (
    BENCHMARK_FAILED,
    INCONCLUSIVE,
    PASS,
    USAGE,
    Ended,
    add_manifest_options,
    build_manifest,
    list_names,
    say,
)

STANDARD_INPUT: Final = "-"
NO_CI: Final = {"commit": "", "branch": "", "ci_url": "", "session": ""}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="what YCSB clients left, packed or not; - is standard input")
    add("--json", action="store_true", help="print the report as JSON")
    add("--html", metavar="PATH", help="write the report as one page")
    add("--together", action="store_true", help="all files are clients of one run")
    add("--strict", action="store_true", help=f"end with {INCONCLUSIVE} where a check warns")
    add_manifest_options(parser)


def run(options: argparse.Namespace) -> int:
    stated = build_manifest(options, NO_CI)
    if options.together:
        stated["grouping"] = "together"
    # Reading needs numpy, which other commands and the completion do without.
    from benchsite_client.judging import StatementRefused, judge

    try:
        report = judge(_read_files(options.files), stated)
    except StatementRefused as error:
        raise Ended(USAGE, str(error)) from None
    report["exit_code"] = _get_exit_code(report, options.strict)
    if options.html:
        _write_html(Path(options.html), report)
    if options.json:
        json.dump(report, sys.stdout, indent=1, ensure_ascii=False, allow_nan=False)
        print()
    else:
        say("\n".join(_list_lines(report)))
    return int(report["exit_code"])


def _read_files(names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Under the names that an upload gives them: these tell which files are of one client."""
    labels = list_names([Path(name) for name in names])
    for name, label in zip(names, labels, strict=True):
        if name == STANDARD_INPUT:
            yield "standard input", sys.stdin.buffer.read()
            continue
        try:
            yield label, Path(name).read_bytes()
        except IsADirectoryError:
            raise Ended(USAGE, messages.FOLDER.format(name=name)) from None
        except OSError as error:
            raise Ended(BENCHMARK_FAILED, f"{name} cannot be read: {error.strerror}.") from None


def _get_exit_code(report: dict[str, Any], strict: bool) -> int:
    if report["refusals"] or report["verdict"] == "reject":
        return BENCHMARK_FAILED
    if strict and report["verdict"] == "warn":
        return INCONCLUSIVE
    return PASS


def _write_html(path: Path, report: dict[str, Any]) -> None:
    from benchsite_client.judge_html import render

    try:
        path.write_text(render(report), encoding="utf-8")
    except OSError as error:
        raise Ended(USAGE, f"{path} cannot be written: {error.strerror}.") from None


def _list_lines(report: dict[str, Any]) -> Iterator[str]:
    from runs.ycsb.output_table import list_merged_lines

    for file in report["files"]:
        kind = " ".join(filter(None, (file["format"], file["version"])))
        yield f"{file['file']}: {kind or 'no result'}"
        yield from (f"  note: {warning}" for warning in file["warnings"])
    for refusal in report["refusals"]:
        yield from ("", messages.PARTS["refusals"], f"  {describe_place(refusal)}{refusal['message']}")
    for number, judged in enumerate(report["runs"], 1):
        yield ""
        yield from list_merged_lines(number, judged)
        if judged["error"] is None:
            yield f"  {describe_load(judged)}"
        yield from _list_findings(judged, messages.PARTS["wrong"], ("reject", "warn", "info"))
        yield from _list_findings(judged, messages.PARTS["missing"], ("not_assessed",))
    if report["missing"]:
        yield from ("", messages.PARTS["unstated"])
        yield from (f"  {missing['field']}: {missing['message']}" for missing in report["missing"])
    yield from ("", describe_verdict(report))


def _list_findings(judged: dict[str, Any], title: str, severities: Sequence[str]) -> Iterator[str]:
    findings = select_findings(judged, severities)
    if findings:
        yield f"  {title}"
    for finding in findings:
        severity = finding["severity"].replace("_", " ")
        yield f"    {finding['check_id']} {severity}: {finding['title']}: {finding['message']}"
        if finding["remedy"]:
            yield f"      {finding['remedy']}"


def select_findings(judged: dict[str, Any], severities: Sequence[str]) -> list[dict[str, Any]]:
    """Those of these severities, in the order of the severities."""
    findings = [finding for finding in judged["findings"] if finding["severity"] in severities]
    return sorted(findings, key=lambda finding: severities.index(finding["severity"]))


def describe_load(judged: dict[str, Any]) -> str:
    """What ran: the system with its mode, the workload, the load, and how many checks had their data."""
    from benchsite.core.formatting import counted

    parts = [f"{judged['system']} {judged['mode']}", judged["workload"]]
    if judged["threads"]:
        parts.append(counted(judged["threads"], "thread"))
    if judged["target_ops_s"]:
        parts.append(f"target {judged['target_ops_s']:,} ops/s")
    parts.append(f"{judged['checks_assessed']} of {judged['checks']} checks assessed: {judged['verdict']}")
    return ", ".join(filter(None, parts))


def describe_place(refusal: dict[str, Any]) -> str:
    """The file and where in it, before what is wrong there."""
    places = [refusal["file"]]
    if refusal["line"]:
        places.append(f"line {refusal['line']}")
    text = ", ".join(filter(None, places))
    if text:
        return f"{text}: "
    return ""


def describe_verdict(report: dict[str, Any]) -> str:
    if report["refusals"] and not report["runs"]:
        return messages.NO_RESULT
    return messages.VERDICTS[report["verdict"]]
