# shellcheck shell=bash
# Sourced by the scripts beside it, in the folder of the repository: a daemon of its own, with the doors of the last debug build in
# $stage/bin, registered. It ends with the script.
built="$PWD/.build/debug"
stage="$(mktemp -d)"
export XDG_RUNTIME_DIR="$stage/run" XDG_STATE_HOME="$stage/state"
mkdir -m 700 "$stage/run" "$stage/state" "$stage/bin"
stage_daemon=
trap '[ -z "$stage_daemon" ] || kill "$stage_daemon" || true; rm -rf "$stage"' EXIT

# lacks WORDS: says what this machine lacks, and ends with the status of a test that was not run.
lacks() {
    echo "$(basename "$0"): $*" >&2
    exit 77
}

for program in ostiary ostiaryd; do [ -x "$built/$program" ] || lacks "there is no $built/$program; run script/test end-to-end before"; done
for program in ostiary ostiary-ssh-agent ostiary-credential-helper ostiary-credentials ostiary-secrets ostiary-pkcs11d age-plugin-ostiary; do
    [ ! -x "$built/$program" ] || cp "$built/$program" "$stage/bin/"
done
for name in git-credential-ostiary docker-credential-ostiary; do ln -s ostiary-credential-helper "$stage/bin/$name"; done
PATH="$stage/bin:$PATH"

start_daemon() {
    "$built/ostiaryd" --runtime-directory "$XDG_RUNTIME_DIR/ostiary" --state-directory "$XDG_STATE_HOME/ostiary" 2>> "$stage/log" &
    stage_daemon=$!
    for _ in $(seq 1200); do [ ! -S "$XDG_RUNTIME_DIR/ostiary/ostiaryd.socket" ] || break; sleep 0.05; done
}
start_daemon

# answered ANSWER COMMAND...: runs a command on a terminal, and types the answer whenever it is asked. $stage/screen has what it showed,
# and $stage/asked how often it was asked.
answered() {
    python3 - "$stage" "$@" << 'PYTHON'
import os, pty, select, sys, termios
stage, answer, command = sys.argv[1], sys.argv[2], sys.argv[3:]
process, terminal = pty.fork()
if process == 0:
    os.execvp(command[0], command)
screen, count = b"", 0
while True:
    # A prompt that hides what is typed throws away what was typed before it.
    if not select.select([terminal], [], [], 0.15)[0]:
        ready = screen.endswith(b"asscode: ") and not termios.tcgetattr(terminal)[3] & termios.ECHO
        if ready or screen.endswith(b"Type yes to go on: "):
            os.write(terminal, answer.encode() + b"\n")
            screen, count = screen + b"\n", count + 1
        continue
    try:
        part = os.read(terminal, 4096)
    except OSError:
        break
    if not part:
        break
    screen += part
with open(stage + "/screen", "wb") as file:
    file.write(screen)
with open(stage + "/asked", "w") as file:
    print(count, file=file)
status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
if status != 0:
    sys.stderr.write(screen.decode(errors="replace"))
sys.exit(status if 0 <= status < 256 else 1)
PYTHON
}
answered yes ostiary doors register

# source_package NAME [RELEASE]: the folder with the sources of a package of Debian, of this machine's release or another one, fetched once.
# Nothing of the machine's own lists changes.
source_package() {
    local doors="$PWD/.build/doors" found
    local folder="$doors/$1${2:+-$2}" lists="$doors/lists${2:+-$2}"
    if ! compgen -G "$folder/*/" > /dev/null; then
        mkdir -p "$folder" "$lists/partial"
        # Beside the folder of the lists: apt-get removes from that what it does not know.
        local sources="$doors/sources${2:+-$2}.list"
        # shellcheck disable=SC1091 # The machine's.
        echo "deb-src http://deb.debian.org/debian ${2:-$(. /etc/os-release && echo "$VERSION_CODENAME")} main" > "$sources"
        local options=(-o "Dir::Etc::sourcelist=$sources" -o Dir::Etc::sourceparts=/nonexistent -o "Dir::State::lists=$lists")
        apt-get "${options[@]}" update > /dev/null || lacks "the list of Debian's sources cannot be had"
        (cd "$folder" && apt-get "${options[@]}" source "$1" > /dev/null) || lacks "the sources of $1 cannot be had"
    fi
    found=("$folder"/*/)
    echo "${found[0]%/}"
}
