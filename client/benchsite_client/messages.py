"""The English of the client. What is read and judged has the site's."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

TOO_LARGE: Final = "The files unpack to more than {mib:,} MiB: judge fewer of them at a time, or upload them."
NO_HARDWARE: Final = "Where the database ran is not stated: its processor, memory and disks (--hardware)."
FOLDER: Final = "{name} is a folder: name the files in it."
NO_RESULT: Final = "There is no result in these files."
VERDICTS: Final = {
    "pass": "Pass: no check objects.",
    "warn": "Warning: the numbers hold with the reservations above.",
    "reject": "Rejected: do not use these numbers.",
}
PARTS: Final = {
    "refusals": "Files that cannot be read",
    "wrong": "What is wrong with it",
    "missing": "What is missing to believe it",
    "unstated": "What is not stated",
}


def describe_missing_mode(modes: Sequence[str]) -> str:
    """`modes`: those of the system, where it is known."""
    choices = ""
    if modes:
        choices = f": {', '.join(modes)}"
    return f"No file says what a power failure may take. State the durability mode (--mode){choices}."


NO_LOGIN: Final = "No site or no token: run `benchsite login ADDRESS`, or set BENCHSITE_URL and BENCHSITE_TOKEN."
NO_ADDRESS: Final = "State the address of the site, as in `benchsite login https://benchsite.example`."
NO_TOKEN: Final = "The token is empty. Create one on your team's page Tokens."
TOKEN_PROMPT: Final = "Token (from your team's page Tokens): "
UNREADABLE_TOKEN: Final = "The token cannot be read from {path}: {reason}."
UNREADABLE_LOGIN: Final = "{path} cannot be read: remove it and run `benchsite login` again."
LOGGED_IN: Final = "Signed in at {address}. The token is stored in {path}."
LOGIN_FORGOTTEN: Final = "No site and no token are stored any more."

NO_PLAN: Final = "Your team has no plan with the name or id {name}."
ALREADY_QUEUED: Final = "{name} was queued before. With --again a copy of it is queued."
QUEUED: Final = "{name} is queued: {permalink}"
NO_OUTPUT: Final = "State the file to write with --output."
NOTHING_TO_EXPORT: Final = "No run matches: nothing was written."
EXPORT_BROKE_OFF: Final = "The site's answer ended early: nothing was written. Run it again."
EXPORTED: Final = "{path}: {size:,} bytes."
UNWRITABLE: Final = "{path} cannot be written: {reason}."
NO_PYARROW: Final = 'Parquet needs pyarrow: pipx install "./client[parquet]".'


def describe_run(run: Mapping[str, Any]) -> str:
    """A run that has ended."""
    if run["status"] != "succeeded":
        return f"{run['name']}: {run['status']} {run['reason']} {run['reason_detail']}".rstrip()
    rejections = ", ".join(f"{each['check_id']} {each['title']}" for each in run["rejected_by"])
    rate = "no throughput"
    if run["throughput_ops_s"] is not None:
        rate = f"{run['throughput_ops_s']:,.0f} ops/s"
    return f"{run['name']}: {rate}, checks: {run['verdict']} {rejections}".rstrip()


def describe_end(runs: int, permalink: str) -> str:
    if not runs:
        return f"The plan has no runs: queue them first. {permalink}"
    return f"All {runs:,} runs have ended: {permalink}"
