"""What the templates of frozen reports look up."""

from collections.abc import Mapping
from typing import Any

from django import template

register = template.Library()


@register.filter
def at(known: Mapping[str, Any], name: str) -> Any:
    """What is known under a name that only the page knows."""
    return known.get(name, "")
