"""Every statement of docs/developers/threat-model.md names tests, and all of them exist."""

import ast
import re
from functools import lru_cache
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
TEXT = (ROOT / "docs" / "developers" / "threat-model.md").read_text()
SECTION = TEXT[TEXT.index("## Statements") : TEXT.index("## Accepted risks")]
ROWS = [line.strip("| ").split(" | ") for line in SECTION.splitlines() if line.startswith("|")]
STATEMENTS = [row for row in ROWS if row[0] not in ("statement", "---|---")]


@lru_cache
def names_in(path: str) -> set[str]:
    return {node.name for node in ast.parse((ROOT / path).read_text()).body if isinstance(node, ast.FunctionDef)}


def test_there_are_statements_of_every_section():
    assert len(STATEMENTS) >= 30 and SECTION.count("\n### ") >= 6


@pytest.mark.parametrize(("statement", "tests"), STATEMENTS)
def test_statement_names_tests_that_exist(statement, tests):
    references = re.findall(r"`([\w/]+\.py)::(test_\w+)`", tests)
    assert references and tests.count("`") == 2 * len(references)
    assert [name for path, name in references if name not in names_in(path)] == []
