"""A plan file as TOML: the same plan has the same text, and what is read is checked to the last key. Pure."""

import re
import tomllib
from collections.abc import Sequence
from typing import Any, Final, TypeVar

import tomli_w
from pydantic import ValidationError

from runs.plans.files.plan import FORMAT, NAMED_VERSION, VERSION, PlanFile, PlanRefused
from runs.plans.messages import NESTED_TOO_DEEPLY, NO_TOML, OTHER_FORMAT, PLAN_FILE_TOO_LONG
from runs.plans.plan_spec import Table
from runs.ycsb.properties import convert_version_1_warm_up

T = TypeVar("T", bound=Table)
MAX_LENGTH: Final = 1_000_000  # characters of a plan file
HEAD: Final = """\
# A plan of Benchsite: what was measured, and how. It names no host: clusters and load generators are roles.
# Import it into a Benchsite; a report of its runs has a script that repeats them without one.

"""
_HEADER: Final = re.compile(r"\s*\[\[?\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?")
# Type of a validation error -> the end of its sentence.
_MESSAGES: Final = {
    "missing": "is missing",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "string_type": "must be a text in quotes",
    "string_pattern_mismatch": "must be small letters, digits and hyphens",
    "list_type": "must be a list",
    "dict_type": "must be a table",
    "model_type": "must be a table",
}


def as_text(file: PlanFile) -> str:
    """The plan as TOML, in one order and one spelling."""
    return HEAD + tomli_w.dumps(file.model_dump(exclude_none=True))


def read_plan(text: str) -> PlanFile:
    """The plan that a file describes. Raises PlanRefused, which names the line and, of a misspelt key, the nearest."""
    content = parse_plan(text)
    version = content.get("version")
    if version == 1:
        content = _convert_version_1(content)
    elif version == NAMED_VERSION:
        message = (
            f"version {NAMED_VERSION} defines what it names: apply it with `benchsite apply` or POST /api/v1/apply"
        )
        raise refuse_plan(text, ["version"], message)
    elif version != VERSION:
        message = f"version {str(version)[:60]} is not known here; this release reads versions 1 and {VERSION}"
        raise refuse_plan(text, ["version"], message)

    content.pop("study", None)  # of earlier releases: which published study the plan followed, and how it differed
    return validate_plan(PlanFile, content, text)


def parse_plan(text: str) -> dict[str, Any]:
    """The content of a plan file of any version. Raises PlanRefused."""
    if len(text) > MAX_LENGTH:
        raise PlanRefused(PLAN_FILE_TOO_LONG.format(limit=MAX_LENGTH, length=len(text)))
    try:
        content = tomllib.loads(text)
    except ValueError as error:  # Of a number with thousands of digits Python says no more than this.
        raise PlanRefused(NO_TOML.format(error=error)) from None
    except RecursionError:
        raise PlanRefused(NESTED_TOO_DEEPLY) from None
    if content.get("format") != FORMAT:
        raise refuse_plan(text, ["format"], OTHER_FORMAT.format(format=FORMAT))
    return content


def validate_plan(model: type[T], content: dict[str, Any], text: str) -> T:
    """The content as this model. Raises PlanRefused."""
    try:
        return model.model_validate(content, strict=True)
    except ValidationError as refusal:
        fault = refusal.errors(include_url=False)[0]
        path = [part for part in (*fault["loc"], *fault.get("ctx", {}).get("path", ())) if isinstance(part, str)]
        raise refuse_plan(text, path, _message(fault, path[-1])) from None


def _convert_version_1(content: dict[str, Any]) -> dict[str, Any]:
    """The content as version 2 has it, where it differs. What has another form than a plan is left to be refused."""
    workloads = content.get("workloads")
    overrides = content.get("overrides")
    tables = list(workloads.values()) if isinstance(workloads, dict) else []
    rules = overrides if isinstance(overrides, list) else []
    for table, key in (*((table, "properties") for table in tables), *((rule, "set") for rule in rules)):
        if isinstance(table, dict) and isinstance(table.get(key), dict):
            table[key] = convert_version_1_warm_up(table[key])
    return {**content, "version": VERSION}


def _message(error: Any, key: str) -> str:
    match error["type"]:
        case "plan" | "extra_forbidden":
            return str(error["msg"])
        case "value_error":
            return f"{key} {error['ctx']['error']}"
        case kind:
            return f"{key} {_MESSAGES.get(kind) or re.sub(r'^.*? should', 'must', error['msg'])}"


def refuse_plan(text: str, path: Sequence[str], message: str) -> PlanRefused:
    """The refusal of a key, with its line."""
    return PlanRefused(locate(text, path, message))


def locate(text: str, path: Sequence[str], message: str) -> str:
    """The message with the line and the table of a key."""
    *table, key = path
    line = find_line(text, table, key)
    where = ".".join(table) or "the plan"
    return f"line {line}, {where}: {message}" if line else f"{where}: {message}"


def find_line(text: str, path: Sequence[str], key: str) -> int | None:
    """The line on which a key stands, as far as a look can tell; else that of its table."""
    table, header = "", None
    dotted = ".".join(path)
    inline = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=""")
    for number, line in enumerate(text.splitlines(), 1):
        if match := _HEADER.fullmatch(line):
            table = match[1].replace('"', "")
            if table == f"{dotted}.{key}".lstrip("."):
                return number
            header = number if table == dotted else header
        elif table == dotted and inline.match(line):
            return number

    return header
