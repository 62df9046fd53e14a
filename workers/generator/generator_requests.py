"""What load generators send to `workers.generator.generator_api`: whatever is read here can be stored."""

import math
import time
from contextlib import suppress
from ipaddress import ip_address
from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, FiniteFloat, StringConstraints, ValidationError
from typing_extensions import TypeAliasType

from benchsite.rest.schemas import plain
from runs.queue.reasons import Reason
from runs.results.fact_validation import (
    MAX_CORES,
    MAX_NUMBER,
    MAX_TEXT_LENGTH,
    checked_client_facts,
    checked_machine_facts,
)
from workers.generator.messages import MALFORMED

Text = Annotated[str, AfterValidator(plain)]
Json = TypeAliasType("Json", "dict[Text, Json] | list[Json] | Text | bool | int | FiniteFloat | None")
ShortText = Annotated[Text, StringConstraints(max_length=MAX_TEXT_LENGTH)]
MachineFacts = Annotated[dict[Text, Json], AfterValidator(checked_machine_facts)]
ClientFacts = Annotated[dict[Text, Json], AfterValidator(checked_client_facts)]
MAX_BINDINGS: Final = 1000
MAX_NODES: Final = 1000
MAX_OPS_S: Final = 1e9
MAX_OPERATIONS: Final = 100  # kinds in a status line
MAX_ELAPSED_S: Final = 30 * 86_400  # figures draw every second of it


def first_fault(error: ValidationError) -> str:
    """A sentence about the first fault of a request that cannot be read."""
    fault = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(map(str, fault["loc"])) or "its body"
    return MALFORMED.format(field=field, problem=fault["msg"])


def _check_node_address(address: str) -> str:
    if address and (ip_address(address).is_loopback or ip_address(address).is_unspecified):
        raise ValueError("other machines do not reach this address (BENCHSITE_NODE_ADDRESS)")
    return address


class GeneratorFacts(BaseModel):
    """`LoadGenerator.facts`: its process, releases of YCSB in its bindings, and where servers listen that it starts."""

    pid: Annotated[int, Field(ge=0, le=MAX_NUMBER)] = 0
    host: ShortText = ""
    python: ShortText = ""
    ycsb_versions: Annotated[dict[ShortText, ShortText], Field(max_length=MAX_BINDINGS)] = {}
    node_address: Annotated[ShortText, AfterValidator(_check_node_address)] = ""


class Registration(BaseModel):
    """The arguments of `registration.register_generator`."""

    slots: Annotated[int, Field(ge=1, le=64)]
    bindings: Annotated[dict[ShortText, ShortText], Field(max_length=MAX_BINDINGS)]
    facts: GeneratorFacts
    host_key: Annotated[Text, StringConstraints(min_length=1, max_length=80)]
    host_name: Annotated[Text, StringConstraints(min_length=1, max_length=76)]  # a number may follow it
    machine_facts: MachineFacts


class Presence(BaseModel):
    probed: bool


class Capacity(BaseModel):
    """What a calibration measures of `runs.queue.bindings.Capacity`."""

    digest: ShortText
    client_ops_s: Annotated[FiniteFloat, Field(ge=0, le=MAX_OPS_S)]
    ops_s: Annotated[FiniteFloat, Field(ge=0, le=MAX_OPS_S)]
    clients: Annotated[int, Field(ge=1, le=MAX_CORES)]
    cores: Annotated[int, Field(ge=1, le=MAX_CORES)]


class Calibration(BaseModel):
    capacities: Annotated[dict[ShortText, Capacity], Field(max_length=MAX_BINDINGS)]
    error: Text


class Claim(BaseModel):
    """Names the process that works on a client run."""

    claim: UUID


def _drop_unknown_numbers(operations: object) -> object:
    """Clients print NaN for the mean of no operation; the live view shows nothing then."""
    if not isinstance(operations, dict):
        return operations
    return {
        name: {key: value for key, value in status.items() if isinstance(value, int | float) and math.isfinite(value)}
        for name, status in operations.items()
        if isinstance(status, dict)
    }


def _check_nearness(at_epoch_s: float) -> float:
    if abs(at_epoch_s - time.time()) > MAX_ELAPSED_S:
        raise ValueError("not a time of a run that goes on")
    return at_epoch_s


class Line(BaseModel):
    """A status line of a client: a `live.StatusLine` without its client, kept in Redis alone."""

    elapsed_s: Annotated[FiniteFloat, Field(ge=0, le=MAX_ELAPSED_S)]
    at_epoch_s: Annotated[FiniteFloat, AfterValidator(_check_nearness)]
    operations_total: Annotated[int, Field(ge=0, le=MAX_NUMBER)]
    rate_ops_s: Annotated[FiniteFloat, Field(ge=0, le=MAX_OPS_S)]
    by_operation: Annotated[  # `runs.queue.live.OperationStatus`
        dict[ShortText, dict[ShortText, Annotated[float, Field(ge=0, le=MAX_NUMBER)]]],
        BeforeValidator(_drop_unknown_numbers),
        Field(max_length=MAX_OPERATIONS),
    ]
    line: Text = ""


def _drop_unreadable(lines: object) -> object:
    """A line that cannot be shown is no reason to refuse the heartbeat that it comes with."""
    if not isinstance(lines, list):
        return lines
    readable = []
    for line in lines:
        with suppress(ValidationError):
            readable.append(Line.model_validate(line))
    return readable


class Report(Claim):
    """A heartbeat. The fields between `state` and `lines` are columns of the client run."""

    state: Literal["ready", "running"] | None = None
    clock_offset_s: FiniteFloat | None = None
    facts: ClientFacts = {}
    command: list[Text] = []
    operations: Annotated[int, Field(ge=0, le=MAX_NUMBER)] | None = None
    lines: Annotated[list[Line], BeforeValidator(_drop_unreadable)] = []


class StoredFile(Claim):
    """What the query states of a file's content."""

    sha256: Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
    size: Annotated[int, Field(ge=0)]


class Result(Claim):
    """How a client ended; `missing` has sentences about files that cannot be stored."""

    reason: Reason
    reason_detail: Text
    exit_code: Annotated[int, Field(ge=-(2**31), lt=2**31)] | None
    cpu_percent: FiniteFloat | None
    facts: ClientFacts
    missing: list[Text] = []


class Failure(Claim):
    reason: Reason
    reason_detail: Text


class CheckResult(Claim):
    """How the client of a check ended: `workers.generator.client_check.CheckResult`."""

    outcome: Literal["passed", "failed", "unfit", "busy"]
    detail: Text


class NodeReport(BaseModel):
    """Columns of `NodeProcess`; texts that are left out are those of the last report."""

    start_id: UUID
    state: Literal["starting", "up", "ended"]
    problem: Text | None = None
    folder: Text | None = None
    log: Text | None = None


class NodeReports(BaseModel):
    nodes: Annotated[list[NodeReport], Field(max_length=MAX_NODES)]
