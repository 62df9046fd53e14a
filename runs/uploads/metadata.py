"""What the person or program that uploads says about some runs: everything that their files cannot know. Pure.

`Upload.stated` holds a `RunMetadata` for each test. The manifest has its fields (`runs.uploads.manifest`), and the form
of the import page fills it.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from runs.builds import Commit, CommitTime, Link
from runs.checks.default_thresholds import PROFILES
from runs.uploads.messages import NO_PART_OF_NAME, NO_PURPOSE
from runs.ycsb.merged import Phase
from runs.ycsb.properties import MAX_INT, PROPORTIONS, read_shares
from runs.ycsb.property_schema import nearest

MAX_REPEAT: Final = 1_000
PURPOSES: Final = tuple(PROFILES)
_MAX_SHORT_NAME: Final = 12
_INITIALS: Final = {operation: "".join(word[0] for word in operation.split("-")) for operation in PROPORTIONS.values()}
_UNNAMED: Final = re.compile(r"[^A-Za-z0-9._-]+", re.ASCII)
# Signs that turn the direction of what stands beside them.
_TURNING: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def _check_line(text: str) -> str:
    if bad := next((sign for sign in text if _is_bad(sign) or sign in "\r\n\t\u2028\u2029"), None):
        raise ValueError(NO_PART_OF_NAME.format(code_point=ord(bad)))
    return " ".join(text.split())


def _check_lines(text: str) -> str:
    if bad := next((sign for sign in text if _is_bad(sign) and sign not in "\r\n\t"), None):
        raise ValueError(f"holds the character U+{ord(bad):04X}")
    return text.strip()


def _is_bad(sign: str) -> bool:
    return unicodedata.category(sign) in ("Cc", "Cs") or sign in _TURNING


def suggest(name: str, names: Iterable[str]) -> str:
    """The beginning of a further sentence: the known name that was perhaps meant; empty where none is near."""
    near = nearest(name, names)
    return f" Did you mean “{near}”?" if near else ""


def _check_purpose(text: str) -> str:
    if text not in PURPOSES:
        hint, purposes = suggest(text, PURPOSES), ", ".join(PURPOSES)
        raise ValueError(NO_PURPOSE.format(text=text[:60], hint=hint, purposes=purposes))
    return text


Line = AfterValidator(_check_line)
Lines = AfterValidator(_check_lines)
Text = Annotated[str, Field(max_length=500), Lines]
Name = Annotated[str, Field(max_length=80), Line]
Count = Annotated[int, Field(ge=1, le=MAX_INT)]


class Part(BaseModel):
    """Unknown names are refused, and a text is no number."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class HostFacts(Part):
    """Where the database ran."""

    hardware: Annotated[str, Field(max_length=2_000), Lines] = Field(
        default="", description="Processor, disks, network, provider: whatever a reader needs to judge the numbers."
    )
    nodes: Annotated[int, Field(ge=1, le=100)] | None = None
    cores: Annotated[int, Field(ge=1, le=4096)] | None = Field(default=None, description="Of each node.")
    memory_gib: Annotated[float, Field(ge=0.1, le=1e6)] | None = Field(default=None, description="Of each node.")
    client_on_database_host: bool | None = Field(default=None, description="Whether clients ran on a database node.")


class CommonMetadata(Part):
    """Fields that a manifest and stored metadata share."""

    database: Name = Field(default="", description="As it is to be called in figures; else the system's name.")
    system: Name = Field(default="", description="A slug of the catalog, or a name by which it is known; or `other`.")
    system_name: Name = Field(default="", description="Of another system.")
    version: Annotated[str, Field(max_length=40), Line] = Field(default="", description="Of the system.")
    mode: Name = Field(default="unknown", description="The durability mode, as the catalog names it.")
    replication_factor: Annotated[int, Field(ge=1, le=100)] | None = None
    purpose: Annotated[str, AfterValidator(_check_purpose)] = Field(
        default="measured", description="How strictly runs are judged: " + ", ".join(PURPOSES) + "."
    )
    warmup_s: Annotated[int, Field(ge=0, le=100_000)] = Field(
        default=0, description="Left out at the beginning, where there are histograms over time."
    )
    notes: Annotated[str, Field(max_length=20_000), Lines] = ""
    commit: Commit = Field(default="", description="Of the code that was measured.")
    branch: Annotated[str, Field(max_length=120), Line] = ""
    committed_at: CommitTime = Field(
        default="", description="With its zone: the place of the commit in histories. Empty: when it was measured."
    )
    ci_url: Link = Field(default="", description="Where the CI's job is shown; http or https. It is never fetched.")
    session: Annotated[str, Field(max_length=200), Line] = Field(
        default="",
        description="The CI job in which it was measured. Runs of one job share the state of its machine, and count as "
        "one session; else `ci_url` tells the sessions apart, else the day.",
    )
    sweep: str = Field(
        default="", max_length=36, description="The id of an uploaded curve that the measured runs are points of."
    )


class StatedWorkload(Part):
    """A workload of the team (with its id), or one that was described."""

    id: str = ""
    name: str
    short_name: str
    properties: dict[str, str]


class OneRun(Part):
    """What is stated of one of several runs in the files."""

    phase: Phase | None = None
    threads: Count | None = Field(default=None, description="All clients together.")
    target_ops_s: Count | None = Field(default=None, description="Over all clients; not stated: as much as they could.")
    repeat: Annotated[int, Field(ge=1, le=MAX_REPEAT)] | None = None


class StatedRun(OneRun):
    """One run that is to be saved. Without a repeat it is the next one that is free."""

    index: int  # among those that were recognised
    phase: Phase
    threads: Annotated[int, Field(ge=0, le=MAX_INT)]  # 0: not known


class RunMetadata(CommonMetadata, HostFacts):
    """The metadata of the runs of an upload, complete. None and empty: not known."""

    workload: StatedWorkload
    runner: Name = ""  # the label of the machines
    tags: list[str] = []
    runs: list[StatedRun] = []


def label_curve(metadata: RunMetadata, phase: str) -> str:
    """The name of the curve of the test's runs of one phase. Loads have curves of their own."""
    label = metadata.workload.short_name if phase == "measure" else "load"
    return f"{metadata.database} {metadata.mode} {label}"


def store_tests(tests: Sequence[RunMetadata]) -> dict[str, object]:
    """The runs of an upload, for `Upload.stated`: of several tests one after the other."""
    dumped = [metadata.model_dump(mode="json") for metadata in tests]
    if len(dumped) == 1:
        return dumped[0]
    return {"tests": dumped}


def read_tests(stated: Mapping[str, Any]) -> list[RunMetadata]:
    """From `Upload.stated`."""
    return [RunMetadata.model_validate(test) for test in stated.get("tests", [stated])]


def describe_workload(name: str, properties: dict[str, str]) -> StatedWorkload:
    """A workload that is none of the team's."""
    words = _UNNAMED.sub(" ", name.removeprefix("YCSB ")).split()
    if len("-".join(words)) > _MAX_SHORT_NAME:
        words = _abbreviate_mix(properties) or words
    return StatedWorkload(name=name, short_name=_join_words(words), properties=properties)


def _abbreviate_mix(properties: Mapping[str, str]) -> list[str]:
    """The operations by their initials, with whole percents: R49 and U51, or RMW50."""
    shares = read_shares(properties)
    return [f"{_INITIALS[operation]}{round(100 * share)}" for operation, share in shares.items()]


def _join_words(words: Sequence[str]) -> str:
    """As many whole words as a short name takes; a first word that is too long by itself is cut."""
    joined = words[0][:_MAX_SHORT_NAME] if words else ""
    for word in words[1:]:
        if len(joined) + 1 + len(word) > _MAX_SHORT_NAME:
            break
        joined = f"{joined}-{word}"
    return joined
