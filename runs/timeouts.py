"""The table of time-outs: how often each part gives a sign of life, how long others wait for it, and after which
silence it counts as lost. Pure.
"""

from datetime import timedelta

# --- Signs of life ---

# Of conductors, clients, load generators and readers of uploads. Each limit of silence is several of these intervals.
HEARTBEAT_INTERVAL_S = 5.0
# Scheduling waits for a load generator that is silent; nothing is lost by that, so the limit is short.
GENERATOR_SILENT_AFTER = timedelta(seconds=20)
# A conductor that is silent gets no further run; its claims have the limit of runs.
CONDUCTOR_SILENT_AFTER = timedelta(seconds=30)
# A network that is cut for half a minute must not end the runs behind it.
CLIENT_SILENT_AFTER = timedelta(seconds=45)
# The longest, since the claim of a run goes to nobody else before: its conductor may only wait for PostgreSQL.
RUN_SILENT_AFTER = timedelta(seconds=60)
# The reader of an upload is stopped while a run measures, but its conductor beats for it.
UPLOAD_SILENT_AFTER = timedelta(seconds=60)
# A message to a load generator is repeated every 3 s, so one that does not take its client is lost.
CLIENT_UNCLAIMED_AFTER = timedelta(seconds=15)
# A dispatched run that no conductor claims goes back to the queue.
RUN_UNCLAIMED_AFTER = timedelta(seconds=30)
# A pool of a load generator whose processes take no task for so long hangs.
POOL_HUNG_AFTER_S = 30.0

# --- The clients of a run ---

# A message that cannot be claimed within this time is left: its run has another generator or another attempt by then.
CLIENT_CLAIM_TIMEOUT_S = 15.0
# Clients must be connected within this time, else the run fails.
CLIENT_READY_TIMEOUT_S = 60
# A client without a successful operation for so long is given up.
CLIENT_STALL_TIMEOUT_S = 60.0
# So is one of which most operations fail for so long.
CLIENT_ERRORS_TIMEOUT_S = 30.0
# A client is ended by force when it takes longer than the time to connect, its measured time and this.
CLIENT_GRACE_S = 45
# After an end that was not planned, the clients get this long to stop before the machines are given back.
CLIENT_STOP_TIMEOUT_S = 12
CALIBRATION_TIMEOUT = timedelta(minutes=5)

# --- Their output ---

# A run waits so long for the output of its clients, which give up before.
OUTPUT_TIMEOUT_S = 20 * 60
# A client tries for this long to store its output. Later attempts are made beside the next clients.
STORE_TIMEOUT_S = 300.0
# A run that has ended waits so long for the output of its clients; a slow store then blocks no pool process for it.
ENDED_RUN_TIMEOUT_S = 15.0
# For the site's answer to one file: it writes the whole file into its artifact store before.
FILE_TIMEOUT_S = 120
# The server's configuration and log are stored within this time, or the run goes on without them.
SERVER_FILES_TIMEOUT_S = 60.0

# --- Servers under test ---

SERVER_INIT_TIMEOUT_S = 120.0  # to make an empty data folder
SERVER_START_TIMEOUT_S = 180.0  # HBase on a busy machine, whose log must be split first
SERVER_STOP_TIMEOUT_S = 300.0  # to write down what is in memory
CONTAINER_KILL_TIMEOUT_S = 15.0
# The engine's own answers are quick; starting a container on a busy disk is not.
CONTAINER_ENGINE_TIMEOUT_S = 60
# A load generator that starts nodes of servers reports on them so often. One that the site does not answer for the
# longer time ends them; a run whose node is silent for the shorter one has lost its server.
NODE_REPORT_INTERVAL_S = 1.0
NODE_SILENT_AFTER = timedelta(seconds=15)
NODE_LEASE_S = 30.0
# For an answer to the administration.
ADMIN_TIMEOUT_S = 10.0
ADMIN_JVM_TIMEOUT_S = 60.0  # with its start and its connections, on a busy machine
# Counting and deleting a whole data set takes minutes; a program that takes longer hangs.
ADMIN_DATA_SET_TIMEOUT_S = 1800.0

# --- Checks of servers that somebody else runs ---

CHECK_SERVER_TIMEOUT_S = 10.0  # for all answers of a server until its place for a record is made
CHECK_PROGRAM_TIMEOUT_S = 20.0  # for the program that asks it
CHECK_CLAIM_TIMEOUT_S = 5.0  # A load generator without a free slot takes no message.
CHECK_CLIENT_TIMEOUT_S = 10.0  # for all answers of the server to one client

# --- Processes that are told to stop ---

# A conductor's runs get this long to end.
CONDUCTOR_STOP_TIMEOUT_S = 25.0
UPLOAD_STOP_TIMEOUT_S = 2.0  # the reader of an upload
