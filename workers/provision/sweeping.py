"""Containers and volumes that earlier lives of a conductor left on its machine. No Django.

A container has no guardian: its engine keeps it when the conductor is killed. So the next conductor looks first.
"""

from collections.abc import Collection

from docker.errors import NotFound

from workers.provision.engine import DEPLOYMENT_LABEL, SITE_LABEL, ContainerSite, connected


def sweep(site: ContainerSite, keep: Collection[str], running: Collection[str] = ()) -> list[str]:
    """Removes the containers of this site, and the volumes of deployments that are not in `keep`; names what it
    removed. Containers of deployments in `running` belong to another conductor and stay. Other sites' are never
    touched. Raises EngineError.
    """
    removed = []
    ours = {"label": f"{SITE_LABEL}={site.mark}"}
    with connected(site.engine) as engine:
        for container in engine.containers.list(all=True, filters=ours, ignore_removed=True):
            if container.labels.get(DEPLOYMENT_LABEL) in running:
                continue
            try:
                container.remove(force=True, v=True)
            except NotFound:
                continue
            removed.append(str(container.name))
        for volume in engine.volumes.list(filters=ours):
            if (volume.attrs.get("Labels") or {}).get(DEPLOYMENT_LABEL) not in keep:
                volume.remove(force=True)
                removed.append(f"volume {volume.name}")
    return removed
