from django.apps import AppConfig


class ReportsConfig(AppConfig):
    name = "reports"

    def ready(self) -> None:
        """What others ask of whoever builds upon them: a run that a baseline pins is not deleted; changes are told."""
        from benchsite.teams.notices import find_with
        from reports.baselines import pinned
        from reports.noticing import look
        from runs.deleting import refuse_when

        find_with(look)
        refuse_when(pinned)
