"""`manage.py export_removed`: saves what people wrote for features that this release no longer has."""

import json
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandParser
from django.db import connection

# Name of the file -> the query of its rows. The models no longer have these columns, the tables keep them for one
# release.
QUERIES: Final = {
    "matrices-run-by-hand": "SELECT matrix.id, team.name AS team, matrix.name, matrix.notes, matrix.plan"
    " FROM runs_matrix matrix JOIN teams_team team ON team.id = matrix.team_id WHERE matrix.by_hand ORDER BY matrix.id",
    "matrices-of-published-studies": "SELECT matrix.id, team.name AS team, matrix.name, matrix.template"
    " FROM runs_matrix matrix JOIN teams_team team ON team.id = matrix.team_id"
    " WHERE matrix.template IS NOT NULL ORDER BY matrix.id",
}


class Command(BaseCommand):
    help = "Writes what people wrote for removed features into FOLDER, as one JSON file for each kind that has any."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="FOLDER")

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["folder"]
        folder.mkdir(parents=True, exist_ok=True)
        for name, query in QUERIES.items():
            rows = _rows(query)
            if rows:
                (folder / f"{name}.json").write_text(json.dumps(rows, indent=1) + "\n")
            self.stdout.write(f"{name}: {len(rows)}")


def _rows(query: str) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT row_to_json(removed)::text FROM ({query}) removed")
        return [json.loads(text) for (text,) in cursor.fetchall()]
