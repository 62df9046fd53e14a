"""The drawing library that is served is the one that the figures were made for."""

import pytest
from django.conf import settings
from plotly.offline import get_plotlyjs_version

VENDOR = settings.BASE_DIR / "static" / "vendor"


@pytest.mark.parametrize(
    ("bundle", "template"), [("basic", "templates/base.html"), ("cartesian", "runs/templates/runs/run.html")]
)
def test_the_vendored_plotly_is_the_installed_one(bundle, template):
    folders = [folder.name for folder in VENDOR.glob(f"plotly-{bundle}-*")]
    assert folders == [f"plotly-{bundle}-{get_plotlyjs_version()}"]
    assert f"vendor/{folders[0]}/plotly-{bundle}.min.js" in (settings.BASE_DIR / template).read_text()
    head = (VENDOR / folders[0] / f"plotly-{bundle}.min.js").read_text()[:400]
    assert f"v{get_plotlyjs_version()}" in head
