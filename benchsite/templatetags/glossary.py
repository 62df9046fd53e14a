"""Tooltips from the glossary."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from benchsite.glossary import definitions

register = template.Library()


@register.simple_tag
def term(name: str, text: str = "") -> SafeString:
    """`text`, or the term itself, with the definition of `name` as its tooltip. A KeyError for an unknown term."""
    return format_html('<abbr title="{}">{}</abbr>', definitions()[name], text or name)
