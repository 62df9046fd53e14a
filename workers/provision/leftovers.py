"""Containers and volumes that earlier lives of a conductor left on its machine. No Django.

A container has no guardian: its engine keeps it when the conductor is killed. So the next conductor looks first.
"""

from collections.abc import Callable, Collection

from docker.errors import NotFound

from workers.provision.docker_engine import DEPLOYMENT_LABEL, SITE_LABEL, ContainerSite, connected

Deployments = Collection[str]  # their ids, as in the labels


def sweep(site: ContainerSite, read_deployments: Callable[[], tuple[Deployments, Deployments]]) -> list[str]:
    """Removes containers and volumes of this site; names what it removed. Other sites' stay. Raises EngineError.

    `read_deployments` answers the deployments whose volumes are kept, and those of other conductors whose containers
    stay. It is called after what exists has been listed: a container that another conductor starts meanwhile either is
    not in the list, or its deployment is in the answer.
    """
    removed = []
    ours = {"label": f"{SITE_LABEL}={site.mark}"}
    with connected(site.engine) as engine:
        containers = engine.containers.list(all=True, filters=ours, ignore_removed=True)
        volumes = engine.volumes.list(filters=ours)
        present, running = read_deployments()
        for container in containers:
            if container.labels.get(DEPLOYMENT_LABEL) in running:
                continue
            try:
                container.remove(force=True, v=True)
            except NotFound:
                continue
            removed.append(str(container.name))

        for volume in volumes:
            if (volume.attrs.get("Labels") or {}).get(DEPLOYMENT_LABEL) not in present:
                volume.remove(force=True)
                removed.append(f"volume {volume.name}")

    return removed
