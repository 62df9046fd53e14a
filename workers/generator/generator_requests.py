"""What load generators send to `workers.generator.generator_api`: whatever is read here can be stored."""

from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, Field, FiniteFloat, StringConstraints, ValidationError
from typing_extensions import TypeAliasType

from benchsite.rest.schemas import plain
from runs.queue.reasons import Reason
from runs.results.facts import MAX_CORES, MAX_NUMBER, MAX_TEXT_LENGTH, checked_client_facts, checked_machine_facts

Text = Annotated[str, AfterValidator(plain)]
Json = TypeAliasType("Json", "dict[Text, Json] | list[Json] | Text | bool | int | FiniteFloat | None")
ShortText = Annotated[Text, StringConstraints(max_length=MAX_TEXT_LENGTH)]
MachineFacts = Annotated[dict[Text, Json], AfterValidator(checked_machine_facts)]
ClientFacts = Annotated[dict[Text, Json], AfterValidator(checked_client_facts)]
MAX_BINDINGS: Final = 1000
MAX_OPS_S: Final = 1e9


def first_fault(error: ValidationError) -> str:
    """A sentence about the first fault of a request that cannot be read."""
    fault = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(map(str, fault["loc"])) or "its body"
    return f"The request is malformed: {field}: {fault['msg']}."


class GeneratorFacts(BaseModel):
    """`LoadGenerator.facts`: its process and the releases of YCSB in its bindings."""

    pid: Annotated[int, Field(ge=0, le=MAX_NUMBER)] = 0
    host: ShortText = ""
    python: ShortText = ""
    ycsb_versions: Annotated[dict[ShortText, ShortText], Field(max_length=MAX_BINDINGS)] = {}


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


class Line(BaseModel):
    """A status line of a client: arguments of `live.publish`, which keeps it in Redis alone."""

    elapsed_s: float
    at_epoch_s: float
    operations_total: int
    rate_ops_s: float
    by_operation: dict[str, dict[str, float]]  # `runs.queue.live.OperationStatus`
    line: str = ""


class Report(Claim):
    """A heartbeat. The fields between `state` and `lines` are columns of the client run."""

    state: Literal["ready", "running"] | None = None
    clock_offset_s: FiniteFloat | None = None
    facts: ClientFacts = {}
    command: list[Text] = []
    lines: list[Line] = []


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
