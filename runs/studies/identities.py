"""Ids of facts and ranges of them: "tt14-001..tt14-018" are the eighteen from the first to the last."""

import re
from collections.abc import Iterable, Sequence

_RANGE = re.compile(r"([a-z0-9]+)-(\d+)(?:\.\.\1-(\d+))?")


def expanded(texts: Iterable[str]) -> tuple[str, ...]:
    """The ids that these ids and ranges name, in their order. Raises ValueError for what is neither."""
    ids: list[str] = []
    for text in texts:
        match = _RANGE.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"{text!r} is no id and no range of ids; write tt14-001 or tt14-001..tt14-018")
        first, last = int(match[2]), int(match[3] or match[2])
        if last < first:
            raise ValueError(f"{text!r} ends before it begins")
        ids += [f"{match[1]}-{number:03d}" for number in range(first, last + 1)]
    return tuple(ids)


def folded(ids: Sequence[str]) -> str:
    """Ids as short as they can be said: "tt14-001..tt14-003, tt14-008"."""
    parts: list[list[str]] = []
    for fact_id in ids:
        key, number = fact_id.rsplit("-", 1)
        if parts and f"{key}-{int(number) - 1:03d}" == parts[-1][-1]:
            parts[-1].append(fact_id)
        else:
            parts.append([fact_id])
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]}..{run[-1]}" for run in parts)
