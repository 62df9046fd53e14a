from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from runs.models import Run


class ReportsConfig(AppConfig):
    name = "reports"

    def ready(self) -> None:
        """What others ask of whoever builds upon them: what a baseline pins stays, changes and losses are told, curves
        of new results are stored.
        """
        from benchsite.notifications.notices import find_with
        from runs.deletion import refuse_when

        find_with(tell_changes)
        find_with(tell_losses)
        find_with(store_curves)
        refuse_when(pinned)


# Imported when they are called: reports take longer to import than everything else that a load generator needs.


def tell_changes() -> int:
    from reports.change_point_alerts import look

    return look()


def tell_losses() -> int:
    from reports.upload_alerts import look

    return look()


def store_curves() -> int:
    from reports.queries.curves import store_recent

    store_recent()
    return 0  # notices


def pinned(run: "Run") -> str:
    from reports import baselines

    return baselines.pinned(run)
