"""The English of the metadata of uploads: templates for `str.format`, filled where a result is found."""


# --- forms.py ---

OTHER_WORKLOAD = "Its operations are {done}, and the workload has {stated}."
OTHER_DEFAULT_WORKLOAD = "Its operations are {done}, and not {stated}, YCSB's default where no proportion is stated."
OTHER_SYSTEM_OF_RUN = "Its command line names {system}, and {stated} is stated for it."
RUNS_OF_OTHER_TESTS = "{runs} not as stated: see the rows. Nothing was saved. Correct their test, or clear their boxes."
CHOOSE_MODE = "Choose the system and its mode; both may be unknown."
NAME_WORKLOAD = "Name the workload, or choose one of your team's."
WRITE_SYSTEM = "Write which system it was."

# --- manifest.py ---

NO_UTC_OFFSET = "“{text}” is no offset from UTC: write it as +02:00 or -05:30"
NOT_KNOWN = "“{name}” is not known here."

# --- metadata.py ---

NO_PART_OF_NAME = "holds the character U+{code_point:04X}, which is no part of a name"
NO_PURPOSE = "“{text}” is no purpose.{hint} Known are: {purposes}."

# --- metadata_merge.py ---

NAME_OTHER_SYSTEM = "Name the other system, as in “FooDB”."
SYSTEM_NOT_TOLD = "The files do not tell which system this was: state its slug, as in “redis”."
NO_SYSTEM = "No system of the catalog is called “{name}”.{hint} Of another one state “other” and its system_name."
MODE_OF_OTHER_SYSTEM = "Of a system that is not in the catalog the mode is “unknown”."
NO_MODE = "{system} has no mode “{mode}”.{hint} It has: {modes}, unknown."

SEVERAL_SYSTEMS = "The files are of several systems ({systems}): state the system, or upload those of each apart."
SEVERAL_WORKLOADS = "The files are of several workloads ({letters}): upload those of each apart, or name the workload."

# --- api/upload_results.py ---

DRY_RUN = "Nothing was stored: this was a dry run."

# --- api/uploads.py ---

UPLOAD_DELETED = "What was uploaded under this key was deleted. Use another key to upload it again."
USE_NEW_KEY = "To send other files, use a new key, or DELETE {address} first, which frees this one."

# --- form_data.py, upload_handlers.py ---

TOO_MANY_FILES = "One upload takes at most {limit} files: put more of them into a zip or tar archive."
FILES_NOT_STORED = "The files could not be kept ({reason}): tell an operator of this site."
UPLOAD_TOO_LARGE = "One upload takes at most {limit} of files: compress them, or upload the runs one by one."

# --- team_metadata.py ---

CURVE_OF_SYSTEM = "That curve is of {system} in mode {mode}: begin a new one."
CURVE_OF_PURPOSE = "That curve's purpose is {purpose}: begin a new one."
CURVE_OF_WORKLOAD = "That curve is of the workload “{workload}”: begin a new one."
NO_SUCH_CURVE = "Your team has no uploaded curve with this id. Leave it away for a new one."

# --- upload_lifecycle.py ---

SAVED_BEFORE = "It was saved before."

# --- views/imports.py ---

RUNS_SAVED = "{runs} saved from {upload}."
RUNS_LEFT = "{runs} not saved: {reasons}."
CANNOT_BE_MERGED = "{number} cannot be merged"
NO_THROUGHPUT = "{number} without a throughput above 0"
NOT_SELECTED = "{number} not selected"

# --- views/harmless_properties.py ---

NO_PROPERTY_NAME = "{name} is not the name of a property. Write names alone, without values."
TOO_MANY_NAMES = "At most {limit} names can be listed. There are {count}."
