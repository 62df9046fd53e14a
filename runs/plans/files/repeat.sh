set -euo pipefail

say() { printf '%s %s\n' "$(date -u +%FT%TZ)" "$*" >&2; }
fail() { say "$*"; exit 2; }

wanted=" $* " ran= outputs=${OUTPUTS:-outputs}
[ $# -gt 0 ] || fail "Name what to run: servers, all, a station or a cell. The head of this script lists the stations."
trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM

# A database in one durability mode, with the names by which its client takes an address.
station() {
    station=$1 host_property=$2 port_property=$3 default_port=$4 password_property=$5 java_class=$6 stock_binding=$7
}

# A file that this station's server or loads need, from standard input. One that exists stays as it is.
file() {
    mkdir -p "servers/$station"
    [ -e "servers/$station/$1" ] || cat >"servers/$station/$1"
}

# The properties that the following cells share, from standard input.
workload() { shared=$(cat); }

# One planned run: name, phase, and for each client the properties that it has beside the shared ones. Those of client
# groups begin with "#group=NAME" and "#start=SECONDS", and have all properties that they need.
cell() {
    cell=$1 phase=$2
    shift 2
    case $wanted in *" all "* | *" $station "* | *" $cell "*) ran=yes ;; *) return 0 ;; esac
    check_environment
    mkdir -p "$outputs"
    if [ "$phase" = load ] && [ "${CLIENT:-1}" = 1 ]; then
        [ -n "${EMPTY_DATABASE:-}" ] || fail "Set EMPTY_DATABASE to a command that empties the database; true if it is empty."
        prepare "$EMPTY_DATABASE"
    fi
    prepare "${BEFORE_CELL:-true}"
    local number=0 properties pid pids=() failed= start_at=${START_AT:-}
    if [ $# -gt 1 ] && [ -z "$start_at" ]; then start_at=$(($(date +%s) + 2)); fi
    START_AT=
    for properties in "$@"; do
        number=$((number + 1))
        [ "${CLIENT:-$number}" = "$number" ] || continue
        client "$number" "$properties" "$start_at" &
        pids+=($!)
    done
    for pid in ${pids[@]+"${pids[@]}"}; do wait "$pid" || failed=yes; done
    [ -z "$failed" ] || fail "$cell failed: what follows it was not run."
}

check_environment() {
    if [ -n "$host_property" ]; then
        [ -n "${HOST:-}" ] || fail "Set HOST to the server's name or address."
    else
        [ -r "${EXTRA_PROPERTIES:-}" ] || fail "Set EXTRA_PROPERTIES to a property file with the address of the server."
    fi
    if [ -n "${BENCHSITE_JARS:-}" ] && [ -n "$java_class" ]; then
        [ -d "$BENCHSITE_JARS" ] || fail "BENCHSITE_JARS is no folder."
    elif [ -n "${YCSB_HOME:-}" ] && [ -n "$stock_binding" ]; then
        [ -x "$YCSB_HOME/bin/ycsb.sh" ] || fail "YCSB_HOME has no bin/ycsb.sh."
    elif [ -n "$stock_binding" ]; then
        fail "Set YCSB_HOME to a YCSB 0.17.0${java_class:+, or BENCHSITE_JARS to the jars of a Benchsite binding}."
    else
        fail "Set BENCHSITE_JARS to the jars of Benchsite's binding: stock YCSB cannot run this station."
    fi
}

# A command of the environment, with what it may need to know.
prepare() {
    STATION=$station CELL=$cell PHASE=$phase PORT=${PORT:-$default_port} bash -c "$1" >&2 || fail "Before $cell failed: $1"
}

property() {
    [[ $2 != *$'\n'* ]] || fail "A property must not have line breaks: $1"
    printf '%s=%s\n' "$1" "${2//\\/\\\\}"
}

client() {
    local base="$outputs/$cell.client-$1" own="$shared"$'\n'"$2" start_at=$3 group file command flags code=0 loaded
    case $2 in
        "#group="*)
            group=${2#"#group="} own=$2
            base="$outputs/$cell.${group%%$'\n'*}.client-$1"
            group=${2#*"#start="}
            start_at=$((start_at + ${group%%$'\n'*}))
            ;;
    esac
    [ ! -e "$base.summary.txt" ] || fail "$base.summary.txt exists: move this cell's outputs away to run it again."
    file=$(mktemp)
    trap 'rm -f "$file"' EXIT
    {
        printf '%s\n' "$own"
        if [ -n "${EXTRA_PROPERTIES:-}" ]; then cat "$EXTRA_PROPERTIES"; echo; fi
        if [ -n "$host_property" ]; then property "$host_property" "$HOST"; fi
        if [ -n "$port_property" ]; then property "$port_property" "${PORT:-$default_port}"; fi
        if [ -n "$password_property" ] && [ -n "${PASSWORD:-}" ]; then property "$password_property" "$PASSWORD"; fi
        property exportfile "$base.summary.txt"
        property hdrhistogram.output.path "$base."
        case "$own" in *open.rate=*) property open.output "$base.arrivals.csv" ;; esac
    } >"$file"
    while [ -n "$start_at" ] && [ "$(date +%s)" -lt "$start_at" ]; do sleep 0.1; done
    say "$cell client-$1: $phase"
    flags=$run_flags
    if [ "$phase" = load ]; then flags=$load_flags; fi
    if [ -n "${BENCHSITE_JARS:-}" ] && [ -n "$java_class" ]; then
        command=("${JAVA:-java}" $flags -cp "$BENCHSITE_JARS/*" benchsite.Start)
        if [ "$phase" = load ]; then command+=(-load); else command+=(-t); fi
        command+=(-s -P "$file" -db "$java_class")
    else
        export JAVA_OPTS="${JAVA_OPTS:-} $flags"
        command=("$YCSB_HOME/bin/ycsb.sh" run "$stock_binding" -s -P "$file")
        if [ "$phase" = load ]; then command[1]=load; fi
    fi
    "${command[@]}" >"$base.stdout.txt" 2>"$base.status.txt" &
    trap 'kill $! 2>/dev/null' TERM
    wait $! || code=$?
    [ -s "$base.summary.txt" ] || fail "$cell client-$1 ended with $code and without a summary: see $base.status.txt"
    if [ "$phase" = load ]; then
        loaded=$(sed -n 's/^\[INSERT\], Return=OK, //p' "$base.summary.txt")
        say "$cell client-$1: inserted ${loaded:-0} records"
        grep -qx "insertcount=${loaded:-0}" "$file" || fail "$cell client-$1: records are missing."
    fi
}

