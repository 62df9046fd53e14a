from django.apps import AppConfig


class TeamsConfig(AppConfig):
    name = "benchsite.teams"
    label = "teams"
