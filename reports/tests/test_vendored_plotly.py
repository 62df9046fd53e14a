"""The drawing library that is served is the one that the figures were made for."""

from django.conf import settings
from plotly.offline import get_plotlyjs_version


def test_the_vendored_plotly_is_the_installed_one():
    folders = [folder.name for folder in (settings.BASE_DIR / "static" / "vendor").glob("plotly-*")]
    assert folders == [f"plotly-cartesian-{get_plotlyjs_version()}"]
    base = (settings.BASE_DIR / "templates" / "base.html").read_text()
    assert f"vendor/{folders[0]}/plotly-cartesian.min.js" in base
    head = (settings.BASE_DIR / "static" / "vendor" / folders[0] / "plotly-cartesian.min.js").read_text()[:400]
    assert f"v{get_plotlyjs_version()}" in head
