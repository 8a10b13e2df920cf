"""This machine as a security key behind the kernel's own uhid and hidraw, used by libfido2's commands.

The image needs Debian's fido2-tools, the kernel's module uhid, and the group ostiary-hid (`systemd-sysusers`). The person has the
passcode of `the_person`, and is logged in.
"""

from checks import Checks, expect, expect_equal
from machine import Machine
from the_person import ASKED, NAME, PASSCODE, typed

PROGRAM = "/usr/local/libexec/ostiary/ostiary-hid"
USER = "/usr/local/libexec/system-test/use-passkeys"
OUTPUT = "/run/passkeys"
#: The group counts at once in a command of sg, and only after a login elsewhere.
SERVE = "sg ostiary-hid -c 'ostiary passkey serve'; true"


def play(checks: Checks, machine: Machine) -> None:
    with checks.part("This machine as a security key", machine):
        rights(checks, machine)
        sign_in(checks, machine)
        end(checks, machine)


def rights(checks: Checks, machine: Machine) -> None:
    root = machine.root
    with checks.check("without the kernel's module, or the right to use it, the command says what to do"):
        screen = typed(machine, "ostiary passkey serve", status=1)
        expect("modprobe uhid" in screen or "ostiary-hid" in screen, "another message")
    with checks.check("the udev rule gives /dev/uhid to the group"):
        root.output("systemd-sysusers && modprobe uhid && udevadm control --reload")
        root.output("udevadm trigger --settle /sys/devices/virtual/misc/uhid")
        expect_equal(root.output("stat -c '%U %G %a' /dev/uhid"), "root ostiary-hid 660")
        root.output(f"usermod -aG ostiary-hid {NAME}")
    with checks.check("a program that is not registered as a browser gets nothing"):
        screen = typed(machine, SERVE)
        expect("--browser" in screen, "another message")
        expect_equal(root.output("fido2-token -L"), "")
    with checks.check("the owner registers it as a browser"):
        screen = typed(machine, f"ostiary app register {PROGRAM} --id org.ostiary.hid --browser", ASKED)
        expect("for any domain" in screen, "the question does not say it")


def sign_in(checks: Checks, machine: Machine) -> None:
    root = machine.root
    with checks.check("fido2-token, fido2-cred and fido2-assert use it; the person is asked for each"):
        root.output(f"setsid {USER} > {OUTPUT} 2>&1 &")
        screen = typed(machine, SERVE, ASKED * 3, within=180)
        said = root.output(f"cat {OUTPUT}")
        for line in ("registration: verified", "sign-in 1: verified", "sign-in 2: verified"):
            expect(line in said, said)
        for line in ("in a browser: make a passkey", "in a browser: sign in with a passkey", "example.org", PROGRAM):
            expect(line in screen, f"the question does not say {line}")
        expect(PASSCODE.strip() not in screen, "the passcode is on the screen")
    with checks.check("libfido2 says of it what it is"):
        said = root.output(f"cat {OUTPUT}")
        for line in ("alwaysUv", "credMgmt", "FIDO_2_1", "5d06a5c58d3c48049fef036d938d32df"):
            expect(line in said, said)
    with checks.check("the passkey is on the list, with three signatures"):
        screen = typed(machine, "ostiary passkey list --json")
        expect('"relyingParty" : "example.org"' in screen and '"signatures" : 3' in screen, "another list")


def end(checks: Checks, machine: Machine) -> None:
    with checks.check("the device goes with its program"):
        machine.root.wait_for("test -z \"$(fido2-token -L)\"")
        expect_equal(machine.root.run("pgrep -x ostiary-hid")[0], 1)
