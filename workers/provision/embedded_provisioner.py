"""The data folder of a system that is a library inside its client: no server runs. No Django."""

import dataclasses

from benchsite.core.logs import log_tail
from workers.provision.administration import AdministrationError
from workers.provision.folders import deployment_folder, make_folder, remove_folder
from workers.provision.process_provisioner import Site
from workers.provision.servers import HOST, Server, ServerDidNotStart, ServerSpec


class EmbeddedProvisioner:
    """The folder of one deployment, on this machine. A client and the administration open it in turn."""

    def __init__(self, spec: ServerSpec, site: Site) -> None:
        self.spec, self.site = spec, site
        self.folder = deployment_folder(site.targets, spec.deployment)
        self._server: Server | None = None

    def start(self) -> Server:
        make_folder(self.folder, self.site.account)
        make_folder(self.folder / "data", self.site.account)
        server = Server(spec=self.spec, host=HOST, port=0, version="", folder=str(self.folder), settings={}, process={})
        try:
            server.administration.ping()
            version = server.administration.server_version()
        except AdministrationError as error:
            server.administration.close()
            raise ServerDidNotStart(f"{self.spec.system.name} cannot be used: {error}", self.log_tail()) from error
        self._server = dataclasses.replace(server, version=version)
        return self._server

    def alive(self) -> bool:
        return self._server is not None and self.folder.is_dir()

    def stop(self, *, planned: bool = True) -> None:
        """Ends the administration; the folder stays."""
        if self._server is not None:
            self._server.administration.close()
        self._server = None

    def remove(self) -> None:
        self.stop()
        remove_folder(self.folder)

    def log_tail(self, lines: int = 30) -> str:
        return log_tail(self.folder / "data" / "LOG", lines)
