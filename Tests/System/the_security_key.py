"""A FIDO2 security key behind the kernel's own HID: software-authenticator at /dev/uhid, seen as /dev/hidraw0, with udev's rule
for the person at the seat. Ostiary uses no key for a person elsewhere, so the commands run at the seat."""

import contextlib

from checks import Checks, expect, expect_equal
from machine import Machine
from the_fingers import AT_SEAT
from the_person import NAME, PASSCODE, typed

PROGRAMS = "/usr/local/libexec/system-test"
SOCKET, COMMANDS, SAID = "/run/security-key.socket", "/run/security-key.commands", "/run/security-key.said"
HOME = f"/home/{NAME}"
SIGN = f"ostiary right sign keyed {HOME}/challenge.bin --output {HOME}/keyed.sig --force"
VERIFY = "openssl dgst -sha256 -verify keyed.pem -signature keyed.sig challenge.bin"
CLEAR = "printf '\\033[2J\\033[H' > /dev/tty1"
#: logind gives the device to the person a moment after the session began.
WHEN_GIVEN = "until test -w /dev/hidraw0; do sleep 0.4; done; "


def play(checks: Checks, machine: Machine) -> None:
    root = machine.root
    with checks.part("A security key", machine):
        with checks.check("the kernel and Debian's libfido2 know it when it is plugged in"):
            expect_equal(root.output("modprobe uhid; fido2-token -L"), "")
            root.output(f"mkfifo {COMMANDS}; {PROGRAMS}/software-authenticator {SOCKET} <> {COMMANDS} > {SAID} 2>&1 &")
            root.wait_for(f"test -S {SOCKET}")
            plug_in(machine)
            expect("/dev/hidraw0: vendor=0x1209" in root.output("fido2-token -L"), root.run("fido2-token -L")[1])
            expect("FIDO_2_" in root.output("fido2-token -I /dev/hidraw0"), "no answer from the key")
        with checks.check("udev gives it to the person at the seat, and to nobody else"):
            for name in (NAME, "eve"):
                expect(root.run(f"runuser -u {name} -- test -r /dev/hidraw0 -o -w /dev/hidraw0")[0] != 0, f"{name} may open it")
            at_seat(machine, f"{WHEN_GIVEN} test -r /dev/hidraw0")
        with checks.check("the person enrols it"):
            root.output(f"{PROGRAMS}/type-at-seat Passcode: $'{PASSCODE.strip()}\\n' > /run/typed 2>&1 &")
            at_seat(machine, f"{WHEN_GIVEN} ostiary security-key enroll blue")
            keys = machine.person.document("ostiary security-key list --json")["securityKeys"]
            expect_equal([(key["name"], key["strength"]) for key in keys], [("blue", "touch-only")])
        with checks.check("a touch opens a right, and OpenSSL accepts the signature"):
            typed(machine, "ostiary right create keyed --require security-key")
            typed(machine, "ostiary right public-key keyed --output keyed.pem")
            at_seat(machine, WHEN_GIVEN + SIGN)
            typed(machine, VERIFY)
        with checks.check("pulled out while it waits for the touch it opens nothing, until it is plugged in and touched"):
            tell(machine, "hold")
            waiting = int(root.output(f"grep -c waiting {SAID}"))
            with signing(machine, status=0, first=WHEN_GIVEN):
                root.wait_for(f"test $(grep -c waiting {SAID}) -gt {waiting}")
                pull_out(machine)
                root.wait_for("grep -q 'Insert your security key' /dev/vcs1")
                expect(root.run(f"test -e {HOME}/keyed.sig")[0] != 0, "there is a signature")
                tell(machine, "touch")
                plug_in(machine)
            typed(machine, VERIFY)
        with checks.check("without the key nothing is signed, and the person can end the question"):
            pull_out(machine)
            expect_equal(root.output("fido2-token -L"), "")
            with signing(machine, status=3):
                root.wait_for("grep -q 'Insert your security key' /dev/vcs1")
                root.output(f"{PROGRAMS}/type-at-seat '' $'\\x03'")
            expect(root.run(f"test -e {HOME}/keyed.sig")[0] != 0, "there is a signature")


def at_seat(machine: Machine, command: str) -> None:
    machine.root.output(CLEAR)
    status, _ = machine.root.run(f"{AT_SEAT} sh -c '{command}'", 180)
    expect(status == 0, f"exit {status}: {machine.root.run('cat /run/at-seat /dev/vcs1')[1]}")


@contextlib.contextmanager
def signing(machine: Machine, status: int, first: str = ""):
    """While the person at the seat signs; afterwards the command has ended with this status."""
    root = machine.root
    root.output(f"rm -f {HOME}/keyed.sig /run/signed; {CLEAR}")
    root.output(f"({AT_SEAT} sh -c '{first} {SIGN}'; echo $? > /run/signed) > /dev/null 2>&1 &")
    yield
    root.wait_for("test -s /run/signed", 120)
    expect_equal(root.output("cat /run/signed"), str(status))


def plug_in(machine: Machine) -> None:
    machine.root.output(f"{PROGRAMS}/plug-in-key {SOCKET} > /run/plug-in-key.said 2>&1 &")
    machine.root.wait_for("test -c /dev/hidraw0 && udevadm settle")


def pull_out(machine: Machine) -> None:
    machine.root.output("pkill -f plug-in-key")
    machine.root.wait_for("test ! -e /dev/hidraw0")


def tell(machine: Machine, command: str) -> None:
    """What the key's user does from now on: `touch` at once, or `hold` still."""
    machine.root.output(f"echo {command} > {COMMANDS}")
