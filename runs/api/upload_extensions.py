"""What other packages add to the answer about an upload, such as a verdict against a baseline.

`runs` does not know them: they register themselves when the API is put together.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.http import HttpRequest

from runs.models import Run

# Told who asks and the runs that were stored, answers fields of the upload's answer; nothing where it was not asked.
Extension = Callable[[HttpRequest, Sequence[Run]], Mapping[str, Any]]
_extensions: list[Extension] = []


def extend(extension: Extension) -> Extension:
    """Have `extension` asked whenever runs were uploaded."""
    if extension not in _extensions:
        _extensions.append(extension)
    return extension


def extended(request: HttpRequest, runs: Sequence[Run]) -> dict[str, Any]:
    """What all of them say of these runs."""
    fields: dict[str, Any] = {}
    for extension in _extensions:
        fields |= extension(request, runs)
    return fields
