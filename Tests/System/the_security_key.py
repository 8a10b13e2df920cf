"""A FIDO2 security key behind the kernel's own HID: software-authenticator at /dev/uhid, seen as /dev/hidraw0, with udev's rule
for the person at the seat."""

import time

from checks import Checks, expect, expect_equal
from machine import Machine
from the_fingers import AT_SEAT
from the_person import ASKED, NAME, typed

PROGRAMS = "/usr/local/libexec/system-test"
SOCKET, COMMANDS = "/run/security-key.socket", "/run/security-key.commands"
SIGN = "ostiary right sign keyed challenge.bin --output keyed.sig"
VERIFY = "openssl dgst -sha256 -verify keyed.pem -signature keyed.sig challenge.bin"


def play(checks: Checks, machine: Machine) -> None:
    root = machine.root
    with checks.part("A security key", machine):
        with checks.check("the kernel and Debian's libfido2 know it when it is plugged in"):
            expect_equal(root.output("modprobe uhid; fido2-token -L"), "")
            root.output(f"mkfifo {COMMANDS}; {PROGRAMS}/software-authenticator {SOCKET} <> {COMMANDS} > /run/security-key.log 2>&1 &")
            root.wait_for(f"test -S {SOCKET}")
            plug_in(machine)
            expect("/dev/hidraw0: vendor=0x1209" in root.output("fido2-token -L"), root.run("fido2-token -L")[1])
            expect("FIDO_2_" in root.output("fido2-token -I /dev/hidraw0"), "no answer from the key")
        with checks.check("udev gives it to the person at the seat, and to nobody else"):
            expect(not may_open(machine, NAME), "it is open to a person at a serial port")
            root.output(f"({AT_SEAT} sleep 600 &)")
            root.wait_for(f"runuser -u {NAME} -- test -w /dev/hidraw0")
            expect(not may_open(machine, "eve"), "it is open to all")
        with checks.check("the person enrols it"):
            typed(machine, "ostiary security-key enroll blue", ASKED, within=120)
            keys = machine.person.document("ostiary security-key list --json")["securityKeys"]
            expect_equal([(key["name"], key["strength"]) for key in keys], [("blue", "touch-only")])
        with checks.check("a touch opens a right, and OpenSSL accepts the signature"):
            typed(machine, "ostiary right create keyed --require security-key")
            typed(machine, "ostiary right public-key keyed --output keyed.pem")
            typed(machine, SIGN, within=120)
            typed(machine, VERIFY)
        with checks.check("a key that is pulled out while it waits for the touch opens nothing, until it is plugged in and touched"):
            typed(machine, "rm keyed.sig")
            tell(machine, "hold")
            waiting = count_waiting(machine)
            begin_to_sign(machine)
            root.wait_for(f"test $(grep -c waiting /run/security-key.log) -gt {waiting}", 60)
            pull_out(machine)
            time.sleep(1)
            expect(root.run(f"test -e /home/{NAME}/keyed.sig")[0] != 0, "there is a signature")
            tell(machine, "touch")
            plug_in(machine)
            machine.person.expect(r"status=0\n", 120)
            machine.person.expect(machine.person.prompt + "$", 30)
            typed(machine, VERIFY)
        with checks.check("without the key nothing is signed, and the person can end the question"):
            typed(machine, "rm keyed.sig")
            pull_out(machine)
            expect_equal(root.output("fido2-token -L"), "")
            begin_to_sign(machine)
            machine.person.expect("Insert your security key", 60)
            machine.person.send("\x03")
            machine.person.expect(r"status=3\n", 60)
            machine.person.expect(machine.person.prompt + "$", 30)
            typed(machine, "test -e keyed.sig", status=1)
        root.run("systemctl stop 'run-*.service'; true", 60)


def may_open(machine: Machine, name: str) -> bool:
    return machine.root.run(f"runuser -u {name} -- test -r /dev/hidraw0 -o -w /dev/hidraw0")[0] == 0


def plug_in(machine: Machine) -> None:
    machine.root.output(f"({PROGRAMS}/plug-in-key {SOCKET} > /run/plug-in-key.log 2>&1 &)")
    machine.root.wait_for("test -c /dev/hidraw0 && udevadm settle")


def pull_out(machine: Machine) -> None:
    machine.root.output("pkill -f plug-in-key")
    machine.root.wait_for("test ! -e /dev/hidraw0")


def tell(machine: Machine, command: str) -> None:
    """What the key's user does from now on: `touch` at once, or `hold` still."""
    machine.root.output(f"echo {command} > {COMMANDS}")


def count_waiting(machine: Machine) -> int:
    return int(machine.root.output("grep -c waiting /run/security-key.log || true"))


def begin_to_sign(machine: Machine) -> None:
    machine.person.send(SIGN + "; echo status=$?\n")
    machine.person.expect(r"echo status=\$\?", 30)
