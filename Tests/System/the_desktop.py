"""The sheet on sway, which has the console of the person's session: seen, typed into, and out of reach of the person's programs."""

import json
import shlex

import two_users
from checks import Checks, expect, expect_equal
from machine import Machine
from the_attacks import as_person
from the_package import HELPER_SOCKETS
from the_place import PLACE, SEAT, active, type_there
from two_users import ADA, PASSCODES

PROGRAMS = "/usr/local/libexec/system-test"
ACCOUNT = "ostiary-sheet"
SCREEN = "1024x768"
#: A screen in memory. The input devices have sway take the console from logind, as with a graphics card.
VARIABLES = (
    "XDG_SESSION_TYPE=wayland LIBSEAT_BACKEND=logind WLR_BACKENDS=headless,libinput WLR_LIBINPUT_NO_DEVICES=1 WLR_RENDERER=pixman"
)
SWAY = (
    f"systemd-run --quiet --unit=desktop --uid={ADA} -p PAMName=login -p TTYPath=/dev/tty{SEAT} -p StandardInput=tty "
    + " ".join(f"-p Environment={each}" for each in VARIABLES.split())
    + f" sway -c {PROGRAMS}/desktop.config"
)
HOME = f"/home/{ADA}"
SIGNATURE = f"{HOME}/desktop.sig"
FILES = "/tmp/desktop"
#: What the person's programs get of the sheet's process.
OUT_OF_REACH = dict.fromkeys(("signal", "stop", "kill", "process_vm_readv", "seize", "pidfd_getfd"), "EPERM") | dict.fromkeys(
    ("mem", "maps", "environ", "auxv", "change-mem", "fd", "root"), "EACCES"
)
#: Letters have edges of many colours. An empty window has few.
LEAST_COLORS = 30
SWITCH = "busctl --no-pager call org.freedesktop.login1 /org/freedesktop/login1/seat/seat0 org.freedesktop.login1.Seat SwitchTo u"


def play(checks: Checks, machine: Machine, short: bool) -> None:
    two_users.begin(checks, machine)
    root, ada = machine.root, machine.person
    with checks.part("The sheet on a desktop", machine):
        with checks.check("a compositor of the person has the console of its session"):
            ada.typed("ostiary right create window --require passcode && ostiary right public-key window --output window.pem")
            start(machine)
            expect_equal(root.output(f"{PROGRAMS}/console-modes {SEAT}"), "graphics decided")
            # Its libraries are read once, so that the first sheet is there in time.
            said = root.output(f"{PROGRAMS}/greet-helper {HELPER_SOCKETS}/sheet.socket")
            expect(" 01 " in said, said)
        with checks.check("for a program without a terminal the sheet shows, under its own account and behind its profile"):
            ask(machine, "window")
            number = root.output("pgrep -x ostiary-sheet")
            expect_equal(root.output(f"ps -o user= -p {number}"), ACCOUNT)
            expect_equal(root.output(f"cat /proc/{number}/attr/apparmor/current"), f"{ACCOUNT} (enforce)")
            see(machine)
        with checks.check("the person's programs neither signal nor read nor trace it"):
            said = in_session(machine, f"{PROGRAMS}/reach-process {number}")
            expect_equal(dict(line.split(": ") for line in said.splitlines()), OUT_OF_REACH)
        with checks.check("what is typed there is the answer, and OpenSSL accepts the signature"):
            type_on_keyboard(machine, PASSCODES[ADA].strip())
            expect_end(machine, 0)
            ada.typed("openssl dgst -sha256 -verify window.pem -signature desktop.sig challenge.bin")
            root.wait_for("! pgrep -x ostiary-sheet", 10)
    with checks.part("The trusted place beside a compositor", machine):
        from_a_compositor(checks, machine)
    with checks.part("The end of a desktop", machine):
        with checks.check("the compositor's end takes the question away, and nothing is signed"):
            ask(machine, "window")
            root.output("pkill -KILL -x sway")
            root.wait_for("! pgrep -x ostiary-sheet", 10)
            expect(root.wait_for(f"cat {FILES}.ask.ended", 60) != "0", "the command succeeded")
            expect(root.run(f"test -e {SIGNATURE}")[0] != 0, "there is a signature")
        root.run(f"systemctl stop desktop.service; systemctl reset-failed desktop.service; rm -rf {FILES}*")


def start(machine: Machine) -> None:
    # Sessions of earlier parts end a moment after their programs.
    machine.root.wait_for("! loginctl list-sessions --no-legend | grep -w seat0", 30)
    machine.root.output(f"rm -rf {FILES}* && {SWAY}")
    machine.root.wait_for(f"ls /run/user/$(id -u {ADA})/sway-ipc.*.sock", 60)
    machine.root.wait_for(sway("-t get_outputs | grep -q HEADLESS-1"), 60)


def sway(words: str) -> str:
    return as_person(ADA, f"bash -c {shlex.quote(f'SWAYSOCK=$(ls $XDG_RUNTIME_DIR/sway-ipc.*.sock) swaymsg {words}')}")


def begin_in_session(machine: Machine, name: str, command: str) -> None:
    """As a program that the compositor starts, which has no terminal."""
    machine.root.output(f"rm -f {FILES}.{name}*")
    machine.root.output(sway(shlex.quote(f"exec {PROGRAMS}/tell-end {FILES}.{name} {command}")))


def in_session(machine: Machine, command: str, status: int = 0) -> str:
    """What a command prints; fails unless it exits with the status."""
    begin_in_session(machine, "command", command)
    actual = machine.root.wait_for(f"cat {FILES}.command.ended")
    said = machine.root.output(f"cat {FILES}.command")
    expect(actual == str(status), f"{command}: exit {actual} instead of {status}: {said}")
    return said


def begin_to_sign(machine: Machine, right: str) -> None:
    machine.root.output(f"rm -f {SIGNATURE}")
    begin_in_session(machine, "ask", f"ostiary right sign {right} {HOME}/challenge.bin --output {SIGNATURE} --force")


def ask(machine: Machine, right: str) -> None:
    """Until the sheet is there."""
    begin_to_sign(machine, right)
    machine.root.wait_for(f"test -e {FILES}.ask.ended || {sway('-r -t get_tree')} | grep -q ostiary-sheet", 60)
    expect(machine.root.run(f"cat {FILES}.ask.ended")[0] != 0, machine.root.run(f"cat {FILES}.ask")[1])


def expect_end(machine: Machine, status: int) -> None:
    ended = machine.root.wait_for(f"cat {FILES}.ask.ended", 60)
    expect(ended == str(status), f"exit {ended} instead of {status}: {machine.root.run(f'cat {FILES}.ask')[1]}")


def windows(node: dict) -> list[dict]:
    inside = [window for each in node["nodes"] + node["floating_nodes"] for window in windows(each)]
    return inside + ([node] if node.get("app_id") else [])


def see(machine: Machine) -> None:
    """One window, which is shown, and letters in it."""
    root = machine.root
    (sheet,) = windows(json.loads(root.output(sway("-r -t get_tree"))))
    expect_equal((sheet["app_id"], sheet["visible"]), ("ostiary-sheet", True))
    place = sheet["rect"]
    in_session(machine, f'grim -t ppm -g "{place["x"]},{place["y"]} {place["width"]}x{place["height"]}" {FILES}.ppm')
    pixels = 3 * place["width"] * place["height"]
    colors = root.output(f"python3 -c \"d = open('{FILES}.ppm', 'rb').read()[-{pixels}:]; print(len(set(zip(d[::3], d[1::3], d[2::3]))))\"")
    expect(int(colors) >= LEAST_COLORS, f"the window has {colors} colours")


def type_on_keyboard(machine: Machine, text: str) -> None:
    """As the person, by the compositor. A window drops keys that come before it has read the keyboard's layout."""
    in_session(machine, f'wtype -s 1000 -d 50 "{text}" -k Return')


def from_a_compositor(checks: Checks, machine: Machine) -> None:
    root, ada = machine.root, machine.person
    session = "loginctl show-session -p Active --value $(loginctl list-sessions --no-legend | awk '$4 == \"seat0\" { print $1 }')"
    with checks.check("the console comes while a compositor has the screen, and its session is in the background"):
        ada.typed("ostiary right create place --require 'passcode at trusted place' && ostiary right public-key place --output place.pem")
        expect_equal(root.output(session), "yes")
        begin_to_sign(machine, "place")
        root.wait_for(f"test -e {FILES}.ask.ended || grep -aq Passcode: /dev/vcs{PLACE}", 60)
        expect_equal((active(machine), root.output(session)), (f"tty{PLACE}", "no"))
        expect_equal(root.output(f"{PROGRAMS}/console-modes {PLACE}"), "text free")
    with checks.check("keys of the session's programs do not get there"):
        type_on_keyboard(machine, "typed by a program")
        expect(root.run(f"test -e {FILES}.ask.ended")[0] != 0, "the question ended")
    with checks.check("the person's answer counts, and the compositor has the screen again and goes on"):
        type_there(machine, "Passcode:", PASSCODES[ADA])
        expect_end(machine, 0)
        ada.typed("openssl dgst -sha256 -verify place.pem -signature desktop.sig challenge.bin")
        root.wait_for(f"test $(cat /sys/class/tty/tty0/active) = tty{SEAT}", 10)
        root.wait_for(f"test $({session}) = yes", 10)
        expect_equal(root.output(f"{PROGRAMS}/console-modes {SEAT}"), "graphics decided")
        expect_equal(windows(json.loads(root.output(sway("-r -t get_tree")))), [])
    with checks.check("a program of the session switches back by way of logind: that ends the question, and nothing is signed"):
        begin_to_sign(machine, "place")
        root.wait_for(f"grep -aq Passcode: /dev/vcs{PLACE}", 60)
        in_session(machine, f"{SWITCH} {SEAT}")
        expect_end(machine, 3)
        expect_equal(active(machine), f"tty{SEAT}")
        expect(root.run(f"test -e {SIGNATURE}")[0] != 0, "there is a signature")
