"""Nodes of servers that load generators run: what these report, and what the site wants of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Case, Q, QuerySet, Value, When
from django.db.models.functions import Now

from runs.models import Conductor, Deployment
from workers.models import NodeProcess


def _select(generator: str) -> QuerySet[NodeProcess]:
    return NodeProcess.objects.filter(load_generator__name=generator)


def note_reports(generator: str, reports: Sequence[Mapping[str, Any]]) -> None:
    """Stores each report on a node, unless the node was started anew since. Those that are gone are forgotten."""
    for report in reports:
        _select(generator).filter(start_id=report["start_id"]).update(**report, is_reported=True, changed_at=Now())
    gone = _select(generator).filter(deployment__state=Deployment.State.GONE, state=NodeProcess.State.ENDED)
    gone.delete()


def list_orders(generator: str) -> list[dict[str, Any]]:
    """The nodes that the load generator is to run or to keep the data of; it deletes all others.

    A node without a living conductor that holds its deployment is killed. `order` is None where the load generator has
    taken it before: one that does not know the node any more was started again, and has not its process.
    """
    State = Deployment.State
    rows = _select(generator).exclude(deployment__state=State.GONE)
    is_held = Q(deployment__state__in=State.running(), deployment__conductor__in=Conductor.living())
    state = Case(When(is_held, then="desired_state"), default=Value(NodeProcess.DesiredState.KILLED.value))
    nodes = []
    for row in rows.annotate(effective_state=state).order_by("pk"):
        order = None
        if not row.is_reported and row.effective_state == NodeProcess.DesiredState.UP:
            order = row.order
        nodes.append(
            {
                "start_id": row.start_id,
                "deployment": row.deployment_id,
                "desired_state": row.effective_state,
                "order": order,
            }
        )
    return nodes
