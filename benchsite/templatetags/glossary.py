"""Help on terms, from the glossary."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import slugify

from benchsite.core.glossary import definitions

register = template.Library()


@register.simple_tag
def term_help(name: str) -> SafeString:
    """A "?" that opens the definition of `name`, once on a page. A KeyError for an unknown term."""
    return format_html(
        '<button type="button" class="help" popovertarget="term-{0}" aria-label="Help: {1}"></button>'
        '<span class="help__text" id="term-{0}" popover><b>{1}</b>: {2}</span>',
        slugify(name),
        name,
        definitions()[name],
    )


@register.simple_tag
def term(name: str, text: str = "") -> SafeString:
    """`text`, or the term itself, with the help of `name`."""
    return format_html("{}{}", text or name, term_help(name))
