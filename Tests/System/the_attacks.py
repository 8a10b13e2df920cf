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
#: Where the program writes what it got.
HELD, ASKING = "/tmp/held", "/tmp/asking"
#: The sums of what the program's processes wrote, and whether they are an attack: questions stand for the person, and keys were made.
#: On one terminal one question is asked and 16 of an owner wait (PromptOrder.swift).
ATTACK_STANDS = (
    f"awk '{{ sum[$1] += $2 }} END {{ for (each in sum) print each, sum[each]; exit !(sum[\"standing\"] >= 8 && sum[\"key:done\"] > 0) }}' "
    f"{ASKING}/count-*[0-9]"
)
#: Seconds for which a program and a terminal are asked nothing after three questions without an answer (PromptCooldown.swift), and some.
PAUSE = 35


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
        with checks.check("while it takes all connections that it gets, the other person is answered"):
            held(checks, machine, 3 if short else 10)
        if short:
            return
        with checks.check("while it asks and makes keys with all requests that it gets, the other person is answered and asked"):
            asked(checks, machine)
        # Three questions without an answer bring a pause.
        with checks.check("and afterwards its own person is asked, too"):
            time.sleep(PAUSE)
            two_users.sign(NAME, machine.person)


def held(checks: Checks, machine: Machine, count: int) -> None:
    root = machine.root
    number = daemon(machine)
    root.output(f"rm -f {HELD}; ({as_person(NAME, f'{PROGRAM} --hold {ATTACKED_FOR} {HELD}')}) > /dev/null 2>&1 &")
    try:
        said = root.wait_for(f"test -s {HELD} && cat {HELD}", ATTACKED_FOR)
        expect(said.startswith("its own share: "), said)
        longest = 0.0
        for _ in range(count):
            begin = time.monotonic()
            root.output(as_person(OTHER, "ostiary status"), ANSWERED_WITHIN)
            longest = max(longest, time.monotonic() - begin)
        root.output("pgrep -f '[a]ttempt --hold'")
    finally:
        root.run("pkill -f '[a]ttempt --hold'")
    expect_equal(daemon(machine), number)
    checks.say(f"  {said}; answered within {longest:.1f} s")


def asked(checks: Checks, machine: Machine) -> None:
    """The terminal where the person logged in is the only one on which its program may ask."""
    root, person, other = machine.root, machine.person, machine.other_person
    number = daemon(machine)
    root.output(f"rm -rf {ASKING}")
    person.send(f"{PROGRAM} --ask {ATTACKED_FOR} {ASKING}\n")
    try:
        person.expect("Passcode: $", ATTACKED_FOR)
        root.wait_for(ATTACK_STANDS, ATTACKED_FOR / 2)
        begin = time.monotonic()
        other.typed("ostiary status", within=ATTACKED_FOR)
        answered = time.monotonic() - begin
        sign = f"ostiary right sign {two_users.right_of(OTHER)} challenge.bin --output challenge.sig --force"
        other.typed(sign, two_users.asked(OTHER), within=ATTACKED_FOR)
        signed = time.monotonic() - begin - answered
        said = root.wait_for(ATTACK_STANDS)
    finally:
        root.run("pkill -f '[a]ttempt --ask'")
    person.expect(f"{person.prompt}$", 60)
    root.wait_for("! pgrep -x ostiary-prompt", 60)
    expect_equal(daemon(machine), number)
    checks.say(f"  {', '.join(said.splitlines())}")
    checks.say(f"  answered within {answered:.1f} s, asked and signed within {signed:.1f} s")


def daemon(machine: Machine) -> str:
    """Its number. One that a user's requests bring down has another afterwards."""
    machine.root.output(as_person(OTHER, "ostiary status"))
    return machine.root.output("systemctl show -p MainPID --value ostiaryd.service")


def as_person(name: str, command: str) -> str:
    return f"runuser -u {name} -- env HOME=/home/{name} USER={name} XDG_RUNTIME_DIR=/run/user/$(id -u {name}) {command}"


def state(machine: Machine) -> str:
    """What must be the same afterwards: the sockets, and the files of the package."""
    return machine.root.output("stat -c '%i %a %U %n' /run/ostiary/*.socket /run/ostiary/helpers/*.socket; dpkg --verify ostiary; id -Gn ostiary")
