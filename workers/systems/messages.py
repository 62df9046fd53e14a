"""The English of client builds: templates for `str.format`, filled where a result is found."""


# --- manifests.py ---

DISTRIBUTION_NAMED_TWICE = "{home}: another YCSB distribution is called {name}: rename one folder."
GO_YCSB_NAMED_TWICE = "{home}: a go-ycsb is a file, and a YCSB distribution a folder: rename it."
GO_YCSB_CANNOT_START = "{binary} is no go-ycsb that can be started: build it for this machine, with chmod +x."
NO_BASE = "Stock bindings need Benchsite's base, and {folder} has none: run `make bindings`."
NO_JAR = "{lib} holds no jar: unpack the whole distribution, or remove {name}."
JAR_DAMAGED = "{jar} is damaged: unpack the distribution again."
NO_DISTRIBUTION = (
    "{home} is no YCSB distribution that can be used: no jar in {lib} holds {name}. Unpack YCSB 0.17.0 or newer, or "
    "a fork of it."
)
NO_JAVA_IN_HOME = "JAVA_HOME is {home}, and there is no bin/java in it: set it to a JDK 11 to 25."
NO_JAVA = "There is no java on the PATH: install a JDK 11 to 25, or set JAVA_HOME."
