"""`benchsite.core.formatting` alone writes numbers for people: no filter, format specification or script beside it."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("benchsite", "runs", "reports", "workers", "benchmarks")
# Numbers that nobody reads as text of the site, and why.
ALLOWED = {
    "benchsite/core/formatting.py": "the formatter",
    "benchsite/core/prerequisites.py": "runs before packages are installed",
    "benchsite/core/progress.py": "runs before packages are installed",
    "benchmarks/speed/": "tables of benchmarks in a terminal",
    "benchmarks/faults/": "tables of tries in a terminal",
    "benchmarks/management/": "tables of commands in a terminal",
    "benchsite/templatetags/sparkline.py": "coordinates",
    "reports/trends/badges.py": "coordinates",
    "reports/compare/figures/svg.py": "coordinates",
    "reports/compare/figures/theme.py": "colours",
    "benchsite/core/table.py": "exported cells, which other programs read",
    "reports/compare/pages/equal_load.py": "values of form fields and addresses",
    "reports/compare/selection.py": "values of form fields and addresses",
    "runs/ycsb/property_schema.py": "values of settings, which servers read",
    "runs/results/recording/rows.py": "keys of percentiles",
    "runs/ycsb/clients.py": "keys of percentiles",
    "runs/ycsb/duplicate_outputs.py": "numbers that are compared as texts",
    "runs/ycsb/command.py": "values of properties, which YCSB reads",
    "runs/ycsb/form_defaults.py": "values of properties, which YCSB reads",
    "workers/probe/node_probe.py": "rows of a file, which programs read",
}
# Thousands apart ("{count:,}") are those of the formatter. The other presentation types round or pad.
SPECIFICATION = re.compile(r"[eEfFgGn%]$|\.\d")
PRINTF = re.compile(r"%[-+ 0#]*\d*\.\d+[eEfFgG]|%[dgf]\b(?! )")
FILTERS = re.compile(
    r"\|\s*(floatformat|intcomma|intword|filesizeformat|naturalsize|localize)\b|{%\s*load[^%]*humanize"
)
# `stringformat` writes numbers for a browser: within an attribute.
STRINGFORMAT = re.compile(r"^(?!.*=\"[^\"]*\|stringformat).*\|stringformat", re.M)
D3 = re.compile(r"%\{[^}]*:(?!,\})[^}]*\}")


def modules():
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            if not any(part in name for part in ("/tests/", "/migrations/")) and not name.startswith(tuple(ALLOWED)):
                yield name, path.read_text()


def formatted(source):
    """The line and text of every number that `source` writes in a way of its own."""
    tree = ast.parse(source)
    # float(f"{x:.6g}") is a rounded number, and Decimal(f"{x:.9f}") one that goes on being computed with.
    rounded = {
        id(part)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("float", "Decimal")
        for argument in call.args
        for part in ast.walk(argument)
    }
    for node in ast.walk(tree):
        if id(node) in rounded:
            continue
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            specification = ast.unparse(node.format_spec)[2:-1]
            if (
                not specification.startswith("%")
                and SPECIFICATION.search(specification)
                and "%" not in specification[:-1]
            ):
                yield node.lineno, specification
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "format":
            yield node.lineno, "format()"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and D3.search(node.value):
            yield node.lineno, node.value
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and PRINTF.search(ast.unparse(node.left)):
            yield node.lineno, ast.unparse(node.left)


def test_modules_write_numbers_by_the_formatter():
    others = [f"{name}:{line}: {text}" for name, source in modules() for line, text in formatted(source)]
    assert others == [], "Write numbers for people by benchsite.core.formatting."


@pytest.mark.parametrize(
    "source",
    [
        'f"{value:.3g} ms"', 'f"{value:,.0f}"', 'f"{share:.0%}"', 'format(value, ".2f")', '"%.1f s" % value',
        '{"hovertemplate": "%{y:.3s} ops/s"}', 'f"%{{y:.3~g}} ms<extra>{label}</extra>"',
    ],
)  # fmt: skip
def test_recognises_other_formatters(source):
    assert list(formatted(source))


@pytest.mark.parametrize(
    "source",
    ['f"{count:,}"', 'f"{at:%Y-%m-%d}"', 'f"{name:<28}"', 'float(f"{value:.6g}")', '"%{text}: %{count:,}"'],
)
def test_lets_other_texts_pass(source):
    assert not list(formatted(source))


def test_templates_write_numbers_by_the_formatter():
    templates = [path for package in (*PACKAGES, "templates") for path in (ROOT / package).rglob("*.html")]
    others = [
        f"{path.relative_to(ROOT)}: {match[0].strip()}"
        for path in templates
        for pattern in (FILTERS, STRINGFORMAT)
        for match in pattern.finditer(path.read_text())
    ]
    assert len(templates) > 100 and others == []


def test_scripts_write_numbers_in_one_place():
    """charts.js writes the table below a figure, as `formatting.cell` does; the field of a form needs plain digits."""
    calls = [
        line.strip()
        for path in (ROOT / "static" / "js").glob("*.js")
        for line in path.read_text().splitlines()
        if re.search(r"toFixed|toLocaleString|toPrecision|NumberFormat", line)
    ]
    assert [line for line in calls if "NUMBERS" not in line and not re.match(r"form\.\w+\.value = ", line)] == []
