"""The rows of a benchmark: the plan, what happened, and what came out."""

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
    Workload,
)
from runs.models.result import Artifact, Finding, Measurement, MeasurementSet, Series, ThresholdOverride
from runs.models.run import ClientRun, Deployment, Run, RunEvent, SearchDecision, Sweep
from runs.models.schedule import Ending, Occasion, Schedule
from runs.models.upload import Upload, UploadedFile, UploadKey
