"""Starts and ends nodes of servers on the machine of a load generator, as its site wants. No database.

The agent is a process below the load generator's worker. Each node has a guardian, so no node outlives the agent; the
agent ends all of them where the site does not answer for `NODE_LEASE_S`.
"""

import logging
import threading
import time
from typing import Any, Final

from django.conf import settings

from runs.catalog import UNCHECKED, load_catalog
from runs.timeouts import NODE_LEASE_S, NODE_REPORT_INTERVAL_S
from workers.generator.site_client import SiteClient, SiteRefused, SiteUnreachable
from workers.provision.folders import remove_folder
from workers.provision.messages import ENDED, LEASE_OVER, NODE_FORGOTTEN, UNCHECKED_REFUSED
from workers.provision.process_provisioner import ProcessProvisioner, Site
from workers.provision.servers import NodeOrder, ProvisionError, ServerDidNotStart, ServerSpec

log = logging.getLogger(__name__)
IDLE_INTERVAL_S: Final = 3.0
LOG_LINES: Final = 200


class Node:
    """One start of a node. Its start and its end are carried out in threads, one after the other."""

    def __init__(self, deployment: str, start_id: str, order: NodeOrder | None, site: Site) -> None:
        self.deployment, self.start_id = deployment, start_id
        self.state, self._problem, self._folder = "starting", "", ""
        self._desired_state = "up"
        self._provisioner: ProcessProvisioner | None = None
        self._sent: dict[str, str] = {}
        self._lock = threading.Lock()
        if order is None:
            self._note_end(NODE_FORGOTTEN)
            return
        self._carry_out(self._start, order, site)

    def request(self, desired_state: str, problem: str = "") -> None:
        """Ends the node, in order or not, where that is new; `problem` is the reason where nobody asked for it."""
        former_state, self._desired_state = self._desired_state, desired_state
        if desired_state not in (former_state, "up"):
            self._carry_out(self._end, desired_state == "stopped", problem)

    def report(self) -> dict[str, str]:
        """What has changed since the last report."""
        provisioner = self._provisioner
        is_watched = self.state == self._desired_state == "up"
        if is_watched and provisioner is not None and not provisioner.alive():
            self._note_end(ENDED.format(exit_code=provisioner.exit_code))
        texts = {"problem": self._problem, "folder": self._folder}
        if provisioner is not None:
            texts["log"] = provisioner.log_tail(LOG_LINES).replace("\0", "")
        changed = {name: text for name, text in texts.items() if self._sent.get(name) != text}
        self._sent = texts
        return {"start_id": self.start_id, "state": self.state, **changed}

    def send_again(self) -> None:
        """The last report was lost."""
        self._sent = {}

    def _note_end(self, problem: str) -> None:
        self.state, self._problem = "ended", problem

    def _carry_out(self, action: Any, *arguments: Any) -> None:
        def run() -> None:
            with self._lock:
                try:
                    action(*arguments)
                except Exception as error:
                    if not isinstance(error, ProvisionError):
                        log.exception("Node %s", self.start_id)
                    self._note_end(str(error))

        threading.Thread(target=run, name=f"node {self.start_id}", daemon=True).start()

    def _start(self, order: NodeOrder, site: Site) -> None:
        spec = _build_spec(self.deployment, order)
        self._provisioner = ProcessProvisioner(spec, site)
        password = order["properties"]["password"]
        folder = self._provisioner.start_alone(
            order["node"], order["port"], cluster_port=order["cluster_port"], password=password
        )
        self.state, self._folder = "up", str(folder)

    def _end(self, planned: bool, problem: str) -> None:
        if self._provisioner is not None:
            self._provisioner.stop(planned=planned)
        if self.state != "ended":
            self._note_end(problem)


def _build_spec(deployment: str, order: NodeOrder) -> ServerSpec:
    """Raises ServerDidNotStart for settings that this machine's operator does not allow."""
    system = load_catalog().system(order["system"], order["flavour"], order["own_modes"])
    for name in order["settings"]:
        allowed = f"{system.slug}.{name.removeprefix(UNCHECKED)}"
        if name.startswith(UNCHECKED) and allowed not in settings.UNCHECKED_SETTINGS:
            raise ServerDidNotStart(UNCHECKED_REFUSED.format(name=name, allowed=allowed))
    return ServerSpec(
        deployment=deployment,
        system=system,
        mode=system.mode(order["mode"]),
        settings=order["settings"],
        binding_properties=order["binding_properties"],
        version=order["version"],
        hosts=tuple(order["hosts"]),
    )


class NodeAgent:
    """The nodes of one load generator. `site` has a folder for targets that nobody else uses."""

    def __init__(self, client: SiteClient, site: Site) -> None:
        self._client, self._site = client, site
        self.nodes: dict[str, Node] = {}
        self._heard_at = time.monotonic()

    def run_forever(self) -> None:
        while True:
            self.exchange()
            time.sleep(NODE_REPORT_INTERVAL_S if self.nodes else IDLE_INTERVAL_S)

    def exchange(self) -> None:
        """One report, and what its answer wants. Without answers all nodes end when the lease is over."""
        reports = [node.report() for node in self.nodes.values()]
        try:
            orders = {row["start_id"]: row for row in self._client.report_nodes(reports)}
        except (SiteUnreachable, SiteRefused) as error:
            log.warning("The site is not told of %d nodes (%s).", len(reports), error)
            for node in self.nodes.values():
                node.send_again()
                if time.monotonic() - self._heard_at > NODE_LEASE_S:
                    node.request("killed", LEASE_OVER)
            return

        self._heard_at = time.monotonic()
        ended = {report["start_id"] for report in reports if report["state"] == "ended"}
        for start_id in self.nodes.keys() - orders.keys():
            self.nodes[start_id].request("killed")
            if start_id in ended:
                del self.nodes[start_id]
        for start_id, row in orders.items():
            self._apply(start_id, row)
        self._remove_folders({row["deployment"] for row in orders.values()})

    def _apply(self, start_id: str, row: dict[str, Any]) -> None:
        if start_id in self.nodes:
            self.nodes[start_id].request(row["desired_state"])
        elif not any(node.deployment == row["deployment"] and node.state != "ended" for node in self.nodes.values()):
            self.nodes[start_id] = Node(row["deployment"], start_id, row["order"], self._site)

    def _remove_folders(self, deployments: set[str]) -> None:
        """Those of deployments that are gone, and whose nodes have ended."""
        used = deployments | {node.deployment for node in self.nodes.values()}
        for folder in self._site.targets.glob("*"):
            if folder.name in used:
                continue
            for disk in self._site.disks.values():
                remove_folder(disk / folder.name)
            remove_folder(folder)
