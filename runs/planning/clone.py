"""The same plan once more: a new matrix that has not been submitted."""

from benchsite.teams.models import User
from runs.models import Matrix, MatrixEntry

# What belongs to one carrying out of a plan, and not to the plan.
OF_ONE_MATRIX = ("id", "name", "created_by", "created_at", "submitted_at", "notes", "trial_of")


def clone(matrix: Matrix, *, name: str, by: User | None) -> Matrix:
    """A copy of the plan, down to its exclusions and overrides. The caller holds the transaction."""
    fields = [one.attname for one in Matrix._meta.concrete_fields if one.name not in OF_ONE_MATRIX]
    made = Matrix.objects.create(**{one: getattr(matrix, one) for one in fields}, name=name, created_by=by)
    made.workloads.set(matrix.workloads.all())
    made.load_generators.set(matrix.load_generators.all())
    MatrixEntry.objects.bulk_create(
        MatrixEntry(matrix=made, database_id=entry.database_id, mode=entry.mode, position=entry.position)
        for entry in matrix.entries.all()
    )
    return made
