"""What the scripts of a kit say: POSIX shell, every value of the plan between quotes. Pure."""

import shlex
from collections.abc import Iterable, Sequence
from typing import Final

from runs.kits.cells import KitCell, Station
from runs.kits.plan import PlanFile
from runs.ycsb.command import JVM_OPTIONS, java_command

# As load generators of Benchsite start their clients (`workers.client`), so that the same machine gives the same heap.
MAIN_CLASS: Final = "benchsite.Start"
_CLASSPATH: Final = "CLASSPATH"
# Systems whose stock YCSB client takes the same properties as Benchsite's.
STOCK_ALIKE: Final = frozenset({"redis"})

HEAD: Final = """\
#!/bin/sh
# {what}
# Made by Benchsite from plan.toml; README.md says how it is used.
set -eu
cd -- "$(dirname -- "$0")"
. ./lib.sh
"""


def lib() -> str:
    """What all scripts share."""
    start = java_command("java", [_CLASSPATH], main_class=MAIN_CLASS, jvm_options=JVM_OPTIONS)
    flags = " ".join(shlex.quote(part) for part in start[1 : start.index("-cp")])
    return _LIB.replace("@JAVA_FLAGS@", flags).replace("@MAIN_CLASS@", MAIN_CLASS)


def client_script(file: PlanFile, number: int, stations: Sequence[Station]) -> str:
    """All cells of one client, station by station."""
    lines = [
        HEAD.format(what=f"Client {number + 1} of {_comment(file.name)}"),
        f"client=client-{number + 1}",
        'wanted "$@"',
    ]
    for station in stations:
        lines += ["", _station(file, station)]
        lines += [_cell(cell, number) for cell in station.cells if number < len(cell.clients)]
    return "\n".join([*lines, "", "finish", ""])


def here_script(file: PlanFile, stations: Sequence[Station]) -> str:
    """All clients on one machine, cell by cell."""
    lines = [
        HEAD.format(what=f"All clients of {_comment(file.name)} on this machine, one cell after another."),
        'wanted "$@"',
        "",
    ]
    for station in stations:
        for cell in station.cells:
            words = (cell.name, station.slug, cell.run.phase, str(len(cell.clients)))
            lines.append(f"together {_quoted(words)}")
    return "\n".join([*lines, "", "finish", ""])


def load_script(file: PlanFile, station: Station) -> str:
    """The data sets of one database in one mode."""
    name, mode = _comment(file.databases[station.database].name), station.mode
    loads = [cell.name for cell in station.cells if cell.run.phase == "load"]
    text = HEAD.format(what=f"Loads what {name} in mode {mode} is measured over first; run-here.sh does it too.")
    if not loads:
        return f"{text}say 'This plan measures over data that is there already: nothing is to be loaded.'\n"
    return f"{text}exec ./run-here.sh {shlex.quote(loads[0])}\n"


def _station(file: PlanFile, station: Station) -> str:
    system, binding = station.system, station.system.binding
    mode = system.mode(station.mode)
    port = binding.properties[binding.endpoint.port].default if binding.endpoint.port else ""
    stock = binding.name if not system.own_client else ""
    if system.slug in STOCK_ALIKE and not mode.client_properties:
        stock = system.recognition.bindings[0]
    ours = binding.java_class if system.own_client else ""
    words = (
        station.slug, binding.endpoint.host, binding.endpoint.port, port or "", binding.endpoint.password, ours, stock,
    )  # fmt: skip
    return f"station {_quoted(words)}"


def _cell(cell: KitCell, number: int) -> str:
    client = cell.clients[number]
    target = str(client.target_ops_s or "")
    records = client.properties.get("insertcount", "") if cell.run.phase == "load" else ""
    return f"cell {_quoted((cell.name, cell.run.phase, str(client.threads), target, records))}"


def _quoted(words: Iterable[str]) -> str:
    return " ".join(shlex.quote(word) for word in words)


def _comment(text: str) -> str:
    """Fit for a comment: one line, whatever stands in it."""
    return "".join(character if character.isprintable() else " " for character in text)


_LIB: Final = r"""# Shared by the scripts of this kit. POSIX shell; nothing of it runs by itself.

say() { printf '%s %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*" >&2; }
fail() { say "$*"; exit 2; }

# Which cells are asked for: names of cells or of stations, or "all".
wanted() {
    [ "$#" -gt 0 ] || fail "Say what to run: all, a station (see README.md) or the names of cells."
    asked=" $* "
    ran=0
}

asks_for() {
    case $asked in *" all "* | *" $1 "* | *" $2 "*) ran=$((ran + 1)) ;; *) return 1 ;; esac
}

finish() { [ "$ran" -gt 0 ] || fail "This plan has no cell or station of that name:$asked"; }

# Every address comes from the environment, none from this kit.
check_environment() {
    if [ -n "$host_property" ]; then
        [ -n "${HOST:-}" ] || fail "Set HOST to the server's name or address."
        case $HOST in *[!A-Za-z0-9.,:_-]*) fail "HOST holds a character that no host has." ;; esac
    elif [ -z "${EXTRA_PROPERTIES:-}" ]; then
        fail "Set EXTRA_PROPERTIES to a property file with the address that this client needs."
    fi
    case ${PORT:-0} in *[!0-9]*) fail "PORT must be a number." ;; esac
    if [ -n "${EXTRA_PROPERTIES:-}" ]; then
        [ -r "$EXTRA_PROPERTIES" ] || fail "EXTRA_PROPERTIES names no file that can be read."
    fi
    if [ -n "${BENCHSITE_JARS:-}" ] && [ -n "$java_class" ]; then
        [ -d "$BENCHSITE_JARS" ] || fail "BENCHSITE_JARS names no folder."
    elif [ -n "${YCSB_HOME:-}" ] && [ -n "$stock_binding" ]; then
        [ -x "$YCSB_HOME/bin/ycsb.sh" ] || fail "There is no bin/ycsb.sh in YCSB_HOME."
    elif [ -n "$java_class" ] && [ -z "$stock_binding" ]; then
        fail "Set BENCHSITE_JARS to the folder with the jars of Benchsite's binding: this mode needs it."
    else
        fail "Set YCSB_HOME to a YCSB 0.17.0${java_class:+, or BENCHSITE_JARS to the jars of Benchsite's binding}."
    fi
}

station() {
    station=$1 host_property=$2 port_property=$3 default_port=$4 password_property=$5 java_class=$6 stock_binding=$7
}

# One line of a property file.
property() {
    case $2 in *"
"*) fail "A property must not have line breaks: $1" ;; esac
    printf '%s=%s\n' "$1" "$(printf '%s' "$2" | sed 's/\\/\\\\/g')"
}

empty_database() {
    [ -n "${EMPTY_DATABASE:-}" ] || fail "Set EMPTY_DATABASE to a command that empties the database (see README.md)," \
        "or to true where it is empty."
    CELL=$1 HOST=${HOST:-} PORT=${PORT:-$2} sh -c "$EMPTY_DATABASE" >&2 || fail "EMPTY_DATABASE failed before $1."
}

wait_for_start() {
    [ -n "${START_AT:-}" ] || return 0
    case $START_AT in *[!0-9]*) fail "START_AT must be seconds since 1970." ;; esac
    while [ "$(date +%s)" -lt "$START_AT" ]; do sleep 0.1; done
    START_AT=
}

# One client of one planned run. Its outputs are named by cell and client, and never written over.
cell() {
    name=$1 phase=$2 threads=$3 target=$4 records=$5
    asks_for "$name" "$station" || return 0
    check_environment
    mkdir -p "${OUTPUTS:-outputs}"
    base=$(cd -- "${OUTPUTS:-outputs}" && pwd)/$name.$client
    [ ! -e "$base.summary.txt" ] || fail "$base.summary.txt is there: move this cell's outputs away to run it again."
    if [ "$phase" = load ] && [ "$client" = client-1 ]; then empty_database "$name" "$default_port"; fi
    private=$(mktemp)
    chmod 600 "$private"
    trap 'rm -f "$private"' EXIT
    trap 'exit 130' INT TERM HUP
    cat "properties/$name.$client.properties" >"$private"
    {
        if [ -n "${EXTRA_PROPERTIES:-}" ]; then cat "$EXTRA_PROPERTIES"; echo; fi
        if [ -n "$host_property" ]; then property "$host_property" "$HOST"; fi
        if [ -n "$port_property" ]; then property "$port_property" "${PORT:-$default_port}"; fi
        if [ -n "$password_property" ] && [ -n "${PASSWORD:-}" ]; then property "$password_property" "$PASSWORD"; fi
        property exportfile "$base.summary.txt"
        property hdrhistogram.output.path "$base."
    } >>"$private"
    set -- -s -P "$private" -threads "$threads"
    if [ -n "$target" ]; then set -- "$@" -target "$target"; fi
    wait_for_start
    say "$name $client: $phase with $threads threads"
    code=0
    if [ -n "${BENCHSITE_JARS:-}" ] && [ -n "$java_class" ]; then
        if [ "$phase" = load ]; then set -- -load "$@"; else set -- -t "$@"; fi
        "${JAVA:-java}" @JAVA_FLAGS@ -cp "$BENCHSITE_JARS/*" @MAIN_CLASS@ "$@" -db "$java_class" \
            >"$base.stdout.txt" 2>"$base.status.txt" || code=$?
    else
        if [ "$phase" = load ]; then verb=load; else verb=run; fi
        JAVA_OPTS="${JAVA_OPTS:-} @JAVA_FLAGS@" "$YCSB_HOME/bin/ycsb.sh" "$verb" "$stock_binding" "$@" \
            >"$base.stdout.txt" 2>"$base.status.txt" || code=$?
    fi
    rm -f "$private"
    [ -s "$base.summary.txt" ] || fail "$name $client ended with $code and left no summary: see $base.status.txt"
    if [ "$phase" = load ]; then
        loaded=$(sed -n 's/^\[INSERT\], Return=OK, //p' "$base.summary.txt")
        say "$name $client: ${loaded:-0} of $records records were inserted"
        [ "${loaded:-0}" = "$records" ] || fail "$name $client: records are missing, so measure nothing over them."
    fi
}

# All clients of one cell on this machine; several begin at the same second.
together() {
    name=$1 station=$2 phase=$3 count=$4
    asks_for "$name" "$station" || return 0
    if [ "$phase" = load ]; then empty_database "$name" ""; fi
    START_AT=
    if [ "$count" -gt 1 ]; then START_AT=$(($(date +%s) + 2)); fi
    number=1 pids= failed=
    while [ "$number" -le "$count" ]; do
        EMPTY_DATABASE=true START_AT=$START_AT "./client-$number.sh" "$name" &
        pids="$pids $!" number=$((number + 1))
    done
    for pid in $pids; do wait "$pid" || failed=yes; done
    [ -z "$failed" ] || fail "$name failed: what follows it was not run."
}
"""
