"""The rows of a benchmark: the plan, what happened, and what came out."""

from runs.models.applied import AppliedDefinition
from runs.models.deletion import Deletion
from runs.models.plan import (
    Cluster,
    Conductor,
    Database,
    DataConfirmation,
    LoadGenerator,
    Machine,
    Matrix,
    MatrixEntry,
    Node,
    Provisioner,
    Purpose,
    Workload,
)
from runs.models.result import Artifact, Finding, LatencyKind, Measurement, MeasurementSet, Series, ThresholdOverride
from runs.models.run import (
    HISTORY_AT,
    ClientRun,
    Deployment,
    Phase,
    Run,
    RunEvent,
    SearchDecision,
    Stage,
    Status,
    Sweep,
    Verdict,
)
from runs.models.schedule import Ending, Occasion, Schedule
from runs.models.upload import Upload, UploadedFile, UploadKey
