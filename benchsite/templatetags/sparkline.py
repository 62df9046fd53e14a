"""A line of the last minute, small enough to stand in a row: drawn by the server, so it needs no script."""

from collections.abc import Sequence

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()

WIDTH, HEIGHT, EDGE = 160, 32, 2
MAX_POINTS = 90


@register.simple_tag
def sparkline(values: Sequence[float], label: str = "") -> SafeString:
    """{% sparkline live.rate_ops_s "Throughput of the last 90 seconds" %}"""
    if len(values) < 2:
        return format_html('<span class="muted small">{}</span>', "no line yet")

    # The newest values as SVG coordinates, on a scale from 0 to their highest.
    recent = list(values)[-MAX_POINTS:]
    highest = max(recent) or 1.0
    step = WIDTH / (len(recent) - 1)
    coordinates = []
    for i, value in enumerate(recent):
        y = HEIGHT - EDGE - value / highest * (HEIGHT - 2 * EDGE)
        coordinates.append(f"{i * step:.1f},{y:.1f}")
    points = " ".join(coordinates)

    return format_html(
        '<svg class="spark" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<polygon points="0,{} {} {},{}"/>'
        '<polyline points="{}" fill="none" vector-effect="non-scaling-stroke"/></svg>',
        WIDTH,
        HEIGHT,
        label,
        HEIGHT,
        points,
        WIDTH,
        HEIGHT,
        points,
    )
