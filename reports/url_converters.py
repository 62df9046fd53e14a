"""What the addresses of `reports` hold beside Django's own kinds of values. Imported, they are registered."""

from django.urls import register_converter
from django.urls.converters import StringConverter


class DataForm(StringConverter):
    """The formats of a figure's data twin, as a file ending."""

    regex = "csv|json|md|tex"


class ConfigKey(StringConverter):
    """Which test a history is of: `runs.denormalised_columns.config_key`."""

    regex = "[0-9a-f]{32}"


class ReportToken(StringConverter):
    """What `secrets.token_urlsafe` gives."""

    regex = "[A-Za-z0-9_-]{8,64}"


class ReportForm(StringConverter):
    """The whole report as one file."""

    regex = "json|csv|md|html"


class PartKind(StringConverter):
    """Where the numbers stand; a view gets "figure" or "table"."""

    regex = "figures|tables"

    def to_python(self, value: str) -> str:
        return value.removesuffix("s")

    def to_url(self, value: str) -> str:
        return f"{value}s"


register_converter(DataForm, "dataform")
register_converter(ConfigKey, "configkey")
register_converter(ReportToken, "reporttoken")
register_converter(ReportForm, "reportform")
register_converter(PartKind, "partkind")
