"""No code reads an English sentence: results are codes and numbers, and sentences are written where they are shown.

It finds string methods and `in` with English words on values that are named as messages are (`reason`, `outcome`,
`caption`, ...), in production code. Standard library only.

    python .ci/check_messages.py [FOLDER]     lists every place; exit code 1 if there is any
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGES: Final = ("benchsite", "client", "reports", "runs", "workers")
MESSAGE: Final = re.compile(
    r"(.*_)?(caption|error|chip|difference|explanation|finding|headline|label|message|note|outcome|problem|reason|remark|"
    r"sentence|text|warning|word)s?"
)
READING: Final = frozenset(
    {
        "count", "endswith", "find", "index", "partition", "removeprefix", "removesuffix", "replace", "rpartition",
        "rsplit", "split", "startswith",
    }
)  # fmt: skip
CHANGING: Final = READING | {"capitalize", "casefold", "lower", "lstrip", "rstrip", "strip"}
ENGLISH: Final = re.compile(r"^ $|[a-z]{3}|\w \w|[a-z] | [a-z]|\. ")
PHRASE: Final = re.compile(r"[a-z]{2,} [a-z]|^,? [a-z]{2,}|[a-z]{2,} $|^Everything$")
# What other programs write: pydantic, HTTP, HTML, the kernel, Maven.
FOREIGN: Final = frozenset({"Value error, ", "Bearer ", "<table ", "pgmajfault ", "Input should", "</modules>"})
READERS: Final = re.compile(r"^runs/ycsb/")  # of the output of other programs


def find_readings(tree: ast.Module) -> Iterator[ast.Call | ast.Compare]:
    for node in ast.walk(tree):
        if (isinstance(node, ast.Call) and _is_reading_call(node)) or (
            isinstance(node, ast.Compare) and _is_search(node)
        ):
            yield node


def _is_reading_call(node: ast.Call) -> bool:
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in READING or not node.args:
        return False
    if isinstance(node.args[0], ast.Constant) and node.args[0].value in FOREIGN:
        return False
    return _is_phrase(node.args[0]) or (_is_english(node.args[0]) and _is_message(node.func.value))


def _is_search(node: ast.Compare) -> bool:
    if not isinstance(node.ops[0], ast.In | ast.NotIn) or not isinstance(node.left, ast.Constant | ast.JoinedStr):
        return False
    # A word alone is looked for in a collection of codes or fields.
    return " " in ast.unparse(node.left) and _is_english(node.left) and _is_message(node.comparators[0])


def _is_message(node: ast.expr) -> bool:
    return bool(MESSAGE.fullmatch(_get_name(node)))


def _is_phrase(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(PHRASE.search(node.value))


def _is_english(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and bool(ENGLISH.search(node.value))
    if isinstance(node, ast.JoinedStr):
        return any(map(_is_english, node.values))
    return isinstance(node, ast.Tuple) and any(map(_is_english, node.elts))


def _get_name(node: ast.expr) -> str:
    """The name of the value that a chain of string methods begins with."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in CHANGING:
            return _get_name(value)
        case ast.Call(func=function):
            return _get_name(function)
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            return key
        case ast.Subscript(value=value):
            return _get_name(value)
        case ast.Attribute(attr=attr):
            return attr
        case ast.Name(id=name):
            return name
        case _:
            return ""


def main(root: Path) -> int:
    places = []
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            name = str(path.relative_to(root))
            if READERS.match(name) or {"tests", "migrations"} & set(path.parts):
                continue
            for node in find_readings(ast.parse(path.read_text("utf-8"))):
                places.append(f"{name}:{node.lineno}: {ast.unparse(node)[:100]}")
    print("\n".join(places))
    if places:
        print(f"{len(places)} places read English back: use a code of the value instead.")
    return int(bool(places))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT))
