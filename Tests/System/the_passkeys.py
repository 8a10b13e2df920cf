"""This machine as a security key behind the kernel's own uhid and hidraw, used by libfido2's commands and by OpenSSH.

The person has the passcode of `the_person`. The right to make the device counts from the next login on, so `give_the_right` comes
before that.
"""

from checks import Checks, expect, expect_equal
from machine import Machine
from the_person import ASKED, NAME, PASSCODE, typed

PROGRAM = "/usr/local/libexec/ostiary/ostiary-hid"
USER = "/usr/local/libexec/system-test/use-passkeys"
OUTPUT = "/run/passkeys"
#: Ctrl-C is how it ends. Without the parentheses the shell would end the whole line, too.
SERVE = "(ostiary passkey serve; true)"
NO = (("Passcode", "\x03"),)


def give_the_right(checks: Checks, machine: Machine) -> None:
    root = machine.root
    with checks.part("The right to make a security key", machine):
        with checks.check("without it the command says how to get it"):
            screen = typed(machine, "ostiary passkey serve", status=1)
            expect("sudo usermod -aG ostiary-hid" in screen, screen)
        with checks.check("packaging/README.md: the udev rule gives /dev/uhid to a group, for the members alone"):
            root.output("systemd-sysusers && modprobe uhid && systemctl restart systemd-udevd")
            root.output("udevadm trigger --settle /sys/devices/virtual/misc/uhid")
            expect_equal(root.output("stat -c '%U %G %a' /dev/uhid"), "root ostiary-hid 660")
            expect(root.run("runuser -u eve -- test -r /dev/uhid -o -w /dev/uhid")[0] != 0, "eve may open it")
            root.output(f"usermod -aG ostiary-hid {NAME}")


def play(checks: Checks, machine: Machine) -> None:
    with checks.part("This machine as a security key", machine):
        register(checks, machine)
        libfido2(checks, machine)
        openssh(checks, machine)


def register(checks: Checks, machine: Machine) -> None:
    with checks.check("a program that is not registered as a browser makes no device"):
        screen = typed(machine, "ostiary passkey serve", status=3)
        expect("--browser" in screen, screen)
        expect_equal(machine.root.output("fido2-token -L"), "")
    with checks.check("the owner registers it as a browser"):
        screen = typed(machine, f"ostiary app register {PROGRAM} --id org.ostiary.hid --browser", ASKED)
        expect("for any domain" in screen, screen)


def libfido2(checks: Checks, machine: Machine) -> None:
    with checks.check("fido2-token, fido2-cred and fido2-assert use it; the person is asked for each"):
        screen, said = served(machine, "libfido2", ASKED * 3)
        for line in ("registration: verified", "sign-in 1: verified", "sign-in 2: verified"):
            expect(line in said, said)
        for line in ("in a browser: make a passkey", "example.org", PROGRAM):
            expect(line in screen, f"the question does not say {line}: {screen}")
    with checks.check("libfido2 says of it what it is"):
        for line in ("alwaysUv", "credMgmt", "FIDO_2_1", "5d06a5c58d3c48049fef036d938d32df"):
            expect(line in said, said)
    with checks.check("the passkey is on the list, with three signatures"):
        expect_equal(passkeys(machine), [("example.org", 3)])
    with checks.check("the device goes with its program"):
        expect_gone(machine)


def openssh(checks: Checks, machine: Machine) -> None:
    with checks.check("OpenSSH keeps a key behind it and logs in; nobody comes in when the person says no"):
        screen, said = served(machine, "openssh", ASKED * 2 + NO)
        expect_equal(said.count("logged in: eve"), 1)
        expect("refused: 255" in said, said)
        for line in ("in a browser: make a passkey", "in a browser: sign in with a passkey", "ssh:"):
            expect(line in screen, f"no question says {line}: {screen}")
        expect_equal(sorted(passkeys(machine)), [("example.org", 3), ("ssh:", 2)])
        expect_gone(machine)


def served(machine: Machine, user: str, answers) -> tuple[str, str]:
    """Shows the machine as a security key to `use-passkeys`, and returns the person's screen and the output of that program."""
    machine.root.output(f"setsid {USER} {user} > {OUTPUT} 2>&1 &")
    try:
        screen = typed(machine, SERVE, answers)
    except Exception as error:
        raise AssertionError(f"{error}; it said: {machine.root.run(f'cat {OUTPUT}')[1]}") from error
    expect(PASSCODE.strip() not in screen, "the passcode is on the screen")
    return screen, machine.root.output(f"cat {OUTPUT}")


def passkeys(machine: Machine) -> list[tuple[str, int]]:
    """Each passkey's relying party, and how often it has signed."""
    list = machine.person.document("ostiary passkey list --json")["passkeys"]
    return [(passkey["relyingParty"], passkey["signatures"]) for passkey in list]


def expect_gone(machine: Machine) -> None:
    machine.root.wait_for("test -z \"$(fido2-token -L)\"")
    expect_equal(machine.root.run("pgrep -x ostiary-hid")[0], 1)
