"""What is alike for every server that Benchsite starts itself, as a process or in a container. No Django."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from runs.catalog import ProcessRecipe, RenderedServer, node_count, render_server, start_problem
from runs.ycsb.property_schema import PropertyError
from workers.provision.administration import Administration
from workers.provision.administration.factory import get_address
from workers.provision.servers import Server, ServerDidNotStart, ServerDidNotStop, Wanted

HOST: Final = "127.0.0.1"
HIDDEN: Final = "(hidden)"  # stands for the password in what is kept of the configuration
START_DEADLINE_S: Final = 180.0  # HBase on a busy machine, whose log must be split first
INIT_DEADLINE_S: Final = 120.0
# A planned stop writes everything to disk, which takes its time after a long run.
PLANNED_STOP_S: Final = 300.0
# Between choosing a free port and listening on it somebody else may take it.
PORT_ATTEMPTS: Final = 3


def get_host(node: int) -> str:
    """127.0.0.1 for the first node, 127.0.0.2 for the second; `node` counts from 0."""
    return f"127.0.0.{node + 1}"


@contextmanager
def _wrong_settings() -> Iterator[None]:
    """Turns PropertyError into ServerDidNotStart."""
    try:
        yield
    except PropertyError as error:
        raise ServerDidNotStart(f"The database's settings are wrong: {error}") from error


class StartingProvisioner:
    """The server of one deployment: one node, or several where the catalog starts them."""

    def __init__(self, wanted: Wanted, recipe: ProcessRecipe) -> None:
        self.wanted, self.recipe = wanted, recipe
        self._nodes = 1
        self._administration: Administration | None = None

    def _count_nodes(self) -> None:
        """Raises ServerDidNotStart for settings that are wrong, and for a mode that so many nodes cannot have."""
        system, mode = self.wanted.system, self.wanted.mode
        with _wrong_settings():
            self._nodes = node_count(system, mode, self.wanted.settings)
        if problem := start_problem(system, mode, self._nodes):
            raise ServerDidNotStart(
                f"Mode {mode.slug} cannot be had: {problem}. Choose another mode, or an external cluster."
            )

    def _configure(
        self, port: int, password: str, node: int, *, host: str, folder: Path, cluster_port: int = 0
    ) -> RenderedServer:
        """A node's configuration and commands. Raises ServerDidNotStart for settings that are wrong."""
        wanted = self.wanted
        properties = {name: str(value) for name, value in wanted.binding_properties.items()}
        # The first node has another recipe than a single server only where others replicate it.
        own = self.recipe.replica if node else self.recipe.primary
        recipe = self.recipe.adapt(own) if self._nodes > 1 else self.recipe
        with _wrong_settings():
            return render_server(
                wanted.system,
                wanted.mode,
                wanted.settings,
                host=host,
                port=port,
                folder=folder,
                user=get_address(wanted.system, properties).user,
                password=password,
                cluster_port=cluster_port,
                seeds=f"{HOST}:{cluster_port}",
                # In the middle of its share of all tokens, which are 64 bits with a sign.
                token=-(2**63) + (2 * node + 1) * 2**63 // self._nodes,
                primary=HOST,
                node=node + 1,
                recipe=recipe,
            )

    def _describe(self, rendered: RenderedServer, password: str, *, host: str, folder: str) -> Server:
        """The server before it answers: without its version and its processes."""
        return Server(
            wanted=self.wanted,
            host=host,
            port=rendered.port,
            version="",
            folder=folder,
            settings=rendered.settings,
            process={},
            files={name: text.replace(password, HIDDEN) for name, text in rendered.files.items()},
            password=password,
            nodes=tuple((get_host(node), rendered.port) for node in range(self._nodes)) if self._nodes > 1 else (),
        )

    def _prepare_schema(self, administration: Administration, rendered: RenderedServer) -> None:
        """What a fresh server's schema is made of."""
        administration.prepare({**rendered.settings, "replication_factor": str(self.wanted.replication_factor)})

    def _was_killed(self, problem: str, log_tail: str) -> ServerDidNotStop:
        """What is raised for a server that did not end as planned and was killed then."""
        return ServerDidNotStop(
            f"{self.wanted.system.name} did not stop as planned and was killed: {problem}. Its data set may be "
            f"incomplete: load it again.\nIts last log lines:\n{log_tail}"
        )
