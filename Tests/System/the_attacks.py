"""Malware of the person's own account: a program that tries everything, and what each attempt got."""

import time

import two_users
from checks import Checks, expect, expect_equal
from machine import Machine

NAME = "ada"
OTHER = "eve"
PROGRAM = "/usr/local/libexec/system-test/attempt"
#: Seconds that the other person's call may take. Nobody would be answered before the attack ends, if it took what the other person has.
#: How long a call takes depends on what else this machine does, and is shown.
ANSWERED_WITHIN = 60
ATTACKED_FOR = 900


def play(checks: Checks, machine: Machine, short: bool) -> None:
    two_users.begin(checks, machine)
    root = machine.root
    with checks.part("A program of the person's own tries everything", machine):
        with checks.check("it gets nothing but what the list says"):
            before = state(machine)
            status, said = root.run(as_person(NAME, PROGRAM), 600)
            checks.say(said)
            expect(status == 0, "; ".join(line for line in said.splitlines() if not line.startswith("ok ")))
            expect_equal(state(machine), before)
        with checks.check("while it takes all connections, the other person is answered"):
            root.output(f"({as_person(NAME, f'{PROGRAM} --hold {ATTACKED_FOR}')}) > /dev/null 2>&1 &")
            longest = 0.0
            for _ in range(3 if short else 10):
                begin = time.monotonic()
                root.output(as_person(OTHER, "ostiary status"), ANSWERED_WITHIN)
                longest = max(longest, time.monotonic() - begin)
            root.output("pkill -f '[a]ttempt --hold'")
            checks.say(f"answered within {longest:.1f} s")


def as_person(name: str, command: str) -> str:
    return f"runuser -u {name} -- env HOME=/home/{name} USER={name} XDG_RUNTIME_DIR=/run/user/$(id -u {name}) {command}"


def state(machine: Machine) -> str:
    """What must be the same afterwards: the sockets, and the files of the package."""
    return machine.root.output("stat -c '%i %a %U %n' /run/ostiary/*.socket /run/ostiary/helpers/*.socket; dpkg --verify ostiary; id -Gn ostiary")
