"""A report of `benchsite judge` as one page, without scripts and without anything from elsewhere."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

from benchsite.core.formatting import grouped, latency, latency_between, throughput
from benchsite_client import messages
from benchsite_client.judge import describe_load, describe_place, describe_verdict, select_findings

TITLE: Final = "Judgement of a benchmark"
PERCENTILES: Final = ("50", "95", "99", "99.9")
STYLE: Final = """
:root { color-scheme: light dark; --line: light-dark(#d8dbe0, #3a3f47); --soft: light-dark(#57606a, #a2abb5);
  --reject: light-dark(#b3261e, #ff8a80); --warn: light-dark(#8a5300, #ffb74d); --pass: light-dark(#1a6b34, #7bd88f); }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 64rem;
  background: light-dark(#fff, #14171b); color: light-dark(#1b1f24, #e6e9ed); overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.2rem; margin: 2rem 0 .25rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; } p { margin: .25rem 0; } .soft { color: var(--soft); }
.verdict { font-weight: 600; }
.reject { color: var(--reject); } .warn { color: var(--warn); } .pass { color: var(--pass); }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .5rem 0; }
th, td { text-align: right; padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
dl { margin: .5rem 0; } dt { font-weight: 600; margin-top: .5rem; } dd { margin: 0; }
"""


def render(report: Mapping[str, Any]) -> str:
    body = [
        f"<h1>{TITLE}</h1>",
        f'<p class="verdict {report["verdict"]}">{escape(describe_verdict(dict(report)))}</p>',
        *(_describe_file(file) for file in report["files"]),
        *_section(messages.PARTS["refusals"], map(_describe_refusal, report["refusals"])),
        *(_describe_run(number, run) for number, run in enumerate(report["runs"], 1)),
        *_section(messages.PARTS["unstated"], map(_describe_missing, report["missing"])),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{TITLE}</title>\n<style>{STYLE}</style>\n<body>\n" + "\n".join(body) + "\n</body>\n</html>\n"
    )


def _describe_file(file: Mapping[str, Any]) -> str:
    kind = " ".join(filter(None, (file["format"], file["version"])))
    notes = "".join(f"<br>{escape(note)}" for note in file["warnings"])
    return f'<p class="soft">{escape(file["file"])}: {escape(kind) or "no result"}{notes}</p>'


def _describe_run(number: int, run: dict[str, Any]) -> str:
    parts = [f"<h2>Run {number}: {escape(run['phase'])}</h2>"]
    if run["error"] is not None:
        return "\n".join([*parts, f'<p class="reject">{escape(run["error"])}</p>'])
    parts += [
        f'<p class="verdict {run["verdict"]}">{escape(throughput(run["throughput_ops_s"]))}</p>',
        f'<p class="soft">{escape(describe_load(run))}; {escape(run["percentiles"])}</p>',
        _make_table(run["operations"]),
        *(f"<p>{escape(warning)}</p>" for warning in run["warnings"]),
    ]
    for part, severities in (("wrong", ("reject", "warn", "info")), ("missing", ("not_assessed",))):
        parts += _section(messages.PARTS[part], map(_describe_finding, select_findings(run, severities)), level=3)
    return "\n".join(parts)


def _section(title: str, entries: Iterable[str], level: int = 2) -> Sequence[str]:
    lines = list(entries)
    if not lines:
        return ()
    return (f"<h{level}>{title}</h{level}>", "<dl>", *lines, "</dl>")


def _describe_finding(finding: Mapping[str, str]) -> str:
    severity = finding["severity"].replace("_", " ")
    name = escape(f"{finding['check_id']} {finding['title']}: {severity}")
    remedy = ""
    if finding["remedy"]:
        remedy = f'<dd class="soft">{escape(finding["remedy"])}</dd>'
    return f'<dt class="{finding["severity"]}">{name}</dt><dd>{escape(finding["message"])}</dd>{remedy}'


def _describe_refusal(refusal: dict[str, Any]) -> str:
    return f'<dt>{escape(describe_place(refusal))}</dt><dd class="reject">{escape(refusal["message"])}</dd>'


def _describe_missing(missing: Mapping[str, str]) -> str:
    return f"<dt>{escape(missing['field'])}</dt><dd>{escape(missing['message'])}</dd>"


def _make_table(operations: Mapping[str, Mapping[str, Any]]) -> str:
    heading = ["", "operations", "mean", *(f"p{name}" for name in PERCENTILES), "max"]
    rows = [
        [
            name,
            grouped(operation["count"]),
            latency(operation.get("mean_us")),
            *(_format_percentile(operation, percentile) for percentile in PERCENTILES),
            latency(operation.get("max_us")),
        ]
        for name, operation in operations.items()
    ]
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heading)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide" tabindex="0"><table><tr>{head}</tr>{lines}</table></div>'


def _format_percentile(operation: Mapping[str, Any], name: str) -> str:
    """A number, or the bounds of one."""
    value = operation.get("percentiles_us", {}).get(name)
    low, high = operation.get("percentiles_bounds_us", {}).get(name, (None, None))
    if value is not None:
        return latency(value)
    return latency_between(low, high)
