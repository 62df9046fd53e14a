"""Why a run did not succeed. Load generators use it, so no models here."""

from django.db.models import TextChoices


class Reason(TextChoices):
    """Why a run did not succeed, classed by what to do about it."""

    NONE = "", ""
    CANCELLED_BY_USER = "cancelled_by_user", "cancelled by a person"
    WORKER_LOST = "worker_lost", "a worker died"
    INTERRUPTED = "interrupted", "stopped by an operator"
    LOAD_GENERATOR_SILENT = "load_generator_silent", "a load generator did not answer"
    SERVER_DID_NOT_START = "server_did_not_start", "the server cannot be used"
    SERVER_LOST = "server_lost", "the server went away"
    MODE_NOT_IN_FORCE = "mode_not_in_force", "the durability mode was not in force"
    LOAD_FAILED = "load_failed", "the data set could not be loaded"
    DATASET_MISSING = "dataset_missing", "the data set is not there"
    DATA_NOT_OWNED = "data_not_owned", "the target holds data that Benchsite did not load"
    BINDING_MISMATCH = "binding_mismatch", "the load generators' bindings differ"
    CLIENT_FAILED = "client_failed", "a YCSB client failed"
    CLIENT_NOT_STARTED = "client_not_started", "a load generator could not start its client"
    GENERATOR_UNFIT = "generator_unfit", "a load generator could not go on with its client"
    CLOCK_STEPPED = "clock_stepped", "the clock of a load generator was stepped"
    OUTPUT_NOT_STORED = "output_not_stored", "a client's output could not be stored"
    OUTPUT_NOT_MERGED = "output_not_merged", "the clients' output cannot be merged"
    NO_PROGRESS = "no_progress", "no operation succeeded for a minute"
    TOO_MANY_ERRORS = "too_many_errors", "most operations failed"
    DISK_FULL = "disk_full", "a disk is nearly full"
    WRONG_ROW_COUNT = "wrong_row_count", "not all records arrived"
    TIMEOUT = "timeout", "it took longer than its deadline"
    NO_EVIDENCE = "no_evidence", "the output shows no success"
    BAD_PLAN = "bad_plan", "the plan cannot be run as it stands"
    INTERNAL_ERROR = "internal_error", "Benchsite itself failed"
    NOT_NEEDED = "not_needed", "no longer needed"
    BEYOND_CEILING = "beyond_ceiling", "skipped: beyond the ceiling"
    CELL_PAUSED = "cell_paused", "cell paused: two rungs failed in a row"

    @classmethod
    def skipped(cls) -> tuple["Reason", ...]:
        """The reasons of cancelled runs whose points are not missing."""
        return (cls.NOT_NEEDED, cls.BEYOND_CEILING)
