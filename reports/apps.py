from django.apps import AppConfig


class ReportsConfig(AppConfig):
    name = "reports"

    def ready(self) -> None:
        """What others ask of whoever builds upon them: what a baseline pins stays, changes and losses are told."""
        from benchsite.teams.notices import find_with
        from reports.baselines import pinned
        from reports.noticing import look
        from reports.noticing_losses import look as look_for_losses
        from runs.deleting import refuse_when

        find_with(look)
        find_with(look_for_losses)
        refuse_when(pinned)
