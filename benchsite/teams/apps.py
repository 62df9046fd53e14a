from django.apps import AppConfig


class TeamsConfig(AppConfig):
    name = "benchsite.teams"
    label = "teams"

    def ready(self) -> None:
        from benchsite.teams import login_throttling, sessions  # noqa: F401  (their receivers)
