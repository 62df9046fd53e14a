"""What a person can do about a run that did not succeed, one short paragraph per `Reason`. Pure text."""

from runs.queue.reasons import Reason

REMEDIES: dict[str, str] = {
    Reason.CANCELLED_BY_USER: "Nothing is wrong. “Run again” measures this point anew.",
    Reason.WORKER_LOST: (
        "A conductor or a load generator stopped answering while the run was going, and its claim was revoked. See "
        "on “Load generators” whether it is up again. Benchsite queues such a run again once by itself. What was "
        "stored until then is kept and is not counted."
    ),
    Reason.INTERRUPTED: (
        "An operator stopped the site or the conductor while the run was going. Benchsite has queued it again once, as "
        "a run of its own."
    ),
    Reason.LOAD_GENERATOR_SILENT: (
        "A load generator did not pick up its part within 15 seconds. See on “Load generators” whether it is up and "
        "listens to its queue, start it, then run this point again."
    ),
    Reason.SERVER_DID_NOT_START: (
        "The detail above says why. A server that Benchsite starts: most often a setting it does not know, a port that "
        "is taken, too little memory, or an image that is not there. A server of your own: its address, credentials or "
        "TLS. Correct that, then run this point again."
    ),
    Reason.SERVER_LOST: (
        "The server was up and went away during the run. Look in its log for out of memory and full disks. Then run "
        "this point again."
    ),
    Reason.MODE_NOT_IN_FORCE: (
        "The server answers with other values than the durability mode asks for, so the numbers would be those of "
        "another mode. The detail above names the settings: one of the database's own may override the mode's, or an "
        "external server was configured by hand."
    ),
    Reason.LOAD_FAILED: (
        "The server did not take the data set, or the load that this run needs failed: the detail above says which. "
        "Correct what it names, then run this point again."
    ),
    Reason.WRONG_ROW_COUNT: (
        "The return codes of the load say what the server refused; often space on its disk, its memory limit, a table "
        "left over with another shape, or a replica that answered too late. A failed insert ends its thread, and the "
        "rest of its records is missing: core_workload_insertion_retry_limit has it tried again."
    ),
    Reason.NO_PROGRESS: (
        "A guard stopped the run. The server hangs or is cut off from the client, or YCSB itself hangs. See the "
        "server's log and the network between them, restart the server, then run this point again."
    ),
    Reason.TOO_MANY_ERRORS: (
        "A guard stopped the run. The return codes below name the errors: a full memory or disk of the server, a "
        "missing table, or a time-out that is too short for this load. Correct that, then run this point again."
    ),
    Reason.DISK_FULL: (
        "A guard stopped the run: databases slow down or stop on a full disk, and output would be lost. Free space in "
        "the folder that the detail above names, or use fewer records, then run this point again."
    ),
    Reason.DATASET_MISSING: (
        "The server lost the data set after it was loaded, or others replaced it. Benchsite loads it again and repeats "
        "the run once. If that was in vain, see who else uses this server, then run this point again."
    ),
    Reason.DATA_NOT_OWNED: (
        "The external server was left as it is: nothing was written or deleted. Take one of the steps that the detail "
        "above names, then run this point again."
    ),
    Reason.BINDING_MISMATCH: (
        "The load generators hold different builds of the binding, so their clients would not measure the same thing. "
        "Run `make bindings` on each of them, restart them, and compare the digests on “Load generators”."
    ),
    Reason.CLIENT_FAILED: "The client's last lines below say why. Correct what they name, then run this point again.",
    Reason.CLIENT_NOT_STARTED: (
        "The detail above names what the load generator lacks: java, a sound binding, space, memory or a free port. It "
        "is in quarantine, and gets runs again by itself once a client can be started there."
    ),
    Reason.GENERATOR_UNFIT: (
        "The detail above names what the load generator lacks: space, memory, a free port, or a JVM that starts. It is "
        "in quarantine, and gets runs again by itself once it has that. The run is repeated once."
    ),
    Reason.CLOCK_STEPPED: (
        "The load generator's clock was set while its client waited for the common start, so the clients did not begin "
        "together. The run is repeated once. Keep the clock by NTP, which slews it."
    ),
    Reason.OUTPUT_NOT_STORED: (
        "The artifact store was full or did not answer for minutes. The detail above names the cause. Nothing is lost: "
        "the load generator keeps the output and stores it once the cause is mended."
    ),
    Reason.OUTPUT_NOT_MERGED: (
        "The clients did not measure at the same time, or left nothing to merge; the detail above names the client. "
        "Benchsite queues such a run again once by itself. Their output is kept. If every run ends so, the warm-up is "
        "too long for the window, or a load generator reaches the site too slowly."
    ),
    Reason.TIMEOUT: (
        "The clients did not end by their deadline and were stopped. A server that hangs looks like this, and so does "
        "a target far above what it can do. The time series below shows when it stalled."
    ),
    Reason.NO_EVIDENCE: (
        "The clients ended, but their output does not show that operations were done. Look at the return codes and at "
        "the clients' last lines below: wrong address, missing table and refused sign-in all look like this."
    ),
    Reason.BAD_PLAN: "The detail above names what does not fit. Clone the matrix, correct it there, and submit it.",
    Reason.INTERNAL_ERROR: (
        "This is a fault of Benchsite, not of the database. Run the point again; if it happens again, report it with "
        "the detail above."
    ),
    Reason.BEYOND_CEILING: (
        "Nothing is wrong. Two rungs below this one lie beyond saturation already, so it would show nothing more. "
        "“Run the skipped rungs” on the page of the matrix measures it all the same."
    ),
    Reason.CELL_PAUSED: (
        "Two rungs of this cell failed in a row, so the others would fail, too. Correct what their pages name; then "
        "“Resume” on the page of the matrix runs what is left."
    ),
    Reason.NOT_NEEDED: "Nothing is wrong. The run that this one was to repeat was completed from late output.",
}


def remedy(reason: str) -> str:
    """The remedy for a run that ended for this reason; empty for a run that did not fail."""
    return REMEDIES.get(reason, "")
