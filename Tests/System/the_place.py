"""The trusted place: a console of Ostiary's own, where nothing of a person draws, reads or types, and the owner's sign stands."""

import contextlib

import two_users
from checks import Checks, expect, expect_equal
from machine import Machine
from the_attacks import as_person
from the_fingers import AT_SEAT
from two_users import ADA, PASSCODES

PROGRAMS = "/usr/local/libexec/system-test"
PLACE, SEAT = "8", "1"
VT_ACTIVATE = 0x5606
SIGN = "amber otter 47"
HOME = f"/home/{ADA}"
SIGNATURE = f"{HOME}/placed.sig"
USE = f"ostiary right sign placed {HOME}/challenge.bin --output {SIGNATURE} --force"
#: Everything that a program can read of a console, or write to it.
DEVICES = [f"/dev/{name}{PLACE}" for name in ("tty", "vcs", "vcsa", "vcsu")]
#: The names of processes that have the console or one of its pictures open.
HOLDERS = (
    "for each in /proc/[0-9]*; do ls -l $each/fd 2> /dev/null | grep -qE '/dev/(tty8|vcs)' && cat $each/comm; done | sort -u"
)


def play(checks: Checks, machine: Machine, short: bool) -> None:
    two_users.begin(checks, machine)
    root = machine.root
    with checks.part("The trusted place", machine):
        with checks.check("the person sets a sign there"):
            with at_seat(machine, "ostiary passcode sign", status=0):
                type_there(machine, "Passcode:", PASSCODES[ADA])
                type_there(machine, "New sign:", SIGN + "\n")
            expect_away(machine)
        # Behind it a question is answered: after three without an answer in a row there is a pause.
        with checks.check("a program that lets the screen go to no other console keeps it, is told why, and nothing is signed"):
            machine.person.typed("ostiary right create placed --require 'passcode at trusted place'")
            machine.person.typed("ostiary right public-key placed --output placed.pem")
            with at_seat(machine, f"{PROGRAMS}/hold-console {USE}", status=3):
                pass
            said = root.output("cat /run/at-seat")
            expect("did not come to the screen" in said, said)
            expect_away(machine)
            expect_unsigned(machine)
        with checks.check("a rule has its question there, with the sign, and OpenSSL accepts the signature"):
            with at_seat(machine, USE, status=0):
                wait_for_question(machine)
                look(machine)
                type_there(machine, "Passcode:", PASSCODES[ADA])
            machine.person.typed("openssl dgst -sha256 -verify placed.pem -signature placed.sig challenge.bin")
        with checks.check("then the screen before comes back, and the sign is nowhere"):
            expect_away(machine)
            log = root.output(f"{as_person(ADA, 'ostiary log --last 20')}; ostiary admin log; journalctl --no-pager")
            shown = machine.person.transcript + root.output(f"cat /dev/vcs{SEAT} /run/at-seat") + log
            expect(SIGN not in shown, "the sign is shown elsewhere")
        with checks.check("a program elsewhere is not asked about there, and signs nothing"):
            screen = machine.person.typed(f"rm -f {SIGNATURE}; {USE}", status=3)
            expect("trusted place" in screen, screen)
            expect_unsigned(machine)
        for words, (end, status) in ENDS.items():
            with checks.check(f"{words} the screen before comes back, without the sign, and nothing is signed"):
                with at_seat(machine, USE, status):
                    wait_for_question(machine)
                    end(machine)
                expect_away(machine)
                expect_unsigned(machine)
        root.output("rm -f /run/at-seat")


def kill_prompt(machine: Machine) -> None:
    machine.root.output("kill -KILL $(pgrep -x ostiary-prompt)")


def kill_daemon(machine: Machine) -> None:
    machine.root.output("kill -KILL $(pgrep -x ostiaryd)")


def switch_away(machine: Machine) -> None:
    """As by Ctrl-Alt-F1. Of the person's programs only one of the session at the seat may do it too (the_desktop.py)."""
    sessions = "loginctl list-sessions --no-legend | awk '$5 == \"tty1\" { print $1 }'"
    expect(machine.root.run(as_person(ADA, f"loginctl --no-ask-password activate $({sessions})"))[0] != 0, "a program may switch")
    machine.root.output(f"python3 -c \"import fcntl; fcntl.ioctl(open('/dev/tty0'), {VT_ACTIVATE}, {SEAT})\"")


#: What ends a question, and the status of the command that asked.
ENDS = {
    "after kill -9": (kill_prompt, 3),
    "when the daemon is killed": (kill_daemon, 1),
    "when somebody switches away": (switch_away, 3),
}


@contextlib.contextmanager
def at_seat(machine: Machine, command: str, status: int):
    """While a command of the person runs at the machine's screen; afterwards it has ended with this status."""
    root = machine.root
    root.output(f"rm -f /run/ended {SIGNATURE}")
    root.output(f"({AT_SEAT} {command}; echo $? > /run/ended) > /dev/null 2>&1 &")
    yield
    root.wait_for("test -s /run/ended", 120)
    ended = root.output("cat /run/ended")
    expect(ended == str(status), f"exit {ended} instead of {status}: {root.run('cat /run/at-seat')[1]}")


def type_there(machine: Machine, prompt: str, text: str) -> None:
    machine.root.output(f"timeout 120 {PROGRAMS}/type-at-seat {prompt!r} $'{text.strip()}\\n' {PLACE}", 150)


def wait_for_question(machine: Machine) -> None:
    machine.root.wait_for(f"grep -aq Passcode: /dev/vcs{PLACE}")


def look(machine: Machine) -> None:
    """While the question is up."""
    root = machine.root
    expect_equal(active(machine), f"tty{PLACE}")
    screen = root.output(f"cat /dev/vcs{PLACE}")
    expect(SIGN in screen and "placed" in screen and ADA in screen, screen)
    expect(SIGN not in root.output(f"cat /dev/vcs{SEAT}"), "the sign is on the other console")
    expect_equal(root.run(HOLDERS)[1], "ostiary-prompt")
    for device in DEVICES:
        root.output(f"test -c {device}")
        for direction in ("<", ">"):
            status, said = root.run(as_person(ADA, f"bash -c ': {direction} {device}'"))
            expect(status != 0 and "Permission denied" in said, f"{direction} {device}: {said}")


def active(machine: Machine) -> str:
    return machine.root.output("cat /sys/class/tty/tty0/active")


def expect_away(machine: Machine) -> None:
    machine.root.wait_for(f"test $(cat /sys/class/tty/tty0/active) = tty{SEAT}", 10)
    expect(machine.root.run(f"grep -a '{SIGN}' /dev/vcs{PLACE} 2> /dev/null")[0] != 0, "the sign is still there")


def expect_unsigned(machine: Machine) -> None:
    expect(machine.root.run(f"test -e {SIGNATURE}")[0] != 0, "there is a signature")
