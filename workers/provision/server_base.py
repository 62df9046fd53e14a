"""What is alike for every server that Benchsite starts itself, as a process or in a container. No Django."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchsite.core.formatting import grouped
from runs.catalog import ProcessRecipe, RenderedServer, node_count, render_server, start_problem
from runs.ycsb.property_schema import PropertyError
from workers.provision.administration import Administration, AdministrationError
from workers.provision.administration.factory import administration_for, get_address
from workers.provision.servers import Server, ServerDidNotStart, ServerDidNotStop, ServerSpec

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
    try:
        yield
    except PropertyError as error:
        raise ServerDidNotStart(f"The database's settings are wrong: {error}") from error


class StartingProvisioner(ABC):
    """The server of one deployment: one node, or several where the catalog starts them."""

    def __init__(self, spec: ServerSpec, recipe: ProcessRecipe) -> None:
        self.spec, self.recipe = spec, recipe
        self._nodes = 1
        self._administration: Administration | None = None

    @abstractmethod
    def log_tail(self, lines: int = 30) -> str:
        """Of the first node, or of a further one that ended."""

    @property
    def administration(self) -> Administration:
        """That of a server whose start has begun."""
        assert self._administration is not None
        return self._administration

    def _count_nodes(self) -> None:
        """Raises ServerDidNotStart for settings that are wrong, and for a mode that so many nodes cannot have."""
        system, mode = self.spec.system, self.spec.mode
        with _wrong_settings():
            self._nodes = node_count(system, mode, self.spec.settings)
        if problem := start_problem(system, mode, self._nodes):
            raise ServerDidNotStart(
                f"Mode {mode.slug} cannot be had: {problem}. Choose another mode, or an external cluster."
            )

    def _configure(
        self, port: int, password: str, node: int, *, host: str, folder: Path, cluster_port: int = 0
    ) -> RenderedServer:
        """A node's configuration and commands. Raises ServerDidNotStart for settings that are wrong."""
        spec = self.spec
        properties = {name: str(value) for name, value in spec.binding_properties.items()}
        recipe = self.recipe
        if self._nodes > 1:
            # The first node has another recipe than a single server only where others replicate it.
            recipe = recipe.adapt(recipe.replica if node else recipe.primary)
        with _wrong_settings():
            return render_server(
                spec.system,
                spec.mode,
                spec.settings,
                host=host,
                port=port,
                folder=folder,
                user=get_address(spec.system, properties).user,
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
        nodes: tuple[tuple[str, int], ...] = ()
        if self._nodes > 1:
            nodes = tuple((get_host(node), rendered.port) for node in range(self._nodes))
        return Server(
            spec=self.spec,
            host=host,
            port=rendered.port,
            version="",
            folder=folder,
            settings=rendered.settings,
            process={},
            files={name: text.replace(password, HIDDEN) for name, text in rendered.files.items()},
            password=password,
            nodes=nodes,
        )

    def _await_server(
        self,
        server: Server,
        rendered: RenderedServer,
        data: Path,
        *,
        wait_for_exit: Callable[[float], str],
        start_others: Callable[[], None],
    ) -> str:
        """The version of the server, once it answers, is the one that was started, and has what clients need.

        `data` is its data folder; `wait_for_exit` waits so many seconds and tells how the first node has ended, if it
        has. Raises ServerDidNotStart.
        """
        self._administration = administration_for(self.spec.system, server.client_properties())
        self._wait_until_ready(wait_for_exit)
        try:
            if Path(self.administration.data_folder()).resolve() != data.resolve():
                raise self._did_not_start(f"another server answers on port {rendered.port}")
            start_others()
            replication_factor = str(self.spec.replication_factor)
            self.administration.prepare({**rendered.settings, "replication_factor": replication_factor})
            return self.administration.server_version()
        except AdministrationError as error:
            raise self._did_not_start(str(error)) from error

    def _wait_until_ready(self, wait_for_exit: Callable[[float], str]) -> None:
        end, pause_s = time.monotonic() + START_DEADLINE_S, 0.02
        while True:
            if problem := wait_for_exit(pause_s):
                raise self._did_not_start(problem)
            try:
                return self.administration.ping()
            except AdministrationError as error:
                if time.monotonic() > end:
                    raise self._did_not_start(
                        f"it did not answer within {grouped(START_DEADLINE_S)} s: {error}"
                    ) from error
            pause_s = min(pause_s * 1.5, 0.5)

    def _did_not_start(self, why: str) -> ServerDidNotStart:
        return ServerDidNotStart(
            f"{self.spec.system.name} in mode {self.spec.mode.slug} did not come up: {why}.", self.log_tail()
        )

    def _hangs(self, name: str) -> ServerDidNotStop:
        return ServerDidNotStop(
            f"{self.spec.system.name} ({name}) does not end: it hangs in the kernel. See the machine's own log; its "
            "disk may be the cause."
        )

    def _was_killed(self, problem: str, log_tail: str) -> ServerDidNotStop:
        """For a server that did not end as planned and was killed then."""
        return ServerDidNotStop(
            f"{self.spec.system.name} did not stop as planned and was killed: {problem}. Its data set may be "
            f"incomplete: load it again.\nIts last log lines:\n{log_tail}"
        )
