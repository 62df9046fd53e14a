"""A plan file with definitions is applied: what differs is written, all of it in one transaction.

A dry run does the same and rolls it back, so that it says what an apply would do, and refuses what that refuses.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from django.db import transaction
from django.db.models.functions import Now
from django.utils.crypto import salted_hmac

from benchsite.accounts.models import Scope
from benchsite.accounts.tokens import Bearer
from benchsite.rest.authentication import require_scope
from benchsite.rest.problems import Fault, Problem
from runs.catalog.forms.sign_in import KEPT
from runs.definitions.definition_file import DefinitionFile
from runs.definitions.kinds import KINDS, Definition, DefinitionRefused, Kind, lock, write
from runs.definitions.plans import describe_plan, read_stored
from runs.models import AppliedDefinition, Matrix
from runs.plans import Draft, PlanError, submit
from runs.plans.api.matrices import preview_draft
from runs.plans.api.plans import MatrixPlan, list_faults, read_draft, require_build_scope
from runs.plans.plan_spec import Table

Action = Literal["create", "change", "none"]
Secrets = Mapping[str, Mapping[str, str]]  # database -> property -> secret
CHANGED_ELSEWHERE: Final = "changed-elsewhere"
MATRIX: Final = "matrix"


# Of a field that differs its path, "settings/io-threads", its values before and after and what the last apply set, and
# whether others changed it. None is no value; secrets are hidden.
FieldChange = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one table of the file. `is_deleted_elsewhere`: the last apply made it, and it is gone."""

    kind: str
    name: str
    pointer: str
    action: Action
    fields: list[FieldChange]
    is_deleted_elsewhere: bool = False

    @property
    def is_changed_elsewhere(self) -> bool:
        return self.is_deleted_elsewhere or any(change["is_changed_elsewhere"] for change in self.fields)


@dataclass(slots=True)
class Outcome:
    """`matrix` is None where the file has none, or a dry run would make it."""

    changes: list[Change] = field(default_factory=list)
    matrix: Matrix | None = None
    is_queued: bool = False  # once all is applied
    preview: Mapping[str, object] | None = None  # in a dry run: of what would be made or queued

    @property
    def needs_overwrite(self) -> bool:
        return any(change.is_changed_elsewhere for change in self.changes)


@dataclass(frozen=True, slots=True)
class Request:
    """`run`: whether the matrix is queued; "new": unless it was before; "again": a copy if it was before."""

    bearer: Bearer
    file: DefinitionFile
    secrets: Secrets
    run: Literal["no", "new", "again"] = "no"
    overwrites: bool = False
    is_dry_run: bool = False


@transaction.atomic
def apply_file(request: Request) -> Outcome:
    """Write what differs. Raises DefinitionRefused with pointers into the file, Problem, and LimitReached; nothing is
    stored then.
    """
    lock(request.bearer.team)
    unknown = request.secrets.keys() - request.file.databases.keys()
    if unknown:
        detail = "The file defines no database of this name."
        raise DefinitionRefused(
            {"pointer": f"secrets/{name}", "detail": detail, "code": "unknown"} for name in sorted(unknown)
        )

    outcome = Outcome()
    for kind in KINDS:
        outcome.changes += _apply_kind(request, kind)

    if request.file.matrix is not None:
        _apply_matrix(request, request.file.matrix, outcome)
    if request.is_dry_run:
        transaction.set_rollback(True)
    elif outcome.needs_overwrite and not request.overwrites:
        raise _refuse_overwriting(outcome)

    return outcome


def _apply_kind(request: Request, kind: Kind) -> list[Change]:
    changes, faults = [], list[Fault]()
    for name, spec in request.file.get_specs(kind.plural).items():
        pointer = f"#/{kind.plural}/{_escape(name)}"
        try:
            changes.append(_apply_spec(request, kind, name, spec, pointer))
        except DefinitionRefused as refused:
            faults += move_faults(refused.faults, pointer)
    if faults:
        raise DefinitionRefused(faults)
    return changes


def _apply_spec(request: Request, kind: Kind, name: str, spec: Table, pointer: str) -> Change:
    """Fields that the file leaves out stay as they are."""
    row = kind.find(request.bearer, name)
    stated = spec.model_dump(include=spec.model_fields_set)
    definition = spec.model_dump()
    if row:
        definition = kind.hide_secrets(kind.read(row)) | stated
    if secrets := request.secrets.get(name) if kind.plural == "databases" else None:
        definition["binding_properties"] = {**definition["binding_properties"], **secrets}
        stated["binding_properties"] = definition["binding_properties"]

    written = write(kind, request.bearer, name, definition)
    applied = _get_applied(kind.name, written.row.name)
    fields = _compare(kind, written.before, written.after, applied)
    action: Action = "none"
    if fields:
        action = "change"
    if written.before is None:
        action = "create"
    _store_applied(request, kind.name, written.row.name, applied, _mask(kind, written.after), stated, action)
    return Change(kind.name, written.row.name, pointer, action, fields, action == "create" and applied is not None)


def _apply_matrix(request: Request, plan: MatrixPlan, outcome: Outcome) -> None:
    draft, faults = read_draft(plan, request.bearer.team)
    if draft is None:
        raise DefinitionRefused(move_faults(faults, "#/matrix"))

    name, user = draft.matrix.name, request.bearer.user
    rows = Matrix.objects.select_for_update().filter(name=name, trial_of=None).order_by("-created_at", "-pk")
    stored, before = rows.first(), None
    after = describe_plan(draft)
    if stored:
        before = describe_plan(read_stored(stored))
    if "load_generators" not in plan.model_fields_set:  # A plan for all of them is none the less so when more come.
        for definition in filter(None, (before, after)):
            del definition["load_generators"]

    applied = _get_applied(MATRIX, name)
    fields = _compare(None, before, after, applied)
    action: Action = "none"
    matrix = stored
    if stored is None or (stored.submitted_at and request.run == "again"):
        action = "create"
    elif fields:
        action = "change"

    is_submitted = action == "none" and stored is not None and stored.submitted_at is not None
    is_queued = request.run != "no" and not is_submitted
    if action != "none" or is_queued:
        require_scope(request.bearer, [Scope.MATRICES_RUN])
        require_build_scope(request.bearer, draft.matrix.builds)
        if request.is_dry_run:
            outcome.preview = preview_draft(draft)

    if action == "change" and stored and stored.submitted_at is None:
        matrix = _replace_plan(stored, draft, plan).store(user)
    elif action != "none":
        matrix = draft.store(user)

    assert matrix is not None
    is_deleted = stored is None and applied is not None
    outcome.changes.append(Change(MATRIX, name, "#/matrix", action, fields, is_deleted))
    _store_applied(request, MATRIX, name, applied, flatten(after), after, action)
    if not request.is_dry_run or matrix == stored:
        outcome.matrix = matrix
    outcome.is_queued = is_submitted or is_queued
    if is_queued and not request.is_dry_run:
        _submit(matrix, request)


def _replace_plan(stored: Matrix, draft: Draft, plan: MatrixPlan) -> Draft:
    """The plan of a matrix that was not submitted yet."""
    for column in (*plan.columns, "exclusions", "overrides"):
        setattr(stored, column, getattr(draft.matrix, column))
    stored.entries.all().delete()
    return Draft(stored, draft.entries, draft.workloads, draft.generators)


def _submit(matrix: Matrix, request: Request) -> None:
    try:
        submit(matrix, request.bearer.user)
    except PlanError as error:
        faults = move_faults(list_faults(error.problems), "#/matrix")
        raise Problem("plan-refused", str(error), errors=faults) from error


def _refuse_overwriting(outcome: Outcome) -> Problem:
    faults: list[Fault] = []
    for change in outcome.changes:
        if change.is_deleted_elsewhere:
            detail = f"The {change.kind} “{change.name}” was deleted since the last apply."
            faults.append({"pointer": change.pointer, "detail": detail, "code": CHANGED_ELSEWHERE})
        faults += [
            {"pointer": f"{change.pointer}/{part['path']}", "code": CHANGED_ELSEWHERE,
             "detail": f"It is {part['before']!r} on the site, was {part['applied']!r} after the last apply, "
                       f"and is {part['after']!r} in the file."}
            for part in change.fields if part["is_changed_elsewhere"]
        ]  # fmt: skip

    names = ", ".join(f"{change.kind} “{change.name}”" for change in outcome.changes if change.is_changed_elsewhere)
    detail = f"Others changed what this file would replace: {names}. Take it into the file, or apply with overwrite."
    return Problem(CHANGED_ELSEWHERE, detail, errors=faults)


def _compare(
    kind: Kind | None, before: Definition | None, after: Definition, applied: AppliedDefinition | None
) -> list[FieldChange]:
    """Fields that differ, with what others changed among them: values that the last apply did not leave."""
    old, new = _mask(kind, before or {}), _mask(kind, after)
    shown_old, shown_new = _hide(kind, before or {}), _hide(kind, after)
    applied_values: dict[str, Any] = {}
    if applied:
        applied_values = applied.values
    changes = []
    for path in sorted(old.keys() | new.keys()):
        left = applied_values.get(path)
        if not _differ(old.get(path), new.get(path)):
            continue

        is_changed_elsewhere = before is not None and _differ(old.get(path), left)
        if left and KEPT in (shown_old.get(path), shown_new.get(path)):
            left = KEPT
        changes.append(
            {
                "path": path,
                "before": shown_old.get(path),
                "after": shown_new.get(path),
                "applied": left,
                "is_changed_elsewhere": is_changed_elsewhere,
            }
        )

    return changes


def _differ(value: Any, other: Any) -> bool:
    """An empty value is none."""
    return (value or None) != (other or None)


def _get_applied(kind: str, name: str) -> AppliedDefinition | None:
    return AppliedDefinition.objects.filter(kind=kind, name=name).first()


def _store_applied(
    request: Request,
    kind: str,
    name: str,
    applied: AppliedDefinition | None,
    values: Mapping[str, Any],
    stated: Iterable[str],
    action: Action,
) -> None:
    """Records what the file owns: of a row that was there before, only the fields that the file states."""
    own = dict(values)
    if action != "create":
        prefixes = tuple(f"{_escape(name)}/" for name in stated)
        own = {path: value for path, value in values.items() if f"{path}/".startswith(prefixes)}
        earlier: Mapping[str, Any] = {}
        if applied:
            earlier = applied.values
        own |= {path: value for path, value in earlier.items() if not f"{path}/".startswith(prefixes)}

    if applied is None or applied.values != own:
        AppliedDefinition.objects.update_or_create(
            team=request.bearer.team, kind=kind, name=name,
            defaults={"values": own, "applied_by": request.bearer.user, "applied_at": Now()},
        )  # fmt: skip


def _hide(kind: Kind | None, definition: Definition) -> dict[str, Any]:
    if kind is None or not definition:
        return flatten(definition)
    return flatten(kind.hide_secrets(definition))


def _mask(kind: Kind | None, definition: Definition) -> dict[str, Any]:
    """Flat, with a digest in the place of each secret: two can be compared, and none can be read."""
    shown = _hide(kind, definition)
    return {
        path: value if value == shown[path] else salted_hmac("benchsite.applied", str(value)).hexdigest()
        for path, value in flatten(definition).items()
    }


def flatten(definition: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Path -> value: {"settings": {"io-threads": "2"}} is {"settings/io-threads": "2"}. Lists are values."""
    values: dict[str, Any] = {}
    for name, value in definition.items():
        path = f"{prefix}{_escape(name)}"
        if isinstance(value, dict):
            values |= flatten(value, f"{path}/")
        else:
            values[path] = value
    return values


def move_faults(faults: Iterable[Fault], pointer: str) -> list[Fault]:
    """Faults of a definition as faults of the file that has it at `pointer`."""
    return [
        {**fault, "pointer": pointer + fault["pointer"].removeprefix("path.name").removeprefix("#")} for fault in faults
    ]


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
