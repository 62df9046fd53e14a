"""The drawing library that is served is the one that the figures were made for."""

from django.conf import settings
from plotly.offline import get_plotlyjs_version

VENDOR = settings.BASE_DIR / "static" / "vendor"


def test_the_vendored_plotly_is_the_installed_one():
    folders = [folder.name for folder in VENDOR.glob("plotly-basic-*")]
    assert folders == [f"plotly-basic-{get_plotlyjs_version()}"]

    assert f"vendor/{folders[0]}/plotly-basic.min.js" in (settings.BASE_DIR / "templates/base.html").read_text()
    head = (VENDOR / folders[0] / "plotly-basic.min.js").read_text()[:400]
    assert f"v{get_plotlyjs_version()}" in head
