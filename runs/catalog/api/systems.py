"""What the site knows without any team: systems and the formats it reads."""

from typing import Any, Final, get_args

from django.http import HttpRequest
from ninja import Schema
from pydantic import Field

from benchsite.accounts.models import Scope
from benchsite.rest.authentication import Needs
from runs.api.routers import catalog
from runs.catalog import System, load_catalog
from runs.results.verifications import load_verifications
from runs.uploads.upload_lifecycle import MAX_IN_REQUEST
from runs.ycsb.readers.results import Format


class ModeAnswer(Schema):
    """One durability mode of a system, and what it promises."""

    mode: str = Field(validation_alias="slug")
    name: str
    durability: dict[str, Any] = Field(
        validation_alias="durability.as_dict",
        description="The typed record: what has happened when a write is acknowledged.",
    )
    replicas_needed: int


class VerificationAnswer(Schema):
    """One result of `manage.py verify`."""

    version: str
    how: str = Field(description="real server, vendor mock or wire stand-in.")
    nodes: int
    date: str
    modes: list[str]
    counts: dict[str, int] = Field(description="passed, failed, skipped: checks of all modes.")


class SystemAnswer(Schema):
    """One database product."""

    system: str = Field(validation_alias="slug")
    name: str
    aliases: list[str]
    has_client: bool = Field(description="Whether any client reaches its servers; a plan without one is refused.")
    clients: list[str] = Field(
        description="Which clients can drive it: benchsite (its own), ycsb (stock bindings), go-ycsb."
    )
    administered: bool = Field(
        description="Whether the durability mode is read from the servers of a run; otherwise it is stated."
    )
    can_be_started: bool = Field(description="Whether Benchsite starts servers of it.")
    verified: list[VerificationAnswer] = Field(description="Servers that client and administration were checked with.")
    modes: list[ModeAnswer] = Field(validation_alias="modes.values")

    @staticmethod
    def resolve_verified(system: System) -> list[dict[str, Any]]:
        return load_verifications(system.slug)

    @staticmethod
    def resolve_clients(system: System) -> list[str]:
        return system.flavours


class SystemsAnswer(Schema):
    """The catalog."""

    items: list[SystemAnswer]
    digest: str = Field(description="Over the files of the catalog: another digest, another catalog.")


class FormatAnswer(Schema):
    """One format of results."""

    format: str
    description: str


class FormatsAnswer(Schema):
    """What can be uploaded. Files may be compressed (gzip, zstd) or packed (zip, tar)."""

    items: list[FormatAnswer]
    most_bytes_judged_at_once: int = Field(description="Up to here, as they come, files are judged in the request.")


DESCRIPTIONS: Final = {
    "ycsb-text": "The output of YCSB, as it prints it: the status lines and the summary.",
    "ycsb-json": "The output of YCSB's JSON exporters.",
    "ycsb-raw": "Raw data points of YCSB (measurementtype=raw).",
    "hdr-log": "HdrHistogram interval logs (measurement.interval, hdrhistogram.fileoutput), one for each operation.",
    "thumbtack": "The output of Thumbtack's fork of YCSB.",
    "go-ycsb": "The output of go-ycsb.",
    "go-ycsb-table": "The output of go-ycsb as a table.",
    "go-ycsb-json": "The output of go-ycsb as JSON.",
    "go-ycsb-csv": "Raw data points of go-ycsb.",
    "ycsb-cpp": "The output of YCSB-cpp.",
    "ycsb-c": "The output of YCSB-C.",
    "load-generator": "The output of load generators that print YCSB's totals.",
    "properties": "The properties of a client (client.properties): no result, but what its runs were asked for.",
}


@catalog.get(
    "/systems",
    response={200: SystemsAnswer},
    auth=Needs(Scope.RUNS_READ),
    summary="The catalog of systems and their durability modes",
)
def list_systems(request: HttpRequest) -> dict[str, object]:
    catalog = load_catalog()
    return {"items": list(catalog.systems.values()), "digest": catalog.digest}


@catalog.get("/formats", response={200: FormatsAnswer}, summary="Formats of results that are read")
def list_formats(request: HttpRequest) -> FormatsAnswer:
    """For everybody, without a token."""
    return FormatsAnswer(
        items=[FormatAnswer(format=name, description=DESCRIPTIONS[name]) for name in get_args(Format)],
        most_bytes_judged_at_once=MAX_IN_REQUEST,
    )
