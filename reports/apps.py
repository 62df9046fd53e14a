from django.apps import AppConfig


class ReportsConfig(AppConfig):
    name = "reports"

    def ready(self) -> None:
        """What `runs` asks of whoever builds upon it: a run that a baseline pins is not deleted."""
        from reports.baselines import pinned
        from runs.deleting import refuse_when

        refuse_when(pinned)
