"""What a program states with the files that it uploads, as JSON: its shape, and the words that it may hold.

Whatever the files tell need not be stated. Unknown names are refused with the nearest that is known.
"""

import json
import re
import unicodedata
from typing import Annotated, Any, Final, Literal, NoReturn
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from runs.catalog.property_schema import nearest
from runs.models.plan import Purpose
from runs.ycsb.errors import YcsbError
from runs.ycsb.merged import Phase
from runs.ycsb.properties import MAX_INT, MAX_RECORDS

MAX_MANIFEST: Final = 64 * 1024  # bytes
MAX_LABELS: Final = 20
MAX_LABEL_LENGTH: Final = 40
MAX_RUNS: Final = 150
MAX_REPEAT: Final = 1_000
MAX_UTC_OFFSETS: Final = 300
COMMIT: Final = re.compile(r"[0-9A-Za-z._-]{4,64}", re.ASCII)
# Signs that turn the direction of what stands beside them.
_TURNING: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class ManifestRefused(YcsbError):
    """What is wrong with a manifest: a JSON pointer with a sentence for each fault."""

    def __init__(self, faults: "list[tuple[str, str]]") -> None:
        self.faults = faults
        super().__init__(" ".join(f"{pointer}: {message}" for pointer, message in faults[:5]))


def _one_line(text: str) -> str:
    if bad := next((sign for sign in text if _is_bad(sign) or sign in "\r\n\t"), None):
        raise ValueError(f"holds the character U+{ord(bad):04X}, which is no part of a name")
    return " ".join(text.split())


def _lines(text: str) -> str:
    if bad := next((sign for sign in text if _is_bad(sign) and sign not in "\r\n\t"), None):
        raise ValueError(f"holds the character U+{ord(bad):04X}")
    return text.strip()


def _is_bad(sign: str) -> bool:
    return unicodedata.category(sign) in ("Cc", "Cs") or sign in _TURNING


def _commit(text: str) -> str:
    if text and not COMMIT.fullmatch(text):
        raise ValueError("a commit has 4 to 64 letters, digits, dots, dashes or underscores, as in 3f2a91c")
    return text


def _link(text: str) -> str:
    """Shown as a link, and never fetched."""
    try:
        parts = urlsplit(text)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.username or parts.password)
    except ValueError:
        fits = False
    if text and (not fits or not text.isascii() or not text.isprintable() or set(text) & set(' "<>\\^`{|}')):
        raise ValueError("write an address that begins with https:// or http://, without a user name or a password")
    return text


def _purpose(text: str) -> str:
    if text not in Purpose.values:
        near = nearest(text, Purpose.values)
        raise ValueError(f"“{text[:60]}” is no purpose." + (f" Did you mean “{near}”?" if near else "")
                         + f" Known are: {', '.join(Purpose.values)}.")  # fmt: skip
    return text


def check_utc_offset(text: str) -> str:
    """As in +02:00; time zones differ by whole quarters of an hour."""
    if not re.fullmatch(r"[+-](?:0\d|1[0-4]):(?:00|15|30|45)", text, re.ASCII):
        raise ValueError(f"“{text[:40]}” is no offset from UTC: write it as +02:00 or -05:30")
    return text


Text = Annotated[str, Field(max_length=500), AfterValidator(_lines)]
Name = Annotated[str, Field(max_length=80), AfterValidator(_one_line)]
Count = Annotated[int, Field(ge=1, le=MAX_INT)]


class Part(BaseModel):
    """What is not named here is refused, and a text is no number."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


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


class ClusterFacts(Part):
    """Where the database ran."""

    name: Name = Field(
        default="",
        description="A label of the machines or of the CI's runners. The variation between sessions is estimated for "
        "each label, and tests with different labels are different tests.",
    )
    hardware: Annotated[str, Field(max_length=2_000), AfterValidator(_lines)] = Field(
        default="", description="Processor, disks, network, provider: whatever a reader needs to judge the numbers."
    )
    nodes: Annotated[int, Field(ge=1, le=100)] | None = None
    cores: Annotated[int, Field(ge=1, le=4096)] | None = Field(default=None, description="Of each node.")
    memory_gib: Annotated[float, Field(ge=0.1, le=1e6)] | None = Field(default=None, description="Of each node.")
    client_on_database_host: bool | None = Field(default=None, description="Whether clients ran on a database node.")


class OneRun(Part):
    """What is said of one of several runs in the files."""

    phase: Phase | None = None
    threads: Count | None = Field(default=None, description="All clients together.")
    target_ops_s: Count | None = Field(default=None, description="Over all clients; not stated: as much as they could.")
    repeat: Annotated[int, Field(ge=1, le=MAX_REPEAT)] | None = None


class Manifest(OneRun):
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

    database: Name = Field(default="", description="As it is to be called in figures; else the system's name.")
    system: Name = Field(default="", description="A slug of the catalog, or a name by which it is known; or `other`.")
    system_name: Name = Field(default="", description="Of another system.")
    version: Annotated[str, Field(max_length=40), AfterValidator(_one_line)] = Field(
        default="", description="Of the system."
    )
    mode: Name = Field(default="unknown", description="The durability mode, as the catalog names it.")
    replication_factor: Annotated[int, Field(ge=1, le=100)] | None = None
    workload: Name | Workload | None = Field(
        default=None, description="One of your team's by its name, or a description."
    )
    purpose: Annotated[str, AfterValidator(_purpose)] = Field(
        default=Purpose.MEASURED.value, description="How strictly runs are judged: " + ", ".join(Purpose.values) + "."
    )
    cluster: ClusterFacts = ClusterFacts()
    warmup_s: Annotated[int, Field(ge=0, le=100_000)] = Field(
        default=0, description="Left out at the beginning, where there are histograms over time."
    )
    labels: list[Name] | dict[Name, Name] = Field(default=[], description="Texts, or names with values: tags.")
    notes: Annotated[str, Field(max_length=10_000), AfterValidator(_lines)] = ""
    commit: Annotated[str, AfterValidator(_commit)] = Field(default="", description="Of the code that was measured.")
    branch: Annotated[str, Field(max_length=120), AfterValidator(_one_line)] = ""
    ci_url: Annotated[str, Field(max_length=500), AfterValidator(_link)] = Field(
        default="", description="Where the CI's job is shown; http or https. It is never fetched."
    )
    session: Annotated[str, Field(max_length=200), AfterValidator(_one_line)] = Field(
        default="",
        description="The CI job in which it was measured. Runs of one job share the state of its machine, and count as "
        "one session; else `ci_url` tells the sessions apart, else the day.",
    )
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
    sweep: str = Field(
        default="", max_length=36, description="The id of an uploaded curve that the measured runs are points of."
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
    """The same of JSON that was read."""
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


def _refuse(place: str, message: str) -> NoReturn:
    raise ManifestRefused([(f"#/manifest{place}", message)])


def _faults(error: ValidationError) -> list[tuple[str, str]]:
    """One for each place."""
    messages: dict[str, str] = {}
    for fault in error.errors(include_url=False, include_input=False):
        places = [str(part) for part in fault["loc"] if part not in _SHAPES]
        pointer = "/".join(["#/manifest", *(part.replace("~", "~0").replace("/", "~1")[:80] for part in places)])
        message = fault["msg"].removeprefix("Value error, ")
        if fault["type"] == "extra_forbidden":
            message = f"“{places[-1][:60]}” is not known here."
            if near := nearest(places[-1], _fields(places[:-1])):
                message += f" Did you mean “{near}”?"
        messages.setdefault(pointer, message)
    # Of a value that may have several shapes, what is wrong inside of it says more than that it has not the first one.
    inner = [
        (pointer, message)
        for pointer, message in messages.items()
        if not any(f"{pointer}/" in other for other in messages)
    ]
    return inner[:50]


# What pydantic puts into a place to say which of several shapes it tried.
_SHAPES: Final = frozenset({
    "Workload", "function-after[_one_line(), constrained-str]", "function-after[_lines(), constrained-str]",
    "function-after[_one_line(), str]", "function-after[_lines(), str]", "str", "int", "float", "bool", "[key]",
    "list[function-after[_one_line(), constrained-str]]", "list[function-after[_one_line(), str]]",
    "dict[function-after[_one_line(), str],function-after[_one_line(), str]]",
    "dict[function-after[_one_line(), constrained-str],function-after[_one_line(), constrained-str]]",
})  # fmt: skip


def _fields(places: list[str]) -> list[str]:
    parts = {"workload": Workload.model_fields, "cluster": ClusterFacts.model_fields, "runs": OneRun.model_fields}
    return list(parts.get(places[0] if places else "", Manifest.model_fields))
