"""The English of servers and their data sets: templates for `str.format`, filled where a result is found."""


# --- readback.py ---

TOO_FEW_REPLICAS = "The mode needs {expected} connected replicas; there are {connected}."
OTHER_REPLICATION_FACTOR = (
    "The database states a replication factor of {expected}, and the server keeps {answer}: correct the database, or "
    "its schema."
)
SETTING_UNKNOWN = "{name} should be {expected!r}, but this server does not know it."
SETTING_DIFFERS = "{name} should be {expected!r}, but the server says {answer!r}."

# --- ownership.py ---

OTHER_RECORDS_REMAIN = "{records:,} other records remain in {target}; they are not part of the data set."
MARKER_NAME_TAKEN = "In {target} {error}. Nothing was changed. Rename or delete it, or choose another target."
MARKED_BY_OTHERS = (
    "Another run or another Benchsite site marked {target} as its own at the same moment. Nothing was loaded. {remedy}"
)
OTHER_DATA_SET = (
    "{target} holds another data set, and Benchsite cannot delete it there. Nothing was changed. Empty it; then let "
    "an admin of the team withdraw the confirmation on {page} and confirm again."
)
DATA_WRITTEN_AGAIN = "{target} held this data set already; its records are written again."

# --- administration/admin_program.py ---

CANNOT_ADMINISTER = "Benchsite cannot administer {system} yet."
ANSWER_TOO_LARGE = "The server's answer is larger than Benchsite reads."
ANSWER_NOT_UNDERSTOOD = "The server's answer cannot be understood ({error})."

# --- administration/postgresql.py ---

ROWS_OF_TABLE = "the rows of table {table}"

# --- administration/admin_client.py ---

OTHER_SERVER_NAMED = " The cluster names another server: {refusal}"
LARGER_THAN_READ = "the server's answer is larger than Benchsite reads"

# --- administration/redis.py ---

NO_MARKER = "the key {key} is a {kind} and not a marker of Benchsite"

# --- administration/redis_cluster.py ---

NODE_STATE = "{node} is {state} and knows {nodes} nodes"
SLOTS_MISSING = (
    "The nodes that the cluster names have {slots:,} of {all_slots:,} slots: name the addresses of all its masters."
)

# --- docker_provisioner.py ---

CONTAINER_GONE = "The container {name} is gone, and its log with it."
ENDED_AT_MEMORY_LIMIT = "it ended with exit code {exit_code} (its memory limit was reached)"
ENDED = "it ended with exit code {exit_code}"

# --- artifact_repository.py ---

NOT_IN_REPOSITORY = "The repository has no {name}: {error}"

# --- own_builds.py ---

NO_OWN_BUILDS = "its machine starts no own builds; its operator sets {variable}."

# --- agent_provisioner.py and node_agent.py ---

NOT_ON_SEVERAL_MACHINES = (
    "Benchsite starts {system} on its own machine alone: use an external cluster, or one on that machine."
)
NO_OWN_BUILDS_THERE = "Load generators start no own builds: use a cluster on the conductor's own machine."
NO_NODE_AGENT = (
    "No load generator of {machine} starts servers at {address}: its operator sets BENCHSITE_NODE_ADDRESS there. "
    "Where the address is another one by now, save the cluster again."
)
NODE_LOST = "Node {node} at {host}: {problem}"
NODE_SILENT = "the load generator {generator}, which started it, gives no sign of life"
NODE_FORGOTTEN = "its load generator was started again, and the node ended with it"
LEASE_OVER = "its load generator ended it, as the site did not answer"
NODE_NOT_IN_TIME = "its process did not start in time"
NODES_NOT_JOINED = "not all nodes have joined in time"
UNCHECKED_REFUSED = (
    "{name} is set for servers of a machine whose operator does not allow it: add {allowed} to "
    "BENCHSITE_UNCHECKED_SETTINGS there, or leave it out."
)

# --- servers.py ---

OTHER_SERVER_ANSWERS = "another server answers on port {port}"
