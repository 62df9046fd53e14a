"""What the addresses of `reports` hold beside Django's own kinds of values. Imported, they are registered."""

from django.urls import register_converter
from django.urls.converters import StringConverter

FORMS = {
    "dataform": "csv|json|md|tex",  # the formats of a figure's data twin, as a file ending
    "configkey": "[0-9a-f]{32}",  # which test a history is of: `runs.results.denormalised_columns.config_key`
    "reporttoken": "[A-Za-z0-9_-]{8,64}",  # what `secrets.token_urlsafe` gives
    "reportform": "json|zip|md|html",  # the whole report as one file
}


class PartKind(StringConverter):
    """Where the numbers stand; a view gets "figure" or "table"."""

    regex = "figures|tables"

    def to_python(self, value: str) -> str:
        return value.removesuffix("s")

    def to_url(self, value: str) -> str:
        return f"{value}s"


for name, regex in FORMS.items():
    register_converter(type(name, (StringConverter,), {"regex": regex}), name)
register_converter(PartKind, "partkind")
