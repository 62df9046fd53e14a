"""Names and page phrases that the project has given up: no file may have more of them than words_baseline.json says.

A vague name (`found`, `said`) says how a value came about and not what it is. Limits are named MAX_ and MIN_. A test's
name has at most MAX_TEST_NAME characters. Retired page phrases have a plain one in their place. A line of a
template has at most MAX_TEMPLATE_LINE characters. Standard library only.

    python .ci/check_words.py            lists every use beyond the baseline; exit code 1 if there is any
    python .ci/check_words.py --all      lists every use
    python .ci/check_words.py --lower    writes today's numbers, after uses were removed or files were moved
"""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
BASELINE: Final = ROOT / ".ci" / "words_baseline.json"
VAGUE: Final = frozenset({"asked", "found", "given", "one", "said", "thing", "told", "what"})
LIMIT: Final = re.compile(
    r"_?([A-Z0-9]+_)*(MOST|LEAST|LONGEST|SHORTEST|FEWEST|LARGEST|SMALLEST|HIGHEST|LOWEST)(_[A-Z0-9]+)*"
)
MAX_TEST_NAME: Final = 60
# Retired phrase, in lower case -> the one in its place.
PHRASES: Final = {
    "a restriction away": "a filter",
    "as it fits": "auto",
    "bring outputs": "upload outputs",
    "brought by": "uploaded by",
    "earlier page": "previous",
    "let go of": "remove, clear",
    "link to this": "copy link",
    "make it a baseline": "set as baseline",
    "more pictures": "more charts",
    "no such rung": "n/a",
    "nobody stated": "not stated",
    "take back": "revoke",
    "take it back": "revoke",
    "taken back": "revoked",
    "the ticked": "the selected",
}
PHRASE: Final = re.compile("|".join(PHRASES), re.IGNORECASE)
# File -> what is allowed there, and why.
EXCEPTIONS: Final[dict[str, tuple[frozenset[str], str]]] = {
    ".ci/check_words.py": (frozenset(PHRASES), "lists the phrases"),
    "reports/published/api/report_schemas.py": (frozenset({"found"}), "a field of the REST API"),
}
MAX_TEMPLATE_LINE: Final = 140  # characters
SKIPPED: Final = re.compile(r"/migrations/|^static/vendor/|^docs/openapi\.json$")


def uses(path: str) -> list[tuple[int, str]]:
    """Every use in a file as line and message, in the order of lines."""
    allowed, _ = EXCEPTIONS.get(path, (frozenset(), ""))
    text = (ROOT / path).read_text("utf-8")
    lines = [(n, match[0].lower()) for n, line in enumerate(text.splitlines(), 1) for match in PHRASE.finditer(line)]
    known = [(n, phrase, f"“{phrase}”: write “{PHRASES[phrase]}”") for n, phrase in lines]
    if path.endswith(".py"):
        for n, name in assigned_names(ast.parse(text)):
            if name in VAGUE:
                known.append((n, name, f"`{name}` does not say what the value is"))
            elif LIMIT.fullmatch(name):
                known.append((n, name, f"`{name}`: name a limit MAX_ or MIN_, with its unit"))
            elif name.startswith("test_") and len(name) > MAX_TEST_NAME:
                known.append(
                    (n, name, f"`{name}` has {len(name)} characters: a test's name has at most {MAX_TEST_NAME}")
                )
    if "templates/" in path:
        for n, line in enumerate(text.splitlines(), 1):
            if len(line) > MAX_TEMPLATE_LINE:
                known.append((n, "", f"{len(line)} characters: break the line at a tag or between attributes"))
    return sorted((n, message) for n, word, message in known if word not in allowed)


def assigned_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of every variable, attribute, parameter and function that the module names."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.alias(asname=str(name)):
                yield node.lineno, name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node.lineno, name


def files() -> list[str]:
    """The project's sources: what git knows, and what is new and not ignored."""
    listing = ["git", "ls-files", "-co", "--exclude-standard", "--", "*.py", "*.html", "*.js", "*.md"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    present = [name for name in set(names) if (ROOT / name).exists() and not (ROOT / name).is_symlink()]
    return sorted(name for name in present if not SKIPPED.search(name))


def main(argument: str = "") -> int:
    baseline: dict[str, int] = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    today = {path: lines for path in files() if (lines := uses(path))}
    counts = {path: len(lines) for path, lines in today.items()}
    if argument == "--lower":
        if BASELINE.exists() and sum(counts.values()) > sum(baseline.values()):
            print(f"{sum(counts.values())} uses are more than the {sum(baseline.values())} of the baseline.")
            return 1
        BASELINE.write_text(json.dumps(counts, indent=0, sort_keys=True) + "\n")
        return 0
    beyond = [path for path in counts if argument == "--all" or counts[path] > baseline.get(path, 0)]
    for path in beyond:
        for line, message in today[path]:
            print(f"{path}:{line}: {message}")
        print(f"{path}: {counts[path]} in all, {baseline.get(path, 0)} allowed\n")
    if sum(counts.values()) < sum(baseline.values()):
        print(f"{sum(baseline.values()) - sum(counts.values())} uses fewer than .ci/words_baseline.json allows.")
        print("Lower it with `python .ci/check_words.py --lower`, also after moving files.")
    return 1 if beyond and argument != "--all" else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
