"""A plan file with definitions is applied: what differs is written, all of it in one transaction.

A dry run does the same and rolls it back, so that it says what an apply would do, and refuses what that refuses.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from django.db import transaction
from django.db.models.functions import Now
from django.utils.crypto import salted_hmac

from benchsite.accounts.models import Scope, User
from benchsite.accounts.tokens import Bearer
from benchsite.rest.authentication import require_scope
from benchsite.rest.problems import Fault, Problem
from runs.catalog.forms.sign_in import KEPT
from runs.definitions.definition_file import DefinitionFile, describe_plan
from runs.definitions.kinds import KINDS, Definition, DefinitionRefused, Kind, lock, write
from runs.models import AppliedDefinition, Matrix
from runs.plans import Draft, PlanError, read_stored, submit
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


class Application:
    """A plan file that is applied for a token.

    `run`: whether the matrix is queued; "new": unless it was before; "again": a copy if it was before. `matrix` is
    None where the file has none, or a dry run would make it.
    """

    def __init__(
        self,
        bearer: Bearer,
        file: DefinitionFile,
        secrets: Secrets,
        *,
        run: Literal["no", "new", "again"],
        overwrites: bool,
        is_dry_run: bool,
    ) -> None:
        self.bearer, self.file, self.secrets = bearer, file, secrets
        self.run, self.overwrites, self.is_dry_run = run, overwrites, is_dry_run
        self.changes: list[Change] = []
        self.matrix: Matrix | None = None
        self.is_queued = False  # once all is applied
        self.preview: Mapping[str, object] | None = None  # in a dry run: of what would be made or queued

    @property
    def needs_overwrite(self) -> bool:
        return any(change.is_changed_elsewhere for change in self.changes)

    @transaction.atomic
    def apply(self) -> None:
        """Write what differs. Raises DefinitionRefused with pointers into the file, Problem, and LimitReached; nothing
        is stored then.
        """
        lock(self.bearer.team)
        unknown = self.secrets.keys() - self.file.databases.keys()
        if unknown:
            detail = "The file defines no database of this name."
            raise DefinitionRefused(
                {"pointer": f"secrets/{name}", "detail": detail, "code": "unknown"} for name in sorted(unknown)
            )

        for kind in KINDS:
            self._apply_kind(kind)
        if self.file.matrix is not None:
            self._apply_matrix(self.file.matrix)
        if self.is_dry_run:
            transaction.set_rollback(True)
        elif self.needs_overwrite and not self.overwrites:
            raise _refuse_overwriting(self.changes)

    def _apply_kind(self, kind: Kind) -> None:
        faults = list[Fault]()
        for name, spec in self.file.get_specs(kind.plural).items():
            pointer = f"#/{kind.plural}/{_escape(name)}"
            try:
                self._apply_spec(kind, name, spec, pointer)
            except DefinitionRefused as refused:
                faults += move_faults(refused.faults, pointer)
        if faults:
            raise DefinitionRefused(faults)

    def _apply_spec(self, kind: Kind, name: str, spec: Table, pointer: str) -> None:
        """Fields that the file leaves out stay as they are."""
        row = kind.find(self.bearer, name)
        stated = spec.model_dump(include=spec.model_fields_set)
        definition = spec.model_dump()
        if row:
            definition = kind.hide_secrets(kind.read(row)) | stated
        if secrets := self.secrets.get(name) if kind.plural == "databases" else None:
            definition["binding_properties"] = {**definition["binding_properties"], **secrets}
            stated["binding_properties"] = definition["binding_properties"]

        row, before, after = write(kind, self.bearer, name, definition)
        applied = _get_applied(kind.name, row.name)
        fields = _compare(kind, before, after, applied)
        action: Action = "none"
        if fields:
            action = "change"
        if before is None:
            action = "create"
        self._store_applied(kind.name, row.name, applied, _mask(kind, after), stated, action)
        is_deleted = action == "create" and applied is not None
        self.changes.append(Change(kind.name, row.name, pointer, action, fields, is_deleted))

    def _apply_matrix(self, plan: MatrixPlan) -> None:
        draft, faults = read_draft(plan, self.bearer.team)
        if draft is None:
            raise DefinitionRefused(move_faults(faults, "#/matrix"))

        name, user = draft.matrix.name, self.bearer.user
        rows = Matrix.objects.select_for_update().filter(name=name, trial_of=None).order_by("-created_at", "-pk")
        stored, before = rows.first(), None
        after = describe_plan(draft)
        if stored:
            before = describe_plan(read_stored(stored))
        if "load_generators" not in plan.model_fields_set:  # A plan for all is none the less so when more come.
            for definition in filter(None, (before, after)):
                del definition["load_generators"]

        applied = _get_applied(MATRIX, name)
        fields = _compare(None, before, after, applied)
        action: Action = "none"
        matrix = stored
        if stored is None or (stored.submitted_at and self.run == "again"):
            action = "create"
        elif fields:
            action = "change"

        is_submitted = action == "none" and stored is not None and stored.submitted_at is not None
        is_queued = self.run != "no" and not is_submitted
        if action != "none" or is_queued:
            require_scope(self.bearer, [Scope.MATRICES_RUN])
            require_build_scope(self.bearer, draft.matrix.builds)
            if self.is_dry_run:
                self.preview = preview_draft(draft)

        if action == "change" and stored and stored.submitted_at is None:
            matrix = _replace_plan(stored, draft, plan).store(user)
        elif action != "none":
            matrix = draft.store(user)

        assert matrix is not None
        is_deleted = stored is None and applied is not None
        self.changes.append(Change(MATRIX, name, "#/matrix", action, fields, is_deleted))
        self._store_applied(MATRIX, name, applied, flatten(after), after, action)
        if not self.is_dry_run or matrix == stored:
            self.matrix = matrix
        self.is_queued = is_submitted or is_queued
        if is_queued and not self.is_dry_run:
            _submit(matrix, user)

    def _store_applied(
        self,
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
            prefixes = tuple(f"{_escape(field)}/" for field in stated)
            own = {path: value for path, value in values.items() if f"{path}/".startswith(prefixes)}
            earlier = applied.values if applied else {}
            own |= {path: value for path, value in earlier.items() if not f"{path}/".startswith(prefixes)}

        if applied is None or applied.values != own:
            AppliedDefinition.objects.update_or_create(
                team=self.bearer.team, kind=kind, name=name,
                defaults={"values": own, "applied_by": self.bearer.user, "applied_at": Now()},
            )  # fmt: skip


def _replace_plan(stored: Matrix, draft: Draft, plan: MatrixPlan) -> Draft:
    """The plan of a matrix that was not submitted yet."""
    for column in (*plan.columns, "exclusions", "overrides"):
        setattr(stored, column, getattr(draft.matrix, column))
    stored.entries.all().delete()
    return Draft(stored, draft.entries, draft.workloads, draft.generators)


def _submit(matrix: Matrix, user: User) -> None:
    try:
        submit(matrix, user)
    except PlanError as error:
        faults = move_faults(list_faults(error.problems), "#/matrix")
        raise Problem("plan-refused", str(error), errors=faults) from error


def _refuse_overwriting(changes: Sequence[Change]) -> Problem:
    faults: list[Fault] = []
    for change in changes:
        if change.is_deleted_elsewhere:
            detail = f"The {change.kind} “{change.name}” was deleted since the last apply."
            faults.append({"pointer": change.pointer, "detail": detail, "code": CHANGED_ELSEWHERE})
        for part in change.fields:
            if part["is_changed_elsewhere"]:
                detail = (
                    f"It is {part['before']!r} on the site, was {part['applied']!r} after the last apply, and is "
                    f"{part['after']!r} in the file."
                )
                faults.append(
                    {"pointer": f"{change.pointer}/{part['path']}", "detail": detail, "code": CHANGED_ELSEWHERE}
                )

    names = ", ".join(f"{change.kind} “{change.name}”" for change in changes if change.is_changed_elsewhere)
    detail = f"Others changed what this file would replace: {names}. Take it into the file, or apply with overwrite."
    return Problem(CHANGED_ELSEWHERE, detail, errors=faults)


def _compare(
    kind: Kind | None, before: Definition | None, after: Definition, applied: AppliedDefinition | None
) -> list[FieldChange]:
    """Fields that differ, with what others changed among them: values that the last apply did not leave."""
    old, new = _mask(kind, before or {}), _mask(kind, after)
    visible_old, visible_new = _hide(kind, before or {}), _hide(kind, after)
    applied_values = applied.values if applied else {}
    changes = []
    for path in sorted(old.keys() | new.keys()):
        if not _differ(old.get(path), new.get(path)):
            continue
        left = applied_values.get(path)
        is_changed_elsewhere = before is not None and _differ(old.get(path), left)
        if left and KEPT in (visible_old.get(path), visible_new.get(path)):
            left = KEPT
        changes.append(
            {
                "path": path,
                "before": visible_old.get(path),
                "after": visible_new.get(path),
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


def _hide(kind: Kind | None, definition: Definition) -> dict[str, Any]:
    if kind is None or not definition:
        return flatten(definition)
    return flatten(kind.hide_secrets(definition))


def _mask(kind: Kind | None, definition: Definition) -> dict[str, Any]:
    """Flat, with a digest in the place of each secret: two can be compared, and none can be read."""
    without_secrets = _hide(kind, definition)
    return {
        path: value if value == without_secrets[path] else salted_hmac("benchsite.applied", str(value)).hexdigest()
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
