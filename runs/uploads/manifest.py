"""What a program states with the files that it uploads, as JSON: its shape, and the words that it may hold.

Whatever the files tell need not be stated. Unknown names are refused with the nearest that is known.
"""

import json
import re
from typing import Annotated, Any, Final, Literal, NoReturn

from pydantic import AfterValidator, ConfigDict, Field, ValidationError

from runs.uploads.messages import NO_UTC_OFFSET, NOT_KNOWN
from runs.uploads.metadata import CommonMetadata, HostFacts, Lines, Name, OneRun, Part, Text, suggest
from runs.ycsb.errors import YcsbError
from runs.ycsb.properties import MAX_RECORDS

MAX_MANIFEST: Final = 64 * 1024  # bytes
MAX_LABELS: Final = 20
MAX_LABEL_LENGTH: Final = 40
MAX_RUNS: Final = 150
MAX_UTC_OFFSETS: Final = 300


class ManifestRefused(YcsbError):
    """A manifest has faults: a JSON pointer and a sentence for each."""

    def __init__(self, faults: "list[tuple[str, str]]") -> None:
        self.faults = faults
        super().__init__(" ".join(f"{pointer}: {message}" for pointer, message in faults[:5]))


def check_utc_offset(text: str) -> str:
    """Raises ValueError for anything but +02:00 and the like, in whole quarters of an hour."""
    if not re.fullmatch(r"[+-](?:0\d|1[0-4]):(?:00|15|30|45)", text, re.ASCII):
        raise ValueError(NO_UTC_OFFSET.format(text=text[:40]))
    return text


class Workload(Part):
    """The workload, where it is none of your team's."""

    name: Name = Field(default="", description="Such as `YCSB A`. A workload of your team has this name: it is taken.")
    properties: dict[Text, Text | int | float | bool] = Field(
        default={},
        max_length=300,
        description="As far as they are known and the files do not tell them.",
    )
    records: Annotated[int, Field(ge=1, le=MAX_RECORDS)] | None = Field(
        default=None, description="How many were loaded before."
    )


class ClusterFacts(HostFacts):
    """Where the database ran."""

    name: Name = Field(
        default="",
        description="A label of the machines or of the CI's runners. The variation between sessions is estimated for "
        "each label, and tests with different labels are different tests.",
    )


class Manifest(CommonMetadata, OneRun):
    """What the files cannot know. Only the durability mode is never in them; of the rest, whatever they do not tell."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "system": "redis",
                    "mode": "always",
                    "version": "7.2.4",
                    "workload": "YCSB A",
                    "cluster": {"hardware": "EPYC 7443P, NVMe", "nodes": 1, "cores": 24, "memory_gib": 128},
                    "labels": ["nightly"],
                    "commit": "3f2a91c7d0e4",
                    "branch": "main",
                    "ci_url": "https://ci.example/builds/123",
                }
            ]
        }
    )

    workload: Name | Workload | None = Field(
        default=None, description="One of your team's by its name, or a description."
    )
    cluster: ClusterFacts = ClusterFacts()
    labels: list[Name] | dict[Name, Name] = Field(default=[], description="Texts, or names with values: tags.")
    notes: Annotated[str, Field(max_length=10_000), Lines] = ""
    grouping: Literal["told", "together", "apart"] = Field(
        default="told",
        description="Which files are of one run: as their names and contents tell, all of them (clients of one run), "
        "or each for itself.",
    )
    utc_offsets: dict[Text, Annotated[str, AfterValidator(check_utc_offset)]] = Field(
        default={},
        max_length=MAX_UTC_OFFSETS,
        description="By file, folder or writer of lines: how far the dates of its status lines, which hold no time "
        "zone, are ahead of UTC, as in `+02:00`. Where daylight saving time begins or ends within, the offset at the "
        "beginning.",
    )
    runs: list[OneRun] = Field(
        default=[],
        max_length=MAX_RUNS,
        description="Where the files hold several runs: of each, in the order in the answer.",
    )

    def tags(self) -> list[str]:
        """The labels as runs have them."""
        if isinstance(self.labels, list):
            return list(dict.fromkeys(filter(None, self.labels)))
        return [f"{name}={value}" for name, value in self.labels.items()]


def read_manifest(text: str | bytes) -> Manifest:
    """Raises ManifestRefused with every fault at once."""
    if len(text) > MAX_MANIFEST:
        _refuse("", f"The manifest is longer than {MAX_MANIFEST:,} bytes.")
    try:
        raw = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        _refuse("", f"The manifest is no JSON: {error}.")
    return build_manifest(raw)


def build_manifest(raw: object) -> Manifest:
    """Raises ManifestRefused with every fault of parsed JSON at once."""
    if not isinstance(raw, dict):
        _refuse("", 'The manifest must be a JSON object, as in {"system": "redis", "mode": "always"}.')
    try:
        manifest = Manifest.model_validate(raw)
    except ValidationError as error:
        raise ManifestRefused(_faults(error)) from None
    except RecursionError:
        _refuse("", "The manifest is nested too deeply.")

    tags = manifest.tags()
    if len(tags) > MAX_LABELS or ((longest := max(tags, key=len, default="")) and len(longest) > MAX_LABEL_LENGTH):
        _refuse(
            "/labels", f"There are at most {MAX_LABELS} labels of at most {MAX_LABEL_LENGTH} characters, name=value."
        )

    return manifest


def described() -> dict[str, Any]:
    """The shape as JSON Schema, without references: it stands within another description."""
    schema = Manifest.model_json_schema()
    parts = schema.pop("$defs", {})

    def whole(part: Any) -> Any:
        if isinstance(part, list):
            return [whole(child) for child in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            return whole({**parts[part["$ref"].rsplit("/", 1)[-1]], **{k: v for k, v in part.items() if k != "$ref"}})
        return {name: whole(child) for name, child in part.items()}

    inlined: dict[str, Any] = whole(schema)
    return inlined


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number in JSON")


def _refuse(pointer: str, message: str) -> NoReturn:
    raise ManifestRefused([(f"#/manifest{pointer}", message)])


# What pydantic puts into a place to say which of several shapes it tried.
_SHAPE: Final = re.compile(r"(Workload|str|int|float|bool|\[key\])$|((list|dict)\[)?function-after\[")


def _faults(error: ValidationError) -> list[tuple[str, str]]:
    """One for each place."""
    messages: dict[str, str] = {}
    for fault in error.errors(include_url=False, include_input=False):
        places = [str(part) for part in fault["loc"] if not _SHAPE.match(str(part))]
        pointer = "/".join(["#/manifest", *(part.replace("~", "~0").replace("/", "~1")[:80] for part in places)])
        message = fault["msg"].removeprefix("Value error, ")
        if fault["type"] == "extra_forbidden":
            message = NOT_KNOWN.format(name=places[-1][:60]) + suggest(places[-1], _fields(places[:-1]))
        messages.setdefault(pointer, message)

    # Of a value that may have several shapes, what is wrong inside of it says more than that it has not the first one.
    pointers = "\n".join(messages)
    return [(pointer, message) for pointer, message in messages.items() if f"{pointer}/" not in pointers][:50]


def _fields(places: list[str]) -> list[str]:
    parts = {"workload": Workload.model_fields, "cluster": ClusterFacts.model_fields, "runs": OneRun.model_fields}
    return list(parts.get(places[0] if places else "", Manifest.model_fields))
