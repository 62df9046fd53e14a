"""Deleting what a team has, with all that hangs on it, and restoring it for 30 days.

Deleted rows leave their tables, so that no query has to know of them. They lie in the artifact storage as PostgreSQL
wrote them, and `restore` inserts them again. Contents of files stay until a deletion is forgotten.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any, Final, NamedTuple

from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.db.models import SET_NULL, Exists, Model, OuterRef, Q, QuerySet
from django.db.models.deletion import Collector, ProtectedError
from django.db.models.functions import Now
from psycopg.errors import UniqueViolation

from benchsite.accounts import audit
from benchsite.accounts.models import Team, User
from benchsite.accounts.tenancy import all_teams
from benchsite.core.formatting import enumerated
from runs.models import (
    Artifact,
    Cluster,
    Database,
    DataConfirmation,
    Deletion,
    Deployment,
    LoadGenerator,
    Machine,
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
from runs.results.messages import (
    CANNOT_BE_RESTORED,
    COMES_TOO,
    FORGET_LATER,
    NAME_TAKEN,
    NEED_GONE,
    NEEDED_ROW,
    PART,
    PARTS_COME_TOO,
    PARTS_TOO,
    ROW_GONE,
)

MAX_AT_ONCE: Final = 5_000  # runs
_ROWS_AT_ONCE: Final = 200
# What rows of benchmarks point at, and, of these, what a matrix is made of: its rows come back without the matrix.
POINTED_AT: Final = (Machine, LoadGenerator, Cluster, Database, Workload, Matrix, Upload, Sweep, Run)
PART_TABLES: Final = frozenset(
    model._meta.db_table for model in (Machine, LoadGenerator, Cluster, Node, DataConfirmation, Database, Workload)
)
_NAMED: Final = 3  # of the rows that keep something


class DeletionRefused(Exception):
    """Nothing was deleted. The message says why and what to do."""


class RunPinned(DeletionRefused):
    """Something is held together by this run, such as a baseline."""


class RestoreRefused(Exception):
    """Nothing was restored. The message says why and what to do."""


class ForgetRefused(Exception):
    """Nothing was forgotten: another deletion needs a row of it. The message names it."""


class Need(NamedTuple):
    """A row that stayed, or lies in another deletion, and without which a row of `source` cannot be."""

    source: str  # table
    table: str
    key: str
    text: str  # "the database “study”"


@dataclass(frozen=True, slots=True)
class Restoring:
    """What restoring a deletion takes besides its own rows."""

    whole: Sequence[Deletion]  # deletions that are restored along with it
    parts: Sequence[Deletion]  # of matrices, whose databases, workloads and clusters are restored
    lost: Sequence[str]  # rows that it needs and that nothing holds any more

    @property
    def text(self) -> str:
        """Why it is impossible, or what comes along; empty: nothing."""
        if self.lost:
            return NEED_GONE.format(needs=enumerated(sorted(set(self.lost))))
        sentences = []
        if self.parts:
            sentences.append(PARTS_COME_TOO.format(names=_enumerate_names(self.parts)))
        if self.whole:
            sentences.append(COMES_TOO.format(names=_enumerate_names(self.whole)))
        return " ".join(sentences)


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
        needs = list(_find_needs(selection))
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
            holds=_list_held_keys(selection),
            needs=needs,
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
    """Insert the rows again, with those that they need of other deletions, all or none; answers the keys of those of
    the deletion's kind.

    Raises RestoreRefused: a name is taken, or a row that they need is gone.
    """
    with transaction.atomic():
        if not _lock_trash(deletion):
            return []  # Somebody else was first.

        restoring = plan_restoring([deletion])[deletion.pk]
        if restoring.lost:
            raise RestoreRefused(CANNOT_BE_RESTORED.format(name=deletion.name, reason=restoring.text))
        keys = _read_keys(deletion)
        whole = [deletion, *restoring.whole]
        inserted: dict[str, list[str]] = defaultdict(list)
        try:
            for row in restoring.parts:
                _insert_deletion(row, inserted, PART_TABLES)
            for row in whole:
                _insert_deletion(row, inserted)
            _clear_lost_references(inserted)
            connection.check_constraints()
        except IntegrityError as error:
            _, _, detail = str(error).partition("DETAIL:")
            is_taken = isinstance(error.__cause__, UniqueViolation)
            reason = (NAME_TAKEN if is_taken else ROW_GONE).format(detail=detail.strip() or error)
            raise RestoreRefused(CANNOT_BE_RESTORED.format(name=deletion.name, reason=reason)) from error

        for row in whole:
            audit.note("deletion_restored", team=row.team, actor=by, subject=row.name, text=row.kind)
            row.delete()
        digests = {row.sha256 for row in whole}
        transaction.on_commit(lambda: forget_content(digests))

    return keys


def _lock_trash(deletion: Deletion) -> bool:
    """Lock all deletions of the team, since two may need the same rows of a third; False: this one is gone."""
    rows = Deletion.objects.select_for_update().filter(team=deletion.team_id).order_by("pk").only("pk")
    return deletion.pk in [row.pk for row in rows]


def plan_restoring(deletions: Sequence[Deletion]) -> dict[Any, Restoring]:
    """Deletion -> from which other ones it needs rows, directly or through these. All are of one team."""
    holders: dict[str, list[Deletion]] = {}
    by_key = {row.pk: row for row in deletions}
    needs = list(chain.from_iterable(map(_make_needs, deletions)))
    # So many rounds as deletions need each other one after the other, however many they are.
    while needs := find_missing([need for need in needs if need.key not in holders]):
        holders |= {need.key: [] for need in needs}
        keys = {need.key for need in needs}
        rows = Deletion.objects.filter(team=deletions[0].team_id, holds__overlap=list(keys))
        needs = []
        for row in rows:
            holder = by_key.setdefault(row.pk, row)
            for key in keys.intersection(map(str, holder.holds)):
                holders[key].append(holder)
            needs += _make_needs(holder)
    return {row.pk: _plan_restoring(row, holders) for row in deletions}


def _plan_restoring(deletion: Deletion, holders_by_key: Mapping[str, Sequence[Deletion]]) -> Restoring:
    """`holders_by_key` has the keys of all rows that are missing, and the deletions that hold each."""
    whole: dict[Any, Deletion] = {}
    parts: dict[Any, Deletion] = {}
    lost: list[str] = []
    covered = {str(key) for key in deletion.holds}
    needs = _make_needs(deletion)
    while needs := [need for need in needs if need.key in holders_by_key and need.key not in covered]:
        keys = {need.key for need in needs}
        holders = {row.pk: row for key in keys for row in holders_by_key[key] if row.pk != deletion.pk}.values()
        available = {str(key) for holder in holders for key in holder.holds}
        lost += [need.text for need in needs if need.key not in available]
        covered |= keys
        needed_rows = {need.key for need in needs if need.table not in PART_TABLES}
        needs = []
        for holder in holders:
            is_part = holder.kind == Matrix._meta.verbose_name and needed_rows.isdisjoint(map(str, holder.holds))
            chosen, tables = (parts, PART_TABLES) if is_part else (whole, None)
            if holder.pk not in whole:
                chosen[holder.pk] = holder
            if not is_part:
                parts.pop(holder.pk, None)
            needs += [need for need in _make_needs(holder) if tables is None or need.source in tables]

    return Restoring(list(whole.values()), list(parts.values()), lost)


def find_missing(needs: Iterable[Need]) -> list[Need]:
    """Those whose row is not there now."""
    by_table: dict[str, list[Need]] = defaultdict(list)
    for need in needs:
        by_table[need.table].append(need)
    missing = []
    for model in POINTED_AT:
        group = by_table[model._meta.db_table]
        rows = model._base_manager.filter(pk__in=[need.key for need in group])
        present = {str(key) for key in rows.values_list("pk", flat=True)}
        missing += [need for need in group if need.key not in present]
    return missing


def _make_needs(deletion: Deletion) -> list[Need]:
    return [Need(*need) for need in deletion.needs]


def _enumerate_names(deletions: Iterable[Deletion]) -> str:
    return enumerated([f"“{row.name}”" for row in deletions])


def _list_held_keys(selection: Selection) -> list[Any]:
    """Of the rows that other rows of benchmarks point at."""
    return [row.pk for model in POINTED_AT for row in selection.data.get(model, ())]


def _find_needs(selection: Selection) -> Iterator[Need]:
    """Rows outside that the rows of a selection point at, other than by a reference that may become null."""
    for model, rows in selection.data.items():
        keys = [row.pk for row in rows]
        for field in filter(_is_required, model._meta.concrete_fields):
            target: Any = field.related_model
            column = field.attname
            referenced = model._base_manager.filter(pk__in=keys, **{f"{column}__isnull": False})
            outside = set(referenced.values_list(column, flat=True)) - set(selection.keys(target))
            for row in target._base_manager.filter(pk__in=outside).order_by("pk"):
                text = NEEDED_ROW.format(kind=target._meta.verbose_name, name=row)
                yield Need(model._meta.db_table, target._meta.db_table, str(row.pk), text)


def _is_required(field: Any) -> bool:
    return field.related_model in POINTED_AT and field.remote_field.on_delete is not SET_NULL


def _is_clearable(field: Any) -> bool:
    return field.related_model is not None and field.remote_field.on_delete is SET_NULL


def list_users_in_trash(row: Model) -> str:
    """The deletions, quoted, that need a row when they are restored; empty: none."""
    return _enumerate_names(Deletion.objects.filter(needs__contains=[[str(row.pk)]]))


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
    """From now on it cannot be restored. What its files held goes too, unless another row has the same content.

    Raises ForgetRefused: another deletion needs a row of it.
    """
    digests = {deletion.sha256, *deletion.digests}
    with transaction.atomic():
        if not _lock_trash(deletion):
            return  # Somebody else was first.
        dependents = _find_dependents(deletion)
        if dependents:
            raise ForgetRefused(FORGET_LATER.format(name=deletion.name, needing=_enumerate_names(dependents)))
        audit.note("deletion_forgotten", team=deletion.team, actor=by, subject=deletion.name, text=deletion.kind)
        deletion.delete()
        transaction.on_commit(lambda: forget_content(digests))


def _find_dependents(deletion: Deletion) -> list[Deletion]:
    """Deletions that cannot be restored without a row of this."""
    own_keys = {str(key) for key in deletion.holds}
    others = list(Deletion.objects.filter(team=deletion.team_id).exclude(pk=deletion.pk))
    needs = chain.from_iterable(map(_make_needs, others))
    missing = {need.key for need in find_missing(need for need in needs if need.key in own_keys)}
    return [other for other in others if any(need.key in missing for need in _make_needs(other))]


@all_teams()
def forget_old_deletions() -> None:
    """Those whose time to be restored is over, the oldest first: a later one may hold what they need."""
    for deletion in Deletion.objects.filter(deleted_at__lt=Now() - RESTORABLE_FOR).order_by("deleted_at"):
        try:
            forget(deletion)
        except ForgetRefused:
            continue  # Until the deletion that needs it is restored or forgotten.


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


def _clear_lost_references(inserted: Mapping[str, list[str]]) -> None:
    """Of rows that were inserted, by table, those that may become null and whose row was removed meanwhile."""
    for model in filter(lambda model: model._meta.db_table in inserted, apps.get_models(include_auto_created=True)):
        rows = model._base_manager.filter(pk__in=inserted[model._meta.db_table])
        for field in filter(_is_clearable, model._meta.concrete_fields):
            target: Any = field.related_model
            there = target._base_manager.filter(pk=OuterRef(field.attname))
            rows.filter(~Exists(there), **{f"{field.attname}__isnull": False}).update(**{field.attname: None})


def _insert_deletion(deletion: Deletion, inserted: dict[str, list[str]], tables: frozenset[str] | None = None) -> None:
    with artifacts.opened(deletion.sha256) as content:
        lines = (line.decode() for line in content)
        _insert((line for line in lines if tables is None or line.partition("\t")[0] in tables), inserted)


def _insert(lines: Iterator[str], inserted: dict[str, list[str]]) -> None:
    """Note the keys in `inserted`, by table.

    A column that was added since gets its default, one that was dropped is left out, a row that is there stays.
    """
    models = apps.get_models(include_auto_created=True)
    keys = {model._meta.db_table: model._meta.pk.column for model in models}
    with connection.cursor() as cursor:
        for table, group in groupby((line.split("\t", 1) for line in lines), key=itemgetter(0)):
            texts = (text for _, text in group)
            if table.startswith("="):
                for column, key, row, value in map(json.loads, texts):
                    query = f'UPDATE "{table[1:]}" SET "{column}" = %s WHERE "{key}" = %s AND "{column}" IS NULL'
                    cursor.execute(query, [value, row])
                continue
            present = {column.name for column in connection.introspection.get_table_description(cursor, table)}
            key = keys[table]
            for batch in _batches(texts):
                # All rows of a table were dumped with the same columns.
                columns = ", ".join(f'"{name}"' for name in json.loads(batch[0]) if name in present)
                rows = f'json_populate_recordset(NULL::"{table}", %s::json)'
                query = f'INSERT INTO "{table}" ({columns}) SELECT {columns} FROM {rows}'
                query += f' ON CONFLICT ("{key}") DO NOTHING RETURNING "{key}"::text'
                cursor.execute(query, [f"[{','.join(batch)}]"])
                inserted[table] += [row for (row,) in cursor]
