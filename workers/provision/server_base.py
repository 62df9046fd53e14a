"""What is alike for every server that Benchsite starts itself, as a process or in a container. No Django."""

from pathlib import Path
from typing import Final

from runs.catalog import ProcessRecipe, RenderedServer, node_count, render_server, start_problem
from runs.property_schema import PropertyError
from workers.provision.administration import address_of
from workers.provision.servers import ServerDidNotStart, ServerDidNotStop, Wanted

HOST: Final = "127.0.0.1"
HIDDEN: Final = "(hidden)"  # stands for the password in what is kept of the configuration
START_DEADLINE_S: Final = 180.0  # HBase on a busy machine, whose log must be split first
INIT_DEADLINE_S: Final = 120.0
# A planned stop writes everything to disk, which takes its time after a long run.
PLANNED_STOP_S: Final = 300.0
# Between choosing a free port and listening on it somebody else may take it.
PORT_ATTEMPTS: Final = 3


def host_of(node: int) -> str:
    """127.0.0.1 for the first node, 127.0.0.2 for the second; `node` counts from 0."""
    return f"127.0.0.{node + 1}"


def count_nodes(wanted: Wanted) -> int:
    """The nodes of the deployment. Raises ServerDidNotStart for settings that are wrong."""
    try:
        return node_count(wanted.system, wanted.mode, wanted.settings)
    except PropertyError as error:
        raise ServerDidNotStart(f"The database's settings are wrong: {error}") from error


def recipe_of(single: ProcessRecipe, node: int, nodes: int) -> ProcessRecipe:
    """A node's own recipe. The first has another than a single server only where others replicate it."""
    own = single.replica if node else single.primary
    return own if own is not None and nodes > 1 else single


def refuse_mode(wanted: Wanted, nodes: int = 1) -> None:
    """Raises ServerDidNotStart for a mode that a cluster of so many nodes cannot have."""
    if problem := start_problem(wanted.system, wanted.mode, nodes):
        raise ServerDidNotStart(
            f"Mode {wanted.mode.slug} cannot be had: {problem}. Choose another mode, or an external cluster."
        )


def schema_settings(wanted: Wanted, rendered: RenderedServer) -> dict[str, str]:
    """What a fresh server's schema is made of."""
    return {**rendered.settings, "replication_factor": str(wanted.replication_factor)}


def render(
    wanted: Wanted,
    *,
    host: str,
    port: int,
    folder: Path,
    password: str,
    cluster_port: int = 0,
    seeds: str = "",
    token: int = 0,
    primary: str = "",
    node: int = 1,
    recipe: ProcessRecipe | None = None,
) -> RenderedServer:
    """Its configuration and commands. Raises ServerDidNotStart for settings that are wrong."""
    properties = {name: str(value) for name, value in wanted.binding_properties.items()}
    try:
        return render_server(
            wanted.system,
            wanted.mode,
            wanted.settings,
            host=host,
            port=port,
            folder=folder,
            user=address_of(wanted.system, properties).user,
            password=password,
            cluster_port=cluster_port,
            seeds=seeds,
            token=token,
            primary=primary,
            node=node,
            recipe=recipe,
        )
    except PropertyError as error:
        raise ServerDidNotStart(f"The database's settings are wrong: {error}") from error


def had_to_be_killed(wanted: Wanted, problem: str, log_tail: str) -> ServerDidNotStop:
    """What is raised for a server that did not end as planned and was killed then."""
    return ServerDidNotStop(
        f"{wanted.system.name} did not stop as planned and was killed: {problem}. Its data set may be "
        f"incomplete: load it again.\nIts last log lines:\n{log_tail}"
    )
