"""The fields of a machine, a cluster, a database and a workload in requests and plan files.

Types alone are checked here; the forms of the pages check the values.
"""

from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, WithJsonSchema

from benchsite.rest.schemas import Text, Word, plain
from runs.catalog import MAX_OWN_MODES
from runs.catalog.forms.clusters import MAX_EXPORTERS, MAX_NODES
from runs.catalog.forms.fields import MAX_LINES
from runs.plans.files.plan import PlanDurability, Slug
from runs.plans.plan_spec import MAX_INTEGER, Between, Table
from runs.ycsb.property_schema import MAX_PEM_LENGTH

MAX_NUMBER: Final = 2**63 - 1


def _check_value(value: object) -> object:
    if isinstance(value, str):
        value.encode()
        if len(plain(value)) <= MAX_PEM_LENGTH:
            return value
    elif isinstance(value, int | float) and abs(value) <= MAX_NUMBER:
        return value
    raise ValueError(f"must be a number, true, false or a text of at most {MAX_PEM_LENGTH} characters")


# One type instead of a union: an error of a union names each of its types.
Value = Annotated[Any, AfterValidator(_check_value), WithJsonSchema({"type": ["string", "number", "boolean"]})]
Values = Annotated[dict[Word, Value], Field(max_length=MAX_LINES)]
Definition = dict[str, Any]  # a spec as plain values
MAX_TEAMS: Final = 200


class MachineSpec(Table):
    """A host. Machines belong to the site, and its operators write them."""

    host_key: Word = Field("", description="What a worker on this host calls itself.")
    facts: Values = Field({}, description="Stated ones; what a worker observed itself outweighs them.")
    teams: list[Word] = Field(
        [], max_length=MAX_TEAMS, description="Slugs of the teams that alone may use it; empty: all. For operators."
    )


class NodeSpec(Table):
    machine: Annotated[Word, Field(min_length=1)] = Field(description="The name of a machine.")
    address: Word = Field("", description="host:port of an external server.")


class ClusterSpec(Table):
    """The machines that servers run on."""

    provisioner: Word = Field("external", description="Who starts the servers: process, docker or external.")
    separates_cpus: bool = Field(True, description="Servers and clients on one machine use half of its cores each.")
    nodes: list[NodeSpec] = Field([], max_length=MAX_NODES)
    exporters: list[Word] = Field(
        [], max_length=MAX_EXPORTERS, description="URLs of Prometheus or OpenMetrics exporters, scraped during runs."
    )
    notes: Text = ""


class OwnModeSpec(Table):
    """A copy of one of the system's durability modes, with the record that its owner states."""

    base: Word = Field(description="The slug of the copied mode.")
    durability: PlanDurability
    server_settings: Values
    client_properties: Values


class DatabaseSpec(Table):
    """A system of the catalog on a cluster."""

    system: Word = Field("", description="A slug of the catalog.")
    cluster: Word = Field("", description="The name of a cluster.")
    version: Word = ""
    replication_factor: Annotated[int, Between(-MAX_INTEGER)] = 1
    settings: Values = Field({}, description="Of the server, in every mode.")
    binding_properties: Values = Field(
        {}, description="Of the client, in every mode. A stored secret is answered as `(kept)`, which keeps it."
    )
    client: Word = Field("", description="A stock binding or a driver of go-ycsb; empty: Benchsite's own client.")
    own_modes: dict[Slug, OwnModeSpec] = Field(
        {}, max_length=MAX_OWN_MODES, description="By slug: always-tuned-stated."
    )
    notes: Text = ""


class WorkloadSpec(Table):
    """Operation mix, request distribution and data set."""

    short_name: Word = Field("", description="A few letters for the names of runs.")
    properties: Values = Field({}, description="As YCSB names them.")
    notes: Text = ""
