"""fprintd with a virtual reader, and ostiary-templates behind its socket, both with the sandbox of their units."""

import re

from checks import Checks, expect, expect_equal
from machine import SYSTEM_DISK, Machine
from the_person import ASKED, NAME, typed

PROGRAMS = "/usr/local/libexec/system-test"
#: Runs a command as the person, in a session of logind at the machine's own screen, where its output is of no use. polkit takes
#: the daemon for a part of the person's graphical session, if there is one besides that at the serial port.
AT_SEAT = (
    f"systemd-run --quiet --wait --uid={NAME} -p PAMName=login -p TTYPath=/dev/tty1 -p StandardInput=tty "
    "-p Environment=XDG_SESSION_TYPE=wayland "
    "-p StandardOutput=truncate:/run/at-seat -p StandardError=truncate:/run/at-seat"
)


def play(checks: Checks, machine: Machine) -> None:
    root = machine.root
    with checks.part("Fingers", machine):
        with checks.check("ostiary-templates.socket can be enabled"):
            root.output("systemctl enable --now ostiary-templates.socket")
        with checks.check("each user is told the own templates: none"):
            start_asking(machine, NAME)
            start_asking(machine, "eve")
            root.wait_for(f"grep -q '^1 none 0*$' /run/{NAME}.answers && grep -q '^1 none 0*$' /run/eve.answers")
        with checks.check("fprintd enrols a finger"):
            touch(machine, "index-skin", 5)
            expect("enroll-completed" in root.output(f"timeout 100 fprintd-enroll -f right-index-finger {NAME}"), "not enrolled")
        with checks.check("fprintd-verify at the machine's seat: the finger matches, another does not"):
            for skin, result in (("index-skin", "verify-match"), ("thumb-skin", "verify-no-match")):
                touch(machine, skin)
                root.run(f"{AT_SEAT} fprintd-verify")
                screen = root.output("cat /run/at-seat")
                expect(f"{result} (done)" in screen, screen)
        with checks.check("and at a serial port polkit refuses it"):
            screen = typed(machine, "fprintd-verify", status=1)
            expect("PermissionDenied" in screen, "another refusal")
        with checks.check("the open connections are told the new digest, each user the own"):
            root.wait_for(f"grep -qE '^1 enrolled [0-9a-f]{{64}}$' /run/{NAME}.answers")
            expect_equal(root.output("grep -c . /run/eve.answers"), "1")
        opened_by_a_finger(checks, machine)
        with checks.check("another finger under the same name has another digest"):
            root.output(f"fprintd-delete {NAME}")
            touch(machine, "other-skin", 5)
            root.output(f"timeout 100 fprintd-enroll -f right-index-finger {NAME}")
            root.wait_for(f"test $(grep enrolled /run/{NAME}.answers | sort -u | wc -l) = 2")
        with checks.check("the new finger opens what any finger opens, after the passcode, and not what the first one was for"):
            enter_passcode(machine)
            sign(machine, "finger", "other-skin", status=0)
            sign(machine, "first-finger", "other-skin", status=1)
        sandbox(checks, machine)


def opened_by_a_finger(checks: Checks, machine: Machine) -> None:
    with checks.check("after the passcode there are rights for any finger, and for the enrolled one"):
        enter_passcode(machine)
        typed(machine, "ostiary right create finger --require biometry")
        typed(machine, "ostiary right create first-finger --require biometry-current-set")
    with checks.check("the finger opens a right at the seat, and OpenSSL accepts the signature"):
        for right in ("finger", "first-finger"):
            sign(machine, right, "index-skin", status=0)
            typed(machine, f"ostiary right public-key {right} --output {right}.pem")
            typed(machine, f"openssl dgst -sha256 -verify {right}.pem -signature {right}.sig challenge.bin")
    with checks.check("another finger opens nothing, three times"):
        sign(machine, "finger", "thumb-skin", status=3, touches=3)
    with checks.check("for a program that is not at the seat polkit refuses the reader, and nothing is signed"):
        screen = typed(machine, "setsid --wait ostiary right sign finger challenge.bin --output wrong.sig < /dev/null", status=1)
        expect("The system (polkit) does not let Ostiary use the fingerprint reader" in screen, "another refusal")
        typed(machine, "test -e wrong.sig", status=1)


def enter_passcode(machine: Machine) -> None:
    typed(machine, "ostiary lock")
    typed(machine, "ostiary unlock", ASKED)


def sign(machine: Machine, right: str, skin: str, status: int, touches: int = 1) -> None:
    """The person at the seat signs with a right, and puts a finger on the reader. Afterwards there is a signature, or none."""
    root = machine.root
    root.output(f"rm -f /home/{NAME}/{right}.sig")
    touch(machine, skin, touches)
    home = f"/home/{NAME}"
    actual, _ = root.run(
        f"{AT_SEAT} ostiary right sign {right} {home}/challenge.bin --output {home}/{right}.sig --force", 120)
    root.run("pkill -f touch-reader")
    expect(actual == status, f"exit {actual} instead of {status}: {root.run('cat /run/at-seat')[1]}")
    expect_equal(root.run(f"test -e /home/{NAME}/{right}.sig")[0], 0 if status == 0 else 1)


def start_asking(machine: Machine, name: str) -> None:
    machine.root.output(
        f"setpriv --reuid={name} --regid={name} --clear-groups {PROGRAMS}/ask-templates > /run/{name}.answers 2>&1 &")


def touch(machine: Machine, skin: str, count: int = 1) -> None:
    machine.root.output(f"{PROGRAMS}/touch-reader {skin} {count} > /run/touches 2>&1 &")


def sandbox(checks: Checks, machine: Machine) -> None:
    root = machine.root
    number = root.output("pgrep -x ostiary-templat | head -1")
    with checks.check("the helper of each connection is root without capabilities, and cannot get any"):
        status = root.output(f"cat /proc/{number}/status")
        lines = [r"Uid:\s+0\s+0\s+0\s+0", r"NoNewPrivs:\s+1", r"Seccomp:\s+2"]
        lines += [rf"{each}:\s+0+" for each in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")]
        for line in lines:
            expect(re.search(f"^{line}$", status, re.MULTILINE), f"no {line}:\n{status}")
        # Two ask here, and the person's daemon when it likes.
        units = root.output("for each in $(pgrep -x ostiary-templat); do cat /proc/$each/cgroup; done 2>&1; true").splitlines()
        expect(len(set(units)) == len(units) >= 2, str(units))
    with checks.check("it sees no homes, no disks and no network, and can write nothing"):
        inside = f"nsenter -t {number} -m --"
        expect_equal(root.output(f"{inside} ls -A /home /root | grep -v : | grep . || true"), "")
        expect(root.run(f"{inside} test -e {SYSTEM_DISK}")[0] != 0, f"it sees {SYSTEM_DISK}")
        # Everything that is mounted there, but the kernel's own, where it would need capabilities.
        places = root.output(f"{inside} findmnt --noheadings --list --output TARGET --invert --types proc,sysfs,devpts")
        for place in ("/etc", "/var/lib/fprint", "/run/systemd", "/usr/local/libexec/ostiary", *places.split()):
            status, output = root.run(f"{inside} touch {place}/written")
            expect(status != 0 and "Read-only file system" in output, f"{place}: {output}")
        networks = root.output(f"readlink /proc/{number}/ns/net /proc/1/ns/net").split()
        expect(networks[0] != networks[1], "it has the machine's network")
    with checks.check("systemd-analyze security says at most 1.9 of 10"):
        root.output("systemd-analyze security --no-pager --threshold=19 ostiary-templates@.service | tail -n 1")
