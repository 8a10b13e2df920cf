"""A security key and fingers with the daemon of the machine, which holds no device of them."""

import re

import the_fingers
import the_security_key
import two_users
from checks import Checks, expect, expect_equal
from machine import Machine
from the_fingers import AT_SEAT, touch
from the_signins import allow_sudo, use_profiles
from two_users import ADA, EVE, PASSCODES, asked

POLKIT_RULE = "/usr/share/polkit-1/rules.d/50-ostiary.rules"
SKIN, OTHER_SKIN = "index-skin", "thumb-skin"


def play(checks: Checks, machine: Machine, short: bool) -> None:
    two_users.begin(checks, machine)
    # Plugged in while questions wait: the kernel's word reaches the daemon.
    the_security_key.play(checks, machine)
    with checks.part("Fingers", machine):
        fingers(checks, machine)
    with checks.part("sudo with a finger", machine):
        sudo(checks, machine)


def fingers(checks: Checks, machine: Machine) -> None:
    root, ada = machine.root, machine.person
    with checks.check("fprintd enrols a finger of one user, and the daemon tells it from others"):
        touch(machine, SKIN, 5)
        expect("enroll-completed" in root.output(f"timeout 100 fprintd-enroll -f right-index-finger {ADA}"), "not enrolled")
        for name, person in two_users.persons(machine).items():
            count = person.document("ostiary status --json")["biometry"]["fingerCount"]
            expect_equal((name, count), (name, 1 if name == ADA else 0))
    with checks.check("the daemon has it verified at the seat, though it has no session"):
        the_fingers.enter_passcode(machine)
        ada.typed("ostiary right create finger --require biometry-current-set")
        the_fingers.sign(machine, "finger", SKIN, status=0)
        ada.typed("ostiary right public-key finger --output finger.pem")
        ada.typed("openssl dgst -sha256 -verify finger.pem -signature finger.sig challenge.bin")
    with checks.check("another finger opens nothing, three times"):
        the_fingers.sign(machine, "finger", OTHER_SKIN, status=3, touches=3)
    with checks.check("without the package's rule polkit refuses, and status and doctor name the rule"):
        root.output(f"mv {POLKIT_RULE} /run/polkit.rule")
        try:
            root.wait_for("journalctl -u polkit --no-pager | tail -n 2 | grep -q Finished", 60)
            the_fingers.sign(machine, "finger", SKIN, status=1)
            said = root.output("cat /run/at-seat") + ada.type("ostiary status")[1] + ada.type("ostiary doctor")[1]
            expect("50-ostiary.rules" in said, said)
        finally:
            root.output(f"mv /run/polkit.rule {POLKIT_RULE}")


def sudo(checks: Checks, machine: Machine) -> None:
    root = machine.root
    allow_sudo(machine)
    use_profiles(machine, "ostiary")
    with checks.check("at the seat a touch is enough, and the log says so"):
        the_fingers.enter_passcode(machine)
        touch(machine, SKIN)
        status, said = root.run(f"timeout 100 {AT_SEAT} sudo id -un; cat /run/at-seat")
        expect(status == 0 and "root" in said.splitlines(), said)
        record = machine.person.typed("ostiary log --last 3")
        expect(re.search("sudo.*biometry", record), record)
    use_profiles(machine)
