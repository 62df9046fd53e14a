"""Own builds: servers that a team built itself, and what is stated of code that is measured. Pure."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, cast
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from runs.queue.spec import BuildSpec

MAX_BUILDS: Final = 8
MAX_STATEMENT_BYTES: Final = 65_536
SOURCES: Final = ("folder", "image", "artifact")
# What a folder may state of itself, so that a schedule measures whatever was built last.
STATEMENT_FILE: Final = "benchsite-build.json"
# The fact of a machine for each source: `AVAILABLE`, or why not and what its operator sets.
FACTS: Final = {source: f"own_build_{source}" for source in SOURCES}
AVAILABLE: Final = "available"
_COMMIT: Final = re.compile(r"[0-9A-Za-z._-]{4,64}", re.ASCII)
_ARTIFACT_PART: Final = r"[A-Za-z0-9_][A-Za-z0-9._-]*"


def check_commit(text: str) -> str:
    if text and not _COMMIT.fullmatch(text):
        raise ValueError("write 4 to 64 letters, digits, dots, dashes or underscores, as in 3f2a91c")
    return text


def check_link(text: str) -> str:
    """Shown as a link, and never fetched."""
    try:
        parts = urlsplit(text)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.username or parts.password)
    except ValueError:
        fits = False
    if text and (not fits or not text.isascii() or not text.isprintable() or set(text) & set(' "<>\\^`{|}')):
        raise ValueError("write an address that begins with https:// or http://, without a user name or a password")
    return text


def check_commit_time(text: str) -> str:
    """The same instant in UTC, to the second."""
    if not text:
        return ""
    try:
        instant = datetime.fromisoformat(text)
        if instant.tzinfo and 1970 <= instant.astimezone(UTC).year < 2100:
            return f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError):
        pass
    raise ValueError("write the time of the commit with its zone, as in 2026-03-01T12:00:00Z")


def read_commit_time(text: str) -> datetime | None:
    if not text:
        return None
    return datetime.fromisoformat(text)


Commit = Annotated[str, AfterValidator(check_commit)]
CommitTime = Annotated[str, AfterValidator(check_commit_time)]
Link = Annotated[str, Field(max_length=500), AfterValidator(check_link)]
Artifact = Annotated[
    str, StringConstraints(max_length=300, pattern=rf"^({_ARTIFACT_PART}(:{_ARTIFACT_PART}){{2,4}})?$")
]


class Statement(BaseModel):
    """`STATEMENT_FILE`. Fields that are not known are left alone: other programs may read the file too."""

    model_config = ConfigDict(strict=True)

    version: Annotated[str, Field(max_length=40)] = ""
    commit: Commit = ""
    branch: Annotated[str, Field(max_length=120)] = ""
    committed_at: CommitTime = ""
    ci_url: Link = ""


def read_statement(text: bytes) -> dict[str, str]:
    """The statement of a build. Raises ValueError with a sentence."""
    try:
        return Statement.model_validate(json.loads(text)).model_dump()
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = "/".join(map(str, fault["loc"])) or "the file"
        raise ValueError(f"{STATEMENT_FILE}: {place}: {fault['msg'].removeprefix('Value error, ')}.") from None
    except (ValueError, RecursionError):
        raise ValueError(f"{STATEMENT_FILE} is no JSON.") from None


def get_source(build: Mapping[str, Any]) -> str:
    """Which of SOURCES it is started from; empty: what the machine has."""
    return next((source for source in SOURCES if build[source]), "")


def has_own_builds(builds: Sequence[Mapping[str, Any]]) -> bool:
    return any(get_source(build) for build in builds)


def add_statement(build: BuildSpec, statement: Mapping[str, str]) -> BuildSpec:
    """The build with what the plan leaves open taken from its statement."""
    merged = {name: text or statement.get(name, "") for name, text in build.items()}
    return cast(BuildSpec, merged)


def is_same_commit(commit: str, other: str) -> bool:
    """One may be the beginning of the other."""
    shorter, longer = sorted((commit.lower(), other.lower()), key=len)
    return longer.startswith(shorter)


def list_problems(builds: Sequence[Mapping[str, Any]], looks: Sequence[int] = ()) -> Iterator[str]:
    """The problems with the builds of a plan, whatever they are measured on."""
    if len(builds) > 1 and looks:
        yield "Builds are judged once, after all repeats: leave the looks empty."
    names = [build["name"] for build in builds]
    if len(set(names)) < len(names) or (len(names) > 1 and not all(names)):
        yield "Builds of one plan have different names: this, base."
    for build in builds:
        label = f"Build “{build['name']}”" if build["name"] else "The build"
        if sum(bool(build[source]) for source in SOURCES) > 1:
            yield f"{label} has several sources: state a folder, an image or an artifact."
        if len(builds) > 1 and not get_source(build):
            yield f"{label} has no source: state its folder, its image or its artifact."


def source_problem(build: Mapping[str, Any], provisioner: str) -> str:
    """Why servers of such a cluster cannot be started from the build; empty where they can."""
    source = get_source(build)
    if not source:
        return ""
    if provisioner == "external":
        return "the servers of an external cluster run already. Leave the source out, or choose another cluster."
    if (source == "image") != (provisioner == "docker"):
        fitting = {"docker": "an image", "process": "a folder or an artifact"}.get(provisioner, "another source")
        return f"servers of a {provisioner} cluster are started from {fitting}."
    return ""
