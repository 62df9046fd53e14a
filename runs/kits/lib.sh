# Shared by the scripts of this kit. POSIX shell; nothing of it runs by itself.

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
