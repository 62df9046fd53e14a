from django.apps import AppConfig


class TeamsConfig(AppConfig):
    name = "benchsite.accounts"
    label = "teams"

    def ready(self) -> None:
        from benchsite.accounts import login_throttling, second_factor, sessions  # noqa: F401  (their receivers)
