"""The English of the catalog and of its forms: templates for `str.format`, filled where a result is found."""


# --- configuration.py ---

MODE_NEEDS_SETTING = "it needs {name} = {needed}, and servers that Benchsite starts have {value}"
MODE_NEEDS_REPLICAS = "it waits for {replicas}, and {started}"
COPIES_ABSENT = "it waits for {needed} of {copies} copies, and {nodes} can have one"
ONE_PORT_FOR_ALL_NODES = "The client takes one port for all nodes, and theirs are {ports}: let them use one."
SETTING_FIXED = "{name} cannot be set on servers that Benchsite starts: leave it out."
OPTION_OF_MORE_CHARACTERS = "{name} takes letters, digits, points, hyphens and underscores, at most 40."
NO_SETTING_NAME = "{name!r} cannot be the name of a setting."
CONTROL_CHARACTERS = "{name} must not contain line breaks or other control characters."
HADOOP_VARIABLE = "{name} must not contain ${{: Hadoop replaces ${{NAME}} by variables."

# --- durability.py ---

NO_NUMBER_OF_COPIES = "Other copies that have answered are a number, quorum or all."
COPIES_ANSWER_NOTHING = "No other copy has answered, so none has the write: choose nothing, or state how many answer."
SLOW_DISK_LOSES_MORE = (
    "Type more seconds than under “A power failure of one node may lose”, or leave this empty. It must be empty where "
    "that is 0 or empty."
)
LOSS_WITHOUT_COPY = (
    "A power failure loses writes that neither the disk nor another copy has: state how many seconds, or leave it "
    "empty for any number."
)
LOSES_ANY_NUMBER = "A power failure of one node may lose any number of acknowledged writes."
LOSES_NOTHING = "A power failure of one node loses no acknowledged write."
SLOW_DISK_LOSS = ", {seconds} s where the disk is slow"
LOSES_LAST_SECONDS = "A power failure of one node may lose the last {typical} s of acknowledged writes{worst}."

# --- forms/clusters.py ---

TOO_MANY_EXPORTERS = "There are {count} exporters; at most {limit} are allowed."
URL_TOO_LONG = "{url}… is longer than {limit} characters."
NODE_NEEDS_ATTENTION = "A node below needs attention."
STARTS_NO_SERVERS = (
    "No load generator of {machine} starts servers. Its operator sets BENCHSITE_NODE_ADDRESS, the address at which "
    "they listen there, and starts it again."
)
CHOOSE_MACHINE_OF_ADDRESS = "Choose the machine that {address} is on, or clear the address."
SAME_ADDRESS = (
    "The cluster “{cluster}” has the address {address}, too: each takes data sets of the other for foreign data."
)
RUNS_AT_ONCE = " They name different machines, so that runs of both may use that server at once."

# --- forms/fields.py ---

TOO_MANY_PROPERTIES = "There are {count} properties; at most {limit} are allowed."
TOO_MANY_LINES = "There are {count} lines; at most {limit} are allowed."
NO_PROPERTY_LINE = "Line {number} is “{line}”; write it as name=value."
PROPERTY_TWICE = "{name} stands in lines {first} and {second}; leave one of them."
TAG_TOO_LONG = "The tag “{tag}…” has {length} characters; at most 40 are allowed."
NAME_TAKEN = "There is already a {kind} of this name: choose another."

# --- forms/generators.py ---

NO_GENERATOR_CALLED = "No load generator that your team may use is called “{pattern}”."

# --- forms/databases.py ---

COPIES_NEED_NODES = "{copies} copies need {copies} nodes, and {cluster} has {nodes}."
ADD_NODES = " Add them on the page of the cluster."
SET_NODES = " Set nodes = {copies} in the settings: they share a machine."
NODES_ARE_COPIES = "Each server of {system} has a copy of every record: state {nodes} copies, or set nodes = {copies}."

# --- forms/machines.py ---

MACHINE_NAME_TAKEN = "There is already a machine of this name: choose another."
HOST_KEY_TAKEN = "Another machine has this host key: two hosts are never one machine."
NO_FACT_NAME = "“{name}”: name a fact with small letters, digits and underscores."
NO_FACT_VALUE = "{name}: write a value of 1 to 200 printable characters."

# --- forms/own_modes.py ---

MODE_NAME_BEGINS_WITH_LETTER = "Begin the name with a letter, such as always-tuned."
MODE_UNCHANGED = "This is {slug} itself: change a setting or the record."
PROMISE_NOT_STATED = (
    "{settings} would be changed under the same promise: state above what may be lost now, or tick that the promise "
    "holds."
)
OWN_MODE_STAYS = "{slug} stays: {user} uses it. {remedy}"
DELETE_MATRICES_FIRST = "Delete its matrices first, or add another mode."
SAVE_A_COPY = "Save what you changed under another name."
OWN_MODE_TAKEN = "{database} has an own mode {slug} already: choose another name."
TOO_MANY_OWN_MODES = "A database has at most {limit} own modes: delete one first."
OWN_MODE_DOES_NOT_FIT = "The own mode {slug} does not fit: {error} Delete it first."

# --- forms/sign_in.py ---

NO_SECRET_STORED = "{name}: no secret is stored that could be kept. Write it."

# --- loader.py ---

PROPERTIES_ONLY = "{file}: it has the table properties only"
RESERVED_SLUG = "slug: {slug} stands for what the catalog does not know; choose another name"
RESERVED_MODE = "{location}: {slug} stands for what the catalog does not know; choose another name"
RESERVED_SUFFIX = "{location}: names that end with {suffix} are those of databases' own modes"
NO_PROPERTY_OF_BINDING = "{location}, endpoint: it names {name!r}, which is no property of the binding"
NO_MODE_OF_SYSTEM = "{location}: {slug} is no durability mode of this system"
NO_SUCH_SETTINGS = "process: not_in_config: no such settings: {names}"
NAME_WITHOUT_FORMAT = "process: config_name goes with a config_format: write both or none"
IMAGE_WITHOUT_PROCESS = "image: an image needs a part [process] too, whose configuration it shares"
CONFIGURATION_FILE = "{location}: files: {name} is the configuration, which is written by itself"
FIXED_AND_DECLARED = "{location}: {name} is fixed, so it must not be declared as a setting too"
NO_PLACEHOLDER = "{location}: {{{word}}} stands for nothing; write one of {words}"

# --- measured_losses.py ---

NAMES_KEPT_BY_FOLDER_SYNC = "names kept by folder sync only"
FSYNC_TAKES = "each fsync takes {ms} ms"
UNSYNCED_WRITES_KEPT = "{share} of unsynced writes kept"
RECORD_SURVIVES = "the record says that it survives"
RECORD_LOSES_LESS = "the record says {window_s} s at most, measured {measured_s} s"

# --- records.py ---

NAME_NOT_KNOWN = "{name}: 'name' is not known here"
WRONG_DEFAULT = "{name}: the default is wrong: {error}"
WRITE_DEFAULT_AS = "{name}: write the default as {canonical!r}, not {default!r}"
NO_TAG_OF_IMAGE = (
    "version {version!r} is no tag of the image {repository}: write one such as {tag}, or leave the version empty "
    "for it."
)
LIBRARY_IN_CLIENT = (
    "{system} is a library inside the client and has no server: choose Benchsite's own binding and a cluster of kind "
    "process on the load generator's machine. Other results can be uploaded."
)
NO_OWN_BINDING = (
    "Benchsite has no binding of its own for {system}. Choose a stock binding ({bindings}) as the database's client; "
    "an operator adds YCSB distributions to load generators by BENCHSITE_YCSB_HOMES."
)
BINDING_CANNOT_DRIVE = "{client} cannot drive {system}: choose a stock binding called {bindings}."
STOCK_DRIVES_EXTERNAL = "Stock bindings drive external clusters only: choose Benchsite's own binding."
NO_GO_DRIVER = "The catalog describes no driver of go-ycsb for {system}: choose another client."
DRIVER_CANNOT_DRIVE = "{client} cannot drive {system}: choose go-ycsb's driver {driver}."
GO_DRIVES_EXTERNAL = "go-ycsb drives external clusters only: choose Benchsite's own binding."
KNOWN_SETTING = "{name} is known here: leave out {prefix}"
DECIDED_BY_MODE = "{name} is decided by the durability mode, which a matrix chooses: leave it out."
MADE_OF_ADDRESSES = "{name} is made of the addresses of the cluster's nodes and of the other client properties."
ALWAYS_FIXED = "{name} is always {value} here: leave it out."

# --- views/systems.py ---

LOSS_SHARE = "lost in at most {share} of faults (95\N{NO-BREAK SPACE}%)"
OLDEST_LOST = "oldest lost write: median {ages}"
DID_NOT_START = "{times} times the server did not start"
