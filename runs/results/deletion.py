"""Deleting what a team has, with all that hangs on it, and restoring it for 30 days.

Deleted rows leave their tables, so that no query has to know of them. They lie in the artifact storage as PostgreSQL
wrote them, and `restore` inserts them again. Contents of files stay until a deletion is forgotten.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any, Final

from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.db.models import Model, Q, QuerySet
from django.db.models.deletion import Collector, ProtectedError
from django.db.models.functions import Now

from benchsite.accounts import audit
from benchsite.accounts.models import Team, User
from benchsite.accounts.tenancy import all_teams
from benchsite.core.formatting import enumerated
from runs.models import (
    Artifact,
    Cluster,
    Database,
    Deletion,
    Deployment,
    Matrix,
    MatrixEntry,
    Node,
    Run,
    Status,
    Sweep,
    Upload,
    UploadedFile,
    Workload,
)
from runs.models.deletion import RESTORABLE_FOR
from runs.results import artifacts
from runs.results.messages import PART, PARTS_TOO

MAX_AT_ONCE: Final = 5_000  # runs
_ROWS_AT_ONCE: Final = 200
_NAMED: Final = 3  # of the rows that keep something


class DeletionRefused(Exception):
    """Nothing was deleted. The message says why and what to do."""


class RunPinned(DeletionRefused):
    """Something is held together by this run, such as a baseline."""


class RestoreRefused(Exception):
    """Nothing was restored. The message says why and what to do."""


class Selection(Collector):
    """All rows that go with some roots (`data`), rows that would lose a reference (`field_updates`), and `protected`:
    rows that stay and need one of them.
    """

    def __init__(self, roots: Sequence[Model]) -> None:
        super().__init__(using=connection.alias)
        self.roots = list(roots)
        self._protected: set[Model] = set()
        by_model = defaultdict(list)
        for row in self.roots:
            by_model[type(row)].append(row)
        for rows in by_model.values():
            self.collect(rows)

    def can_fast_delete(self, *_: Any, **__: Any) -> bool:
        return False  # Every row is wanted, so that it can be restored.

    def collect(self, *rows: Any, **options: Any) -> None:
        try:
            super().collect(*rows, **options)
        except ProtectedError as error:
            self._protected |= error.protected_objects

    @property
    def protected(self) -> list[Model]:
        # A matrix names its workloads without protecting them, and would silently lose a column.
        needing = {*self._protected, *Matrix.objects.filter(workloads__in=self.keys(Workload))}
        return [row for row in needing if row not in self.data.get(type(row), ())]

    def keys(self, model: type[Model]) -> list[Any]:
        return [row.pk for row in self.data.get(model, ())]

    def unfinished_runs(self) -> QuerySet[Run]:
        return Run.objects.filter(pk__in=self.keys(Run)).exclude(status__in=Status.terminal()).only("pk", "name")

    def describe_parts(self) -> str:
        """What was chosen to go along with a matrix; empty: nothing."""
        parts = [root for root in self.roots[1:] if isinstance(root, Database | Workload | Cluster)]
        if not parts:
            return ""
        named = [PART.format(kind=part._meta.verbose_name, name=part) for part in parts]
        return PARTS_TOO.format(parts=enumerated(named))

    def blockers(self) -> set[Model]:
        """Rows outside that need one of these, and those of these runs that have not ended."""
        return {*self.protected, *self.unfinished_runs()}

    def blocked_runs(self) -> set[Any]:
        """Keys of the runs that have not ended, or that a row outside needs."""
        needed = set(chain.from_iterable(map(_get_run_keys, self.protected)))
        return needed.intersection(self.keys(Run)) | {run.pk for run in self.unfinished_runs()}


def get_owner(row: Model) -> Model:
    """The matrix or the cluster, which people know, of a row that ties it to a database or a machine."""
    if isinstance(row, MatrixEntry):
        return row.matrix
    if isinstance(row, Node):
        return row.cluster
    return row


def select_runs(runs: Iterable[Run]) -> Selection:
    """Runs, with the uploads and the uploaded curves of which they are all."""
    keys = [run.pk for run in runs]
    selected = Run.objects.filter(pk__in=keys)
    others = Run.objects.exclude(pk__in=keys)
    uploads = Upload.objects.filter(runs__in=selected).exclude(runs__in=others).distinct()
    sweeps = Sweep.objects.filter(runs__in=selected, matrix=None).exclude(runs__in=others).distinct()
    return Selection([*selected.only("pk", "name", "team"), *uploads, *sweeps])


def select_matrix(matrix: Matrix, also: Iterable[Model] = ()) -> Selection:
    """A matrix with its sweeps and runs, and `also` what only it uses."""
    gone = matrix.deployments.filter(state=Deployment.State.GONE)
    return Selection([matrix, *matrix.sweeps.all(), *matrix.runs.only("pk", "name", "team"), *gone, *also])


def find_exclusive_parts(matrix: Matrix) -> list[Model]:
    """The databases, workloads and clusters that nothing but this matrix uses."""
    databases = Database.objects.filter(entries__matrix=matrix).distinct()
    others = Matrix.objects.exclude(pk=matrix.pk)
    exclusive: list[Model] = list(Workload.objects.filter(matrices=matrix).exclude(matrices__in=others).distinct())
    clusters = Cluster.objects.filter(databases__in=databases).distinct()
    for part in [*databases, *clusters]:
        if not select_matrix(matrix, [*exclusive, part]).protected:
            exclusive.append(part)
    return exclusive


def delete(selection: Selection, by: User | None, team: Team) -> Deletion | None:
    """Delete what was selected, all of it or nothing; None: somebody else was first.

    Raises DeletionRefused where something needs a row that goes.
    """
    root = selection.roots[0]
    runs = selection.keys(Run)
    with transaction.atomic():
        # Whoever submits, claims or deletes the same rows waits, or was first.
        if not list(type(root)._base_manager.select_for_update().filter(pk=root.pk).values_list("pk")):
            return None

        list(Run.objects.select_for_update().filter(pk__in=runs).values_list("pk"))
        blockers = selection.blockers()
        if blockers:
            owners = {get_owner(row) for row in blockers}
            names = ", ".join(sorted(f"{row._meta.verbose_name} {row}" for row in owners)[:_NAMED])
            raise DeletionRefused(f"“{root}” stays: {names} needs it or has not ended. Cancel or delete that first.")

        name, kind = f"{root}{selection.describe_parts()}"[:200], str(root._meta.verbose_name)
        audit_kind, audit_text = "thing_deleted", kind
        if isinstance(root, Run):
            audit_kind, audit_text = "run_deleted", _describe(root)
            if len(runs) > 1:
                name = f"{root} and {len(runs) - 1} more"
        digests = _collect_digests(selection)
        content = artifacts.Compressing()
        for line in _dump(selection):
            content.write(line.encode() + b"\n")
        content.close()
        artifacts.keep_compressed(content.digest, content.compressed())
        try:
            _remove(selection)
        except IntegrityError as error:
            raise DeletionRefused(f"“{root}” is needed by what was added just now. Look at it again.") from error

        deletion = Deletion.objects.create(
            team=team,
            name=name,
            kind=kind,
            runs=len(runs),
            sha256=content.digest,
            digests=sorted(digests),
            deleted_by=by,
        )
        audit.note(audit_kind, team=team, actor=by, subject=name, text=audit_text)

    return deletion


def delete_run(run: Run, by: User | None) -> Deletion | None:
    """Delete one run; None: somebody else was first. Raises DeletionRefused, and RunPinned for a baseline's run."""
    selection = select_runs([run])
    if not selection.keys(Run):
        return None
    refusal = explain_blocked(selection).get(run.pk)
    if refusal is not None:
        raise refusal
    return delete(selection, by, run.team)


def explain_blocked(selection: Selection) -> dict[Any, DeletionRefused]:
    """Run -> why it stays and what to do."""
    blocked = selection.blocked_runs()
    reasons: dict[Any, DeletionRefused] = {}
    for run in Run.objects.filter(pk__in=blocked).only("pk", "name", "status"):
        if run.status not in Status.terminal():
            reasons[run.pk] = DeletionRefused(f"“{run.name}” has not ended yet. Cancel it, or wait and delete it then.")
            continue
        needing = [row for row in selection.protected if run.pk in _get_run_keys(row)]
        later_run = next((row for row in needing if isinstance(row, Run)), None)
        if later_run is not None:
            reasons[run.pk] = DeletionRefused(
                f"“{run.name}” loaded the data of “{later_run}” and others. Delete those first."
            )
            continue
        names = ", ".join(sorted(map(str, needing)))
        reasons[run.pk] = RunPinned(f"“{run.name}” is needed by {names}. Change or delete that first.")

    return reasons


def restore(deletion: Deletion, by: User) -> list[str]:
    """Insert the rows again, all or none; answers the keys of those of the deletion's kind.

    Raises RestoreRefused: a name is taken, or a row that they need is gone.
    """
    with transaction.atomic():
        if not Deletion.objects.select_for_update().filter(pk=deletion.pk).exists():
            return []  # Somebody else was first.

        keys = _read_keys(deletion)
        try:
            with artifacts.opened(deletion.sha256) as content:
                _insert(line.decode() for line in content)
        except IntegrityError as error:
            _, _, detail = str(error).partition("DETAIL:")
            raise RestoreRefused(
                f"“{deletion.name}” cannot be restored: what it needs is gone, or its name is taken. "
                f"PostgreSQL says: {detail.strip() or error}"
            ) from error

        audit.note("deletion_restored", team=deletion.team, actor=by, subject=deletion.name, text=deletion.kind)
        digests = {deletion.sha256}
        deletion.delete()
        transaction.on_commit(lambda: forget_content(digests))

    return keys


def _read_keys(deletion: Deletion) -> list[str]:
    models = apps.get_app_config("runs").get_models()
    meta = next((model._meta for model in models if model._meta.verbose_name == deletion.kind), None)
    if meta is None:  # Another release called it so.
        return []
    prefix = f"{meta.db_table}\t".encode()
    with artifacts.opened(deletion.sha256) as content:
        rows = [line.partition(b"\t")[2] for line in content if line.startswith(prefix)]
    return [str(json.loads(row)[meta.pk.column]) for row in rows]


def forget(deletion: Deletion, by: User | None = None) -> None:
    """From now on it cannot be restored. What its files held goes too, unless another row has the same content."""
    digests = {deletion.sha256, *deletion.digests}
    with transaction.atomic():
        audit.note("deletion_forgotten", team=deletion.team, actor=by, subject=deletion.name, text=deletion.kind)
        deletion.delete()
        transaction.on_commit(lambda: forget_content(digests))


@all_teams()
def forget_old_deletions() -> None:
    """Those whose time to be restored is over."""
    for deletion in Deletion.objects.filter(deleted_at__lt=Now() - RESTORABLE_FOR):
        forget(deletion)


def forget_content(digests: set[str]) -> None:
    """Remove from the storage what no row has any more; content lies under its hash, and may be everybody's."""
    for digest in sorted(digests):
        with transaction.atomic():
            # One at a time, and nobody can attach the same content meanwhile (`artifacts.attach`).
            artifacts.lock(digest, shared=False)
            if not _has_content(digest):
                artifacts.remove(digest)


@all_teams()
def _has_content(digest: str) -> bool:
    restorable = Deletion.objects.filter(Q(sha256=digest) | Q(digests__contains=[digest]))
    querysets = (Artifact.objects.filter(sha256=digest), UploadedFile.objects.filter(sha256=digest), restorable)
    return any(queryset.exists() for queryset in querysets)


def _collect_digests(selection: Selection) -> set[str]:
    files = Artifact.objects.filter(pk__in=selection.keys(Artifact)).values_list("sha256", flat=True)
    uploaded = UploadedFile.objects.filter(pk__in=selection.keys(UploadedFile)).values_list("sha256", flat=True)
    return {*files, *uploaded} - {""}


def _describe(run: Run) -> str:
    return ", ".join(filter(None, [str(run.pk), run.system, run.mode, run.workload_name, run.commit]))


def _get_run_keys(row: Model) -> list[Any]:
    return [getattr(row, field.attname) for field in row._meta.concrete_fields if field.related_model is Run]


def _batches(values: Iterable[Any]) -> Iterator[list[Any]]:
    remaining = iter(values)
    while batch := list(islice(remaining, _ROWS_AT_ONCE)):
        yield batch


def _list_lost_references(selection: Selection) -> Iterator[tuple[str, str, str, list[Any]]]:
    """Table, column, column of the key, keys of the rows whose reference becomes null."""
    updates: Any = selection.field_updates
    for (field, _), groups in updates.items():
        meta = field.model._meta
        keys = [row.pk for row in chain.from_iterable(groups)]
        yield meta.db_table, field.column, meta.pk.column, keys


def _dump(selection: Selection) -> Iterator[str]:
    """A line for each row (table, tab, JSON) and for each reference to one (=table, tab, JSON list)."""
    with connection.cursor() as cursor:
        for model, rows in selection.data.items():
            table, key = model._meta.db_table, model._meta.pk.column
            for keys in _batches(row.pk for row in rows):
                cursor.execute(f'SELECT row_to_json(t)::text FROM "{table}" t WHERE "{key}" = ANY(%s)', [keys])
                yield from (f"{table}\t{text}" for (text,) in cursor)
        for table, column, key, keys in _list_lost_references(selection):
            cursor.execute(f'SELECT "{key}"::text, "{column}"::text FROM "{table}" WHERE "{key}" = ANY(%s)', [keys])
            yield from (f"={table}\t{json.dumps([column, key, *pair])}" for pair in cursor)


def _remove(selection: Selection) -> None:
    """In any order: constraints are checked at the end."""
    with connection.cursor() as cursor:
        for table, column, key, keys in _list_lost_references(selection):
            cursor.execute(f'UPDATE "{table}" SET "{column}" = NULL WHERE "{key}" = ANY(%s)', [keys])
        for model in selection.data:
            meta = model._meta
            query = f'DELETE FROM "{meta.db_table}" WHERE "{meta.pk.column}" = ANY(%s)'
            cursor.execute(query, [selection.keys(model)])
    connection.check_constraints()


def _insert(lines: Iterator[str]) -> None:
    """A column that was added since gets its default, one that was dropped is left out."""
    with connection.cursor() as cursor:
        for table, group in groupby((line.split("\t", 1) for line in lines), key=itemgetter(0)):
            texts = (text for _, text in group)
            if table.startswith("="):
                for column, key, row, value in map(json.loads, texts):
                    query = f'UPDATE "{table[1:]}" SET "{column}" = %s WHERE "{key}" = %s AND "{column}" IS NULL'
                    cursor.execute(query, [value, row])
                continue
            present = {column.name for column in connection.introspection.get_table_description(cursor, table)}
            for batch in _batches(texts):
                # All rows of a table were dumped with the same columns.
                columns = ", ".join(f'"{name}"' for name in json.loads(batch[0]) if name in present)
                rows = f'json_populate_recordset(NULL::"{table}", %s::json)'
                query = f'INSERT INTO "{table}" ({columns}) SELECT {columns} FROM {rows}'
                cursor.execute(query, [f"[{','.join(batch)}]"])
    connection.check_constraints()
