# shellcheck shell=bash
# Sourced behind stage.sh by the scripts for ostiary-secrets: the store has a passcode and is open, and there is a bus of the session of its
# own. Sets passcode.
for program in dbus-daemon dbus-send; do
    command -v "$program" > /dev/null || lacks "$program is not installed (dbus-daemon, dbus-bin)"
done
[ -x "$stage/bin/ostiary-secrets" ] || lacks "ostiary-secrets is not built"
passcode="correct horse 9"
answered "$passcode" ostiary passcode set
answered "$passcode" ostiary unlock

stage_bus='' stage_service='' stage_display=''
end_secrets() {
    local process
    for process in $stage_service $stage_display $stage_bus; do kill "$process" 2> /dev/null || true; done
}
trap 'end_secrets; [ -z "$stage_daemon" ] || kill "$stage_daemon" || true; rm -rf "$stage"' EXIT

export DBUS_SESSION_BUS_ADDRESS="unix:path=$stage/run/bus"
# Nothing of the machine is to be started by it.
cat > "$stage/bus.conf" << CONFIGURATION
<busconfig>
  <type>session</type>
  <listen>$DBUS_SESSION_BUS_ADDRESS</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/> <allow eavesdrop="true"/> <allow own="*"/>
  </policy>
</busconfig>
CONFIGURATION
dbus-daemon --config-file="$stage/bus.conf" --nofork --nopidfile 2> "$stage/bus.log" &
stage_bus=$!

has_name() {
    dbus-send --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.NameHasOwner string:org.freedesktop.secrets 2> "$stage/reply" \
        | grep -q 'boolean true'
}

# awaited COMMAND...: waits until it succeeds, for a minute at most.
awaited() {
    for _ in $(seq 600); do
        ! "$@" || return 0
        sleep 0.1
    done
    echo "$(basename "$0"): waited for a minute: $*" >&2
    return 1
}
awaited test -S "$stage/run/bus"

# start_service: ostiary-secrets, as the bus of a session starts it.
start_service() {
    ostiary-secrets < /dev/null 2>> "$stage/log" &
    stage_service=$!
    awaited has_name
}

# end_service: and waits for its end.
end_service() {
    kill "$stage_service"
    wait "$stage_service" || true
    stage_service=''
}

# lock_store: ends the daemon the hard way, and starts another one, whose store is locked as after each start.
lock_store() {
    kill -KILL "$stage_daemon"
    wait "$stage_daemon" 2> /dev/null || true
    rm -f "$XDG_RUNTIME_DIR/ostiary/ostiaryd.socket"
    start_daemon
}

# expect WORDS COMMAND...: a step of a script's own. The command has to succeed.
steps=0
expect() {
    if "${@:2}"; then
        echo "ok     $1"
        steps=$((steps + 1))
    else
        echo "FAILED $1" >&2
        [ ! -s "$stage/screen" ] || tail -n 20 "$stage/screen" >&2
        tail -n 20 "$stage/log" >&2
        exit 1
    fi
}

# asks COUNT TEXT COMMAND...: whether a command asks that often, with the passcode as the answer, shows the text, and succeeds.
asks() {
    answered "$passcode" "${@:3}" || return 1
    [ "$(cat "$stage/asked")" = "$1" ] || {
        echo "asked $(cat "$stage/asked") times, and not $1" >&2
        return 1
    }
    [ -z "$2" ] || grep -qF -- "$2" "$stage/screen"
}

# says TEXT COMMAND...: whether a command says the text, and nothing else, and succeeds.
says() {
    local said
    said="$("${@:2}" < /dev/null)" && [ "$said" = "$1" ]
}

# refuses STATUS COMMAND...: whether a command says nothing on its standard output, and ends with the status.
refuses() {
    local status=0 said
    said="$("${@:2}" < /dev/null 2> "$stage/errors")" || status=$?
    [ "$status" = "$1" ] && [ -z "$said" ]
}

secretstorage_version=3.5.0 keyring_version=25.7.0

# python_of_doors: the path of a Python with what the suites in Python need: PyPI's SecretStorage and keyring, and Debian's bindings of libsecret.
python_of_doors() {
    local folder="$PWD/.build/doors/python-$secretstorage_version-$keyring_version"
    if ! "$folder/bin/python3" -c 'import jeepney, secretstorage, keyring, pytest' 2> /dev/null; then
        /usr/bin/python3 -c 'import ensurepip' 2> /dev/null || lacks "python3-venv is not installed"
        /usr/bin/python3 -m venv --clear --system-site-packages "$folder" >&2
        "$folder/bin/python3" -m pip install --quiet --disable-pip-version-check \
            "SecretStorage==$secretstorage_version" "keyring==$keyring_version" 'pytest>=8.2,<9' >&2 \
            || lacks "SecretStorage, keyring and pytest cannot be had of PyPI"
    fi
    echo "$folder/bin/python3"
}

# source_of_pypi NAME VERSION: the folder with the sources of a package of PyPI, with its tests, fetched once.
source_of_pypi() {
    local folder="$PWD/.build/doors/$1-$2" found
    if ! compgen -G "$folder/*/" > /dev/null; then
        mkdir -p "$folder"
        "$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary "$1" --dest "$folder" "$1==$2" >&2 \
            || lacks "the sources of $1 cannot be had of PyPI"
        tar -xzf "$folder"/*.tar.gz -C "$folder"
    fi
    found=("$folder"/*/)
    echo "${found[0]%/}"
}

# stand_in FIXTURE: a script that starts our service with the objects of libsecret's played one (renamed_secrets.py).
stand_in() {
    cat > "$stage/stand-in-$1" << WRAPPER
import os
os.execv("$python", ["$python", "-B", "$PWD/script/doors/renamed_secrets.py", "$stage/bin/ostiary-secrets", "mock-service-$1.py"])
WRAPPER
    echo "$stage/stand-in-$1"
}
