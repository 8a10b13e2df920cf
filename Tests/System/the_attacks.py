"""Malware of the person's own account: a program that tries everything, and what each attempt got."""

import statistics
import time

import two_users
from checks import Checks, expect, expect_equal
from console import Person
from machine import Machine

NAME = "ada"
OTHER = "eve"
PROGRAM = "/usr/local/libexec/system-test/attempt"
#: How long the other person's call may take: so many times as long as without the attack on the same machine, and so many seconds more.
#: Nobody would be answered before the attack ends, if it took the other person's share.
BESIDE_CONNECTIONS = (5, 5)
#: All the time both processors of the machine work for requests of the attack.
BESIDE_REQUESTS = (60, 60)
ATTACKED_FOR = 1800
#: For each wait in the midst of the attack and after it. On an emulated machine what it began goes on for minutes.
WITHIN = ATTACKED_FOR / 3
#: Where the program writes what it got.
HELD, ASKING = "/tmp/held", "/tmp/asking"
#: The sums of the counts of the program's processes, and whether they are an attack: keys were made, questions stand for the person, more were
#: refused because the line is full (or because the user has had as many searches through the processes as a user gets: that comes first
#: on a slow machine), and requests because the owner has no more. On one terminal one question is asked and 16 of an owner
#: wait (PromptOrder.swift).
ATTACK_STANDS = (
    "awk '{ sum[$1] += $2 } END { for (each in sum) print each, sum[each]; "
    'unasked = sum["question:prompt.queue-full"] + sum["question:prompt.terminal-processesUnreadable"]; '
    'refused = sum["key:request.too-many-of-owner"] + sum["question:request.too-many-of-owner"]; '
    'exit !(sum["standing"] >= 8 && sum["key:done"] > 0 && unasked > 0 && refused > 0) }\' '
    f"{ASKING}/count-*[0-9]"
)
#: The longest time in seconds for which nothing is asked afterwards, and some: on a terminal after three questions without an answer
#: (PromptCooldown.swift), and of the helper that looks at the processes, for a user whose work it did not survive (HoldUps.swift).
PAUSE = 70


def play(checks: Checks, machine: Machine, short: bool) -> None:
    two_users.begin(checks, machine)
    root = machine.root
    with checks.part("A program of the person's own tries everything", machine):
        with checks.check("it gets nothing but what the list says"):
            before = state(machine)
            status, said = root.run(as_person(NAME, PROGRAM), ATTACKED_FOR)
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
    before = [called(machine) for _ in range(count)]
    root.output(f"rm -f {HELD}; ({as_person(NAME, f'{PROGRAM} --hold {ATTACKED_FOR} {HELD}')}) > /dev/null 2>&1 &")
    try:
        said = root.wait_for(f"test -s {HELD} && cat {HELD}", ATTACKED_FOR)
        expect(said.startswith("its own share: "), said)
        during = [called(machine) for _ in range(count)]
        root.output("pgrep -f '[a]ttempt --hold'")
    finally:
        root.run("pkill -f '[a]ttempt --hold'")
    expect_equal(daemon(machine), number)
    checks.say(f"  {said}; answered within {max(during):.1f} s")
    expect_soon(checks, "a call", statistics.median(before), statistics.median(during), BESIDE_CONNECTIONS)


def called(machine: Machine) -> float:
    """Seconds of a call of the other person."""
    begin = time.monotonic()
    machine.root.output(as_person(OTHER, "ostiary status"), ATTACKED_FOR)
    return time.monotonic() - begin


def asked(checks: Checks, machine: Machine) -> None:
    """The terminal where the person logged in is the only one on which its program may ask."""
    root, person = machine.root, machine.person
    number = daemon(machine)
    before = answered_and_asked(machine.other_person)
    root.output(f"rm -rf {ASKING}")
    # Who looks on must not wait behind the attack, which works on all processors.
    root.output("renice -n -20 $$")
    person.send(f"{PROGRAM} --ask {ATTACKED_FOR} {ASKING}\n")
    try:
        # On failure it shows the counts.
        root.wait_for(ATTACK_STANDS, WITHIN)
        person.expect("Passcode: $", WITHIN)
        during = answered_and_asked(machine.other_person)
        root.output("pgrep -f '[a]ttempt --asker'")
        # Questions end that nobody answers, and after three of them a terminal is asked nothing for a while.
        said = root.wait_for(ATTACK_STANDS, WITHIN)
    finally:
        root.run("pkill -f '[a]ttempt --ask'")
    root.wait_for("! pgrep -x ostiary-prompt", WITHIN)
    # The end of a question may have been written behind the shell's prompt.
    person.send("\n")
    person.expect(f"{person.prompt}$", WITHIN)
    expect_equal(daemon(machine), number)
    checks.say(f"  {', '.join(said.splitlines())}")
    for words, each_before, each_during in zip(("a call", "a signature"), before, during, strict=True):
        expect_soon(checks, words, each_before, each_during, BESIDE_REQUESTS)


def answered_and_asked(person: Person) -> tuple[float, float]:
    """Seconds of a call, and of a signature for which the other person is asked."""
    begin = time.monotonic()
    person.typed("ostiary status", within=ATTACKED_FOR)
    answered = time.monotonic()
    sign = f"ostiary right sign {two_users.right_of(OTHER)} challenge.bin --output challenge.sig --force"
    person.typed(sign, two_users.asked(OTHER), within=ATTACKED_FOR)
    return answered - begin, time.monotonic() - answered


def expect_soon(checks: Checks, words: str, before: float, during: float, allowed: tuple[int, int]) -> None:
    factor, seconds = allowed
    limit = factor * before + seconds
    text = f"{words} took {during:.1f} s, {before:.1f} s without the attack, at most {limit:.1f} s"
    checks.say(f"  {text}")
    expect(during <= limit, text)


def daemon(machine: Machine) -> str:
    """Its number. One that a user's requests bring down has another afterwards."""
    machine.root.output(as_person(OTHER, "ostiary status"), WITHIN)
    return machine.root.output("systemctl show -p MainPID --value ostiaryd.service")


def as_person(name: str, command: str) -> str:
    return f"runuser -u {name} -- env HOME=/home/{name} USER={name} XDG_RUNTIME_DIR=/run/user/$(id -u {name}) {command}"


def state(machine: Machine) -> str:
    """What must be the same afterwards: the sockets, and the files of the package."""
    look = "stat -c '%i %a %U %n' /run/ostiary/*.socket /run/ostiary/helpers/*.socket; dpkg --verify ostiary; id -Gn ostiary"
    return machine.root.output(look, WITHIN)
