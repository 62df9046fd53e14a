"""The properties of YCSB 0.17.0: what a workload may say, what Benchsite itself decides, and what nobody may set.

YCSB ignores a property that it does not know and fills in one that is absent with a default that surprises (95 %
reads), so a checked workload names every proportion and nothing unknown. No property that is accepted here is a class,
a path, a file or a URL: whoever writes workloads decides what is measured, never what runs on a load generator.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from benchsite.core.formatting import exact
from runs.ycsb.errors import PropertyError
from runs.ycsb.messages import (
    CONSTANT_NEEDS_ZIPFIAN,
    CONSTANT_OUTSIDE,
    DELETES_EXCEED_INSERTS,
    FIELD_LENGTHS,
    FOLLOWS_FROM_MATRIX,
    INTEGRITY_NEEDS_CONSTANT,
    NO_PROPORTION,
    PROPORTIONS_ARE_WEIGHTS,
    RECORDCOUNT_MISSING,
    RECORDCOUNT_ZERO,
    SCAN_LENGTHS,
    SET_BY_BENCHSITE,
    WARM_UP_IN_SECONDS,
    WARM_UPS_DIFFER,
)
from runs.ycsb.property_schema import Property, unknown_name, use_declared_names

MAX_INT: Final = 2_147_483_647
MAX_RECORDS: Final = 2**63 - 1  # of an upload: newer clients count them in 64 bits
YCSB_PROPORTIONS: Final[Mapping[str, str]] = {
    "readproportion": "READ",
    "updateproportion": "UPDATE",
    "insertproportion": "INSERT",
    "scanproportion": "SCAN",
    "readmodifywriteproportion": "READ-MODIFY-WRITE",
}
DELETES: Final = "deleteproportion"
PROPORTIONS: Final[Mapping[str, str]] = {**YCSB_PROPORTIONS, DELETES: "DELETE"}
DISTRIBUTION: Final = "requestdistribution"
EXACT_ZIPFIAN: Final = "exactzipfian"
ZIPFIAN_CONSTANT: Final = "zipfianconstant"
# Of YCSB's zipfian distribution, whose formula is of no use beside them.
YCSB_CONSTANTS: Final = (0.01, 0.999)
# Which keys a client inserts: its number among the clients of the run, and the first key behind the data set.
CLIENT_NUMBER: Final = "client.number"
CLIENT_COUNT: Final = "client.count"
FIRST_INSERT: Final = "insert.first"
WARM_UP: Final = "warmup.duration_ms"
WARM_UP_READS: Final = "warmup.reads_only"
MAX_WARM_UP_MS: Final = 600_000
CATCH_UP: Final = "window.catch_up_ms"
INSERT_RETRIES: Final = "core_workload_insertion_retry_limit"
INSERT_RETRY_INTERVAL: Final = "core_workload_insertion_retry_interval"
# Milliseconds in the YCSBs that have it. Benchsite's plan files of version 1 had seconds under the same name.
YCSB_WARM_UP: Final = "warmupexecutiontime"
MAX_VERSION_1_WARM_UP_S: Final = 600
_IDENTIFIER: Final = r"[A-Za-z][A-Za-z0-9_]{0,62}"


def _by_name(*properties: Property) -> dict[str, Property]:
    return {entry.name: entry for entry in properties}


def _whole(name: str, default: int | None, least: int, most: int, help: str, unit: str = "") -> Property:
    text = None
    if default is not None:
        text = str(default)
    return Property(name=name, type="int", default=text, least=least, most=most, help=help, unit=unit)


def _share(name: str, default: str, help: str, *also: str) -> Property:
    return Property(name=name, type="float", default=default, least=0, most=1, help=help, also=also)


def _switch(name: str, default: str, help: str) -> Property:
    return Property(name=name, type="bool", default=default, help=help)


def _choice(name: str, default: str, choices: tuple[str, ...], help: str) -> Property:
    return Property(name=name, type="choice", default=default, choices=choices, help=help)


# What a workload may say, in the order in which it is shown.
WORKLOAD_PROPERTIES: Final[Mapping[str, Property]] = _by_name(
    _whole("recordcount", None, 1, MAX_INT, "Records loaded before anything is measured.", "records"),
    _whole("fieldcount", 10, 1, 1000, "Fields of a record."),
    _whole("fieldlength", 100, 1, 10_000_000, "Longest (constant: every) field value.", "bytes"),
    _whole("minfieldlength", 1, 1, 10_000_000, "Shortest field value, unless the length is constant.", "bytes"),
    _choice("fieldlengthdistribution", "constant", ("constant", "uniform", "zipfian"), "How field lengths vary."),
    _share("readproportion", "0.95", "Share of operations that read one record.", "memgetproportion"),
    _share("updateproportion", "0.05", "Share of operations that update one record.", "memupdateproportion"),
    _share("insertproportion", "0", "Share of operations that insert a new record."),
    _share("scanproportion", "0", "Share of operations that read a range of records."),
    _share("readmodifywriteproportion", "0", "Share of operations that read a record and write it back changed."),
    _share(
        DELETES, "0", "Share of operations that delete a record the client inserted; of Benchsite's own client only."
    ),
    _choice(
        DISTRIBUTION,
        "uniform",
        ("uniform", "zipfian", "latest", "hotspot", "exponential", "sequential", EXACT_ZIPFIAN),
        "Which records are asked for; exactzipfian: of Benchsite's own client only.",
    ),
    Property(
        name=ZIPFIAN_CONSTANT,
        type="float",
        default="0.99",
        least=0.001,
        most=100,
        help="zipfian (to 0.999) and exactzipfian: how uneven it is; of Benchsite's own client only.",
    ),
    _share("hotspotdatafraction", "0.2", "hotspot: the share of the records that is hot."),
    _share("hotspotopnfraction", "0.8", "hotspot: the share of the operations that go to hot records."),
    Property(
        name="exponential.percentile",
        type="float",
        default="95",
        least=0.001,
        most=99.999,
        help="exponential: the percentage of operations that fall within exponential.frac of the records.",
    ),
    Property(
        name="exponential.frac",
        type="float",
        default="0.8571428571",
        least=1e-6,
        most=1,
        help="exponential: the share of the records, newest first, that gets exponential.percentile of the operations.",
    ),
    _switch("readallfields", "true", "A read fetches all fields of the record, not one."),
    _switch("writeallfields", "false", "An update writes all fields of the record, not one."),
    _switch("dataintegrity", "false", "Field values follow from their key and are verified when read."),
    _whole("minscanlength", 1, 1, 1_000_000, "Fewest records of a scan.", "records"),
    _whole("maxscanlength", 1000, 1, 1_000_000, "Most records of a scan.", "records"),
    _choice("scanlengthdistribution", "uniform", ("uniform", "zipfian"), "How the length of scans varies."),
    _choice("insertorder", "hashed", ("hashed", "ordered"), "Keys are hashed numbers, or the numbers themselves."),
    _whole("zeropadding", 1, 1, 20, "Digits of a key's number; shorter ones get zeros in front.", "digits"),
    Property(
        name="table",
        default="usertable",
        pattern=_IDENTIFIER,
        help="The table that holds the records: a letter, then letters, digits and underscores.",
    ),
    Property(
        name="fieldnameprefix",
        default="field",
        pattern=_IDENTIFIER,
        help="What the names of fields begin with: a letter, then letters, digits and underscores.",
    ),
    _whole(
        WARM_UP,
        0,
        0,
        MAX_WARM_UP_MS,
        "Each client uses the database so long before the run begins; unmeasured.",
        "ms",
    ),
    _switch(WARM_UP_READS, "false", "Before the run begins, clients read only, whatever the workload's mix is."),
    _whole(
        CATCH_UP,
        None,
        0,
        600_000,
        "With a target: later operations are dropped instead of made up for; of Benchsite's own client only.",
        "ms",
    ),
    _whole(INSERT_RETRIES, 0, 0, 1000, "How often a failed insert is tried again."),
    _whole(INSERT_RETRY_INTERVAL, 3, 0, 600, "The pause before the next attempt.", "s"),
)

# Of an open load; the last one names a file.
OPEN_LOAD_PROPERTIES: Final = (
    "open.rate", "open.arrivals", "open.patience_ms", "open.profile", "open.seed", "open.shift", "open.begin_every_s",
    "open.instant_ms", "open.output",
)  # fmt: skip
# What Benchsite decides for every client of a run.
CLIENT_PROPERTIES: Final = frozenset({
    CLIENT_COUNT, CLIENT_NUMBER, "dotransactions", FIRST_INSERT, "hdrhistogram.fileoutput", "hdrhistogram.percentiles",
    "histogram.buckets", "insertcount", "insertstart", "label", "latencytrackederrors", "maxexecutiontime",
    "measurement.histogram.verbose",
    "measurement.interval", "measurement.raw.no_summary", "measurement.trackjvm", "measurementtype", "operationcount",
    "reportlatencyforeacherror", "spin.sleep", "status", "status.interval", "target", "threadcount",
    "timeseries.granularity", "window.start_s", *OPEN_LOAD_PROPERTIES,
})  # fmt: skip

# Classes, files and addresses: what they name would be loaded, read, written or contacted on a load generator.
REFUSED_PROPERTIES: Final[Mapping[str, str]] = {
    "workload": "names a class",
    "db": "names a class",
    "exporter": "names a class",
    "exportfile": "names a file",
    "hdrhistogram.output.path": "names a file",
    "measurement.raw.output_file": "names a file",
    "fieldlengthhistogram": "names a file",
}
_KEY_FILE: Final = "names a file of keys, and clients here make YCSB's own: write their number as recordcount instead"
_OF_DATABASE: Final = "belongs to the client of a database: write it into the database's client properties"
# Properties of the studies' YCSBs that are none of a workload here.
OTHER_PROPERTIES: Final[Mapping[str, str]] = {
    "readretrycount": _OF_DATABASE,
    "updateretrycount": _OF_DATABASE,
    "insertretrycount": _OF_DATABASE,
    "retrydelay": _OF_DATABASE,
    "ignoreinserterrors": _OF_DATABASE,
    "reconnectiontarget": _OF_DATABASE,
    "mongodb.readPreference": _OF_DATABASE,
    "keyfile": _KEY_FILE,
    "keysfile": _KEY_FILE,
    "valuelength": "is the length of a record's only field: write fieldcount=1 and fieldlength instead",
    "workingset": "is not known here: write requestdistribution=hotspot with hotspotdatafraction instead",
    "churndelta": "is not known here: the hot records stay the same; leave it out",
    "warmupoperationcount": f"is not known here: write the time as {WARM_UP} instead",
    "exportmeasurementsinterval": "is always 1000 ms here, for all statistics: leave it out",
    "printstatsinterval": "is always 1 s here: leave it out",
    "periodichistogram.buckets": "is not needed: every second has a histogram of its own; leave it out",
    "periodichistogram.bucket.interval": "is not needed: every second has a histogram of its own; leave it out",
}

_MIXES: Final[Mapping[str, tuple[Mapping[str, str], str, Mapping[str, str]]]] = {
    "A": ({"readproportion": "0.5", "updateproportion": "0.5"}, "zipfian", {}),
    "B": ({"readproportion": "0.95", "updateproportion": "0.05"}, "zipfian", {}),
    "C": ({"readproportion": "1.0"}, "zipfian", {}),
    "D": ({"readproportion": "0.95", "insertproportion": "0.05"}, "latest", {}),
    "E": (
        {"scanproportion": "0.95", "insertproportion": "0.05"},
        "zipfian",
        {"maxscanlength": "100", "scanlengthdistribution": "uniform"},
    ),
    "F": ({"readproportion": "0.5", "readmodifywriteproportion": "0.5"}, "zipfian", {}),
}


def _core(letter: str) -> dict[str, str]:
    mix, distribution, more = _MIXES[letter]
    return {
        "recordcount": "1000",
        "fieldcount": "10",
        "fieldlength": "100",
        **{name: mix.get(name, "0.0") for name in YCSB_PROPORTIONS},
        "requestdistribution": distribution,
        "readallfields": "true",
        "writeallfields": "false",
        **more,
    }


# YCSB's own workloads A to F, with every proportion spelt out.
CORE_WORKLOADS: Final[Mapping[str, Mapping[str, str]]] = {letter: _core(letter) for letter in _MIXES}


def check_workload(properties: Mapping[str, object]) -> dict[str, str]:
    """The workload in canonical texts, every proportion named. Raises PropertyError with everything that is wrong.

    When a workload names some proportions, the others are 0; when it names none, they are YCSB's defaults.
    """
    checked: dict[str, str] = {}
    problems: dict[str, str] = {}
    properties = use_declared_names(WORKLOAD_PROPERTIES, properties)
    for name, value in properties.items():
        try:
            if name == YCSB_WARM_UP:
                checked[WARM_UP] = _check_ycsb_warm_up(value, properties.get(WARM_UP))
            else:
                checked[name] = _check(name, value)
        except PropertyError as error:
            problems |= error.problems
    if "recordcount" not in properties:
        problems["recordcount"] = RECORDCOUNT_MISSING
    if problems:
        raise PropertyError(problems)

    absent = dict.fromkeys(YCSB_PROPORTIONS, "0.0")
    if not any(name in checked for name in PROPORTIONS):
        absent = {name: str(float(WORKLOAD_PROPERTIES[name].default or 0)) for name in YCSB_PROPORTIONS}
    checked = {**absent, **checked}
    if _number(checked, DELETES) == 0:
        checked.pop(DELETES, None)
    problems = _contradictions(checked)
    if problems:
        raise PropertyError(problems)
    return {name: checked[name] for name in WORKLOAD_PROPERTIES if name in checked}


def check_stated_workload(properties: Mapping[str, object]) -> dict[str, str]:
    """As `check_workload`, of an upload, which may have more records than Benchsite loads. Raises PropertyError."""
    records = str(properties.get("recordcount", "")).strip()
    if not (records.isascii() and records.isdecimal() and MAX_INT < int(records) <= MAX_RECORDS):
        return check_workload(properties)
    return {**check_workload({**properties, "recordcount": str(MAX_INT)}), "recordcount": str(int(records))}


def parse_properties(text: str) -> list[tuple[int, str, str]]:
    """The properties in the text of a java.util.Properties file, each with the number of its first line.

    `=`, `:` or blanks part name and value, a backslash at the end of a line continues it, and `\\u00e9` is a letter.
    """
    properties: list[tuple[int, str, str]] = []
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        logical = line.lstrip(_BLANKS)
        if not logical or logical[0] in "#!":
            continue
        parts = [logical]
        while (len(parts[-1]) - len(parts[-1].rstrip("\\"))) % 2:
            parts[-1] = parts[-1][:-1]
            parts.append(next(lines, (0, ""))[1].lstrip(_BLANKS))
        match = _PROPERTY_LINE.fullmatch("".join(parts))
        if match is not None:
            properties.append((number, _unescape(match["name"]), _unescape(match["value"])))
    return properties


_BLANKS: Final = " \t\f"
_PROPERTY_LINE: Final = re.compile(
    r"(?P<name>(?:\\.|[^\\=: \t\f])*)(?:[ \t\f]*[=:][ \t\f]*|[ \t\f]+|$)(?P<value>.*)", re.DOTALL
)
_ESCAPED: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_ESCAPED_LETTERS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def _unescape(text: str) -> str:
    return _ESCAPED.sub(_resolve_escape, text)


def _resolve_escape(match: re.Match[str]) -> str:
    code_point, letter = match.groups()
    if code_point:
        return chr(int(code_point, 16))
    return _ESCAPED_LETTERS.get(letter, letter)


def _check(name: str, value: object) -> str:
    if name in REFUSED_PROPERTIES:
        raise PropertyError({name: SET_BY_BENCHSITE.format(name=name, reason=REFUSED_PROPERTIES[name])})
    if name in OTHER_PROPERTIES:
        raise PropertyError({name: f"{name} {OTHER_PROPERTIES[name]}."})
    if name in CLIENT_PROPERTIES:
        raise PropertyError({name: FOLLOWS_FROM_MATRIX.format(name=name)})
    declared = WORKLOAD_PROPERTIES.get(name)
    if declared is None:
        raise PropertyError({name: unknown_name(name, WORKLOAD_PROPERTIES)})
    if name == "recordcount" and str(value).strip() in ("0", ""):
        raise PropertyError({name: RECORDCOUNT_ZERO})
    return _check_declared(declared, value)


def _check_declared(declared: Property, value: object) -> str:
    if isinstance(value, str) and value.isprintable():
        value = value.strip()
    return declared.check(value)


def _check_ycsb_warm_up(value: object, own: object) -> str:
    """The milliseconds of a warmupexecutiontime; `own` is Benchsite's property beside it, which settles the unit."""
    milliseconds = int(_check_declared(_whole(YCSB_WARM_UP, 0, 0, MAX_WARM_UP_MS, ""), value))
    meanings = (milliseconds, 1000 * milliseconds)
    if own is not None and str(own).strip() in map(str, meanings):
        return str(own).strip()
    if own is not None:
        raise PropertyError({YCSB_WARM_UP: WARM_UPS_DIFFER.format(ycsb_name=YCSB_WARM_UP, name=WARM_UP)})
    if 0 < milliseconds <= MAX_VERSION_1_WARM_UP_S:
        message = WARM_UP_IN_SECONDS.format(ycsb_name=YCSB_WARM_UP, name=WARM_UP, ms=meanings[0], s=meanings[1])
        raise PropertyError({YCSB_WARM_UP: message})
    return str(milliseconds)


def convert_version_1_warm_up(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties as Benchsite wrote them when its warmupexecutiontime was in seconds, under the present name."""
    others = {name: value for name, value in properties.items() if name != YCSB_WARM_UP}
    text = str(properties.get(YCSB_WARM_UP, "")).strip()
    if text.isascii() and text.isdecimal() and int(text) <= MAX_VERSION_1_WARM_UP_S:
        return {**others, WARM_UP: str(1000 * int(text))}
    return dict(properties)


def _contradictions(checked: Mapping[str, str]) -> dict[str, str]:
    """Values that are fine by themselves and not together."""
    problems: dict[str, str] = {}
    if all(float(checked[name]) == 0 for name in YCSB_PROPORTIONS):
        problems["readproportion"] = NO_PROPORTION
    if _number(checked, "minscanlength") > _number(checked, "maxscanlength"):
        problems["minscanlength"] = SCAN_LENGTHS
    if _number(checked, DELETES) > _number(checked, "insertproportion"):
        problems[DELETES] = DELETES_EXCEED_INSERTS.format(name=DELETES)
    if ZIPFIAN_CONSTANT in checked and (problem := _constant_problem(checked)):
        problems[ZIPFIAN_CONSTANT] = problem
    varies = checked.get("fieldlengthdistribution", "constant") != "constant"
    if varies and _number(checked, "minfieldlength") > _number(checked, "fieldlength"):
        problems["minfieldlength"] = FIELD_LENGTHS
    if varies and checked.get("dataintegrity") == "true":
        problems["dataintegrity"] = INTEGRITY_NEEDS_CONSTANT
    return problems


def _constant_problem(checked: Mapping[str, str]) -> str:
    distribution = checked.get(DISTRIBUTION)
    if distribution not in ("zipfian", EXACT_ZIPFIAN):
        return CONSTANT_NEEDS_ZIPFIAN.format(name=ZIPFIAN_CONSTANT, distribution=DISTRIBUTION, exact=EXACT_ZIPFIAN)
    least, most = YCSB_CONSTANTS
    if distribution == "zipfian" and not least <= float(checked[ZIPFIAN_CONSTANT]) <= most:
        return CONSTANT_OUTSIDE.format(least=least, most=most, distribution=DISTRIBUTION, exact=EXACT_ZIPFIAN)
    return ""


def workload_warnings(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Warnings of a checked workload that may not be what its author meant."""
    warnings: list[str] = []
    total = sum(_number(properties, name) for name in PROPORTIONS)
    if abs(total - 1) > 1e-9:
        warnings.append(PROPORTIONS_ARE_WEIGHTS.format(total=exact(total)))
    return tuple(warnings)


def proportions(properties: Mapping[str, str]) -> dict[str, float]:
    """The share of each operation of a checked workload, as fractions that add up to 1; those of 0 are left out."""
    weights = {operation: float(properties.get(name, "0")) for name, operation in PROPORTIONS.items()}
    total = sum(weights.values())
    return {operation: weight / total for operation, weight in weights.items() if weight > 0}


def read_shares(properties: Mapping[str, str]) -> dict[str, float]:
    """The shares that unchecked properties ask for; empty where they name none, or no mix."""
    if not any(name in properties for name in PROPORTIONS):
        return {}
    try:
        shares = proportions(properties)
    except (ValueError, ZeroDivisionError):
        return {}
    if not math.isclose(sum(shares.values()), 1):
        return {}  # A proportion is below 0 or not finite.
    return shares


def inserts(properties: Mapping[str, str]) -> bool:
    """Whether any of the checked workload's operations add records."""
    return float(properties.get("insertproportion", "0")) > 0


def writes(properties: Mapping[str, str]) -> bool:
    """Whether any of the checked workload's operations add or change records."""
    changing = ("updateproportion", "insertproportion", "readmodifywriteproportion")
    return any(float(properties.get(name, "0")) > 0 for name in changing)


def list_own_properties(properties: Mapping[str, str]) -> list[str]:
    """Those that only Benchsite's own client takes, where they change anything."""
    own = [
        name
        for name in (ZIPFIAN_CONSTANT, CATCH_UP)
        if properties.get(name, WORKLOAD_PROPERTIES[name].default) != WORKLOAD_PROPERTIES[name].default
    ]
    if _number(properties, DELETES) > 0:
        own.append(DELETES)
    if properties.get(DISTRIBUTION) == EXACT_ZIPFIAN:
        own.append(f"{DISTRIBUTION}={EXACT_ZIPFIAN}")
    return own


def warm_up_s(properties: Mapping[str, str]) -> int:
    """How long each client uses the database before the agreed instant, in seconds."""
    return math.ceil(_number(properties, WARM_UP) / 1000)


def prime(properties: Mapping[str, str], seconds: int, *, reads_only: bool) -> dict[str, str]:
    """With so many seconds of unmeasured work before the agreed instant, unless the workload has more."""
    primed = dict(properties)
    if seconds > warm_up_s(properties):
        primed[WARM_UP] = str(1000 * seconds)
        primed |= {WARM_UP_READS: "true"} if reads_only else {}
    return primed


def _number(properties: Mapping[str, str], name: str) -> float:
    return float(properties.get(name, WORKLOAD_PROPERTIES[name].default or 0))


# What decides which bytes are loaded. Anything else may differ between two runs over the same records.
_LOADED: Final = (
    "recordcount",
    "fieldcount",
    "fieldlength",
    "minfieldlength",
    "fieldlengthdistribution",
    "fieldnameprefix",
    "insertorder",
    "zeropadding",
    "table",
    "dataintegrity",
)


@dataclass(frozen=True, slots=True)
class Dataset:
    """The records of a load. `record_bytes` counts field values only; lengths that vary count with their mean."""

    records: int
    record_bytes: int
    fingerprint: str  # SHA-256 in hex over the properties that decide what is loaded

    @property
    def size(self) -> int:
        """In bytes of field values, without keys and indexes."""
        return self.records * self.record_bytes


def dataset(properties: Mapping[str, str]) -> Dataset:
    """The data set of a checked workload. Properties that are absent and their defaults have one fingerprint."""
    deciding = {name: properties.get(name, WORKLOAD_PROPERTIES[name].default) for name in _LOADED}
    if deciding["fieldlengthdistribution"] == "constant":
        deciding["minfieldlength"] = None
    longest = int(_number(properties, "fieldlength"))
    shortest = int(_number(properties, "minfieldlength"))
    match deciding["fieldlengthdistribution"]:
        case "uniform":
            length = (shortest + longest) / 2
        case "zipfian":
            length = _zipfian_mean(shortest, longest)
        case _:
            length = float(longest)
    return Dataset(
        records=int(_number(properties, "recordcount")),
        record_bytes=round(_number(properties, "fieldcount") * length),
        fingerprint=hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest(),
    )


def move_to_data_set(properties: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    """The workload over the records of another one. Both are checked."""
    own = {name: value for name, value in properties.items() if name not in _LOADED}
    return own | {name: value for name, value in other.items() if name in _LOADED}


def _zipfian_mean(least: int, most: int) -> float:
    """The mean of YCSB's zipfian numbers (constant 0.99) between both, by the integrals instead of the long sums."""
    count = most - least + 1
    if count <= 100_000:
        weights = [math.pow(rank, -0.99) for rank in range(1, count + 1)]
        return least + sum(weight * rank for rank, weight in enumerate(weights)) / sum(weights)
    # With s = 0.99 the sums of k**-s and k**(1-s) differ from these by less than a thousandth.
    return least + math.pow(count, 1.01) / 1.01 / (math.pow(count, 0.01) / 0.01 - 99.4228) - 1


def render_properties(properties: Mapping[str, str]) -> str:
    """The text of a java.util.Properties file, ISO-8859-1, one property a line, sorted by name."""
    lines = [f"{_escape(name, key=True)}={_escape(properties[name])}" for name in sorted(properties)]
    return "".join(line + "\n" for line in lines)


_ESCAPES: Final = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}


def _escape(text: str, *, key: bool = False) -> str:
    """Escape what java.util.Properties would take apart. Every blank of a name, and a leading one of a value."""
    parts: list[str] = []
    for position, character in enumerate(text):
        if character in _ESCAPES:
            parts.append(_ESCAPES[character])
        elif (
            (character == " " and (key or position == 0))
            or (key and character in "=:")
            or (character in "#!" and position == 0)
        ):
            parts.append("\\" + character)
        elif " " <= character <= "~":
            parts.append(character)
        else:
            units = character.encode("utf-16-be")
            parts += [f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2)]
    return "".join(parts)
