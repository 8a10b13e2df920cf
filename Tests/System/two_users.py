"""Two persons at two consoles, one daemon: README's flow, and what neither sees of the other."""

import json
import re
import time

from checks import Checks, expect, expect_equal
from console import Person
from machine import Machine

ADA, EVE = "ada", "eve"
PROGRAMS = "/usr/local/libexec/system-test"
PASSCODES = {ADA: "correct horse 9\n", EVE: "battery staple 8\n"}
#: Names of eve's things, which ada's programs must never see (attempt).
OTHERS_WORD = "evening-star"
CRASHES = 10
#: Until the terminal of a question shows again what is typed, after the daemon or the program that asked has ended.
ECHO_WITHIN = 1.0
TERMINALS = {ADA: "/dev/ttyS1", EVE: "/dev/hvc0"}


def play(checks: Checks, machine: Machine, short: bool) -> None:
    begin(checks, machine)
    with checks.part("README's flow, of two users at once", machine):
        both(checks, machine, "signs, and OpenSSL accepts the signature", sign)
        apart(checks, machine)
    with checks.part("The lock and the end of a session are one user's", machine):
        sessions(checks, machine)
    with checks.part("The end of a question", machine):
        ends(checks, machine)
    with checks.part("No daemon of a user's own", machine):
        no_other_daemon(checks, machine)
    with checks.part("The daemon of all", machine):
        daemon(checks, machine, short)
    with checks.part("The administrator", machine):
        administrator(checks, machine)


def begin(checks: Checks, machine: Machine) -> None:
    """Each has a passcode and a right afterwards. Other parts need it, and it is played once."""
    if machine.person.prompt in machine.person.transcript:
        return
    with checks.part("Two users", machine):
        with checks.check("both log in"):
            for name, person in persons(machine).items():
                person.log_in(name, f"{name} at the console")
        with checks.check("the first call of a plain user starts the daemon, under its own account"):
            machine.root.output("systemctl stop ostiaryd.service")
            expect_equal(machine.root.run("pgrep -x ostiaryd")[1], "")
            expect_equal(persons(machine)[ADA].document("ostiary status --json")["passcode"]["isSet"], False)
            expect_equal(machine.root.output("ps -o user= -C ostiaryd"), "ostiary")
        both(checks, machine, "sets a passcode", set_passcode)
        both(checks, machine, "makes a right", make_right)


def persons(machine: Machine) -> dict[str, Person]:
    return {ADA: machine.person, EVE: machine.other_person}


def both(checks: Checks, machine: Machine, words: str, act) -> None:
    for name, person in persons(machine).items():
        with checks.check(f"{name} {words}"):
            act(name, person)


def asked(name: str) -> tuple[tuple[str, str], ...]:
    return (("Passcode", PASSCODES[name]),)


def set_passcode(name: str, person: Person) -> None:
    person.typed("ostiary passcode set", (("New passcode", PASSCODES[name]), ("Repeat new passcode", PASSCODES[name])))


def make_right(name: str, person: Person) -> None:
    person.typed(f"ostiary right create {right_of(name)} --require passcode")
    person.typed(f"ostiary right public-key {right_of(name)} --output own.pem && openssl rand -out challenge.bin 32")


def right_of(name: str) -> str:
    return "2fa" if name == ADA else OTHERS_WORD


def sign(name: str, person: Person) -> None:
    command = f"ostiary right sign {right_of(name)} challenge.bin --output challenge.sig --force --reason 'sign in to example.org'"
    screen = person.typed(command, asked(name))
    expect("sign in to example.org" in screen and "/usr/bin/ostiary" in screen, "another question")
    expect("Verified OK" in person.typed("openssl dgst -sha256 -verify own.pem -signature challenge.sig challenge.bin"), "no signature")


def apart(checks: Checks, machine: Machine) -> None:
    ada, eve = persons(machine).values()
    with checks.check("neither sees the other's rights, items and records"):
        eve.typed(f"printf secret | ostiary item add --account {OTHERS_WORD} --unguarded")
        for command in ("ostiary right list", "ostiary log", "ostiary grants", f"ostiary item find --account {OTHERS_WORD}"):
            screen = ada.type(command)[1].split("\n", 1)[-1]
            expect(OTHERS_WORD not in screen and "battery" not in screen, f"{command}: {screen}")
    with checks.check("the other's passcode opens nothing"):
        wrong = (("Passcode", PASSCODES[EVE]),) * 3
        ada.typed("ostiary right sign 2fa challenge.bin --output wrong.sig", wrong, status=3)
    with checks.check("wrong passcodes of one are counted for that one alone"):
        for person, count in ((ada, len(wrong)), (eve, 0)):
            expect_equal(person.document("ostiary status --json")["passcode"]["failedAttempts"], count)
    with checks.check("while one is asked, the other works"):
        ada.send("ostiary right sign 2fa challenge.bin --output challenge.sig --force\n")
        ada.expect("Passcode: $", 60)
        eve.typed("ostiary right list")
        ada.send("\x03")
        ada.expect(f"{Person.prompt}$", 60)


def sessions(checks: Checks, machine: Machine) -> None:
    ada, eve = persons(machine).values()
    with checks.check("loginctl lock-session of one locks that store alone"):
        for name, person in persons(machine).items():
            person.typed(f"ostiary right authorize {right_of(name)}", asked(name))
        ada.typed("loginctl lock-session")
        wait_until(lambda: not is_unlocked(ada), "ada's store stays open")
        expect(is_unlocked(eve), "eve's store is locked too")
    with checks.check("the end of one's last session locks that store alone"):
        ada.typed("ostiary right authorize 2fa", asked(ADA))
        eve.send("exit\n")
        machine.root.wait_for("! loginctl list-sessions --no-legend | grep -w eve", 60)
        eve.log_in(EVE, "eve at the console")
        expect(not is_unlocked(eve), "eve's store is open")
        expect(is_unlocked(ada), "ada's store is locked too")


def is_unlocked(person: Person) -> bool:
    return person.document("ostiary status --json")["unlocked"]


def wait_until(condition, otherwise: str, within: float = 30) -> None:
    deadline = time.monotonic() + within
    while not condition():
        expect(time.monotonic() < deadline, otherwise)
        time.sleep(0.5)


def ends(checks: Checks, machine: Machine) -> None:
    """The prompt has another account, so nobody kills it: it ends with its connection."""
    for words, victim in (("program that asked", "-x ostiary -u ada"), ("daemon", "-x ostiaryd")):
        with checks.check(f"a killed {words} takes its question away within a second, and the terminal shows again what is typed"):
            ada = machine.person
            begin_question(ada)
            expect(not echoes(machine, TERMINALS[ADA]), "typing is shown while the passcode is asked for")
            took = float(machine.root.output(f"{PROGRAMS}/time-echo {TERMINALS[ADA]} $(pgrep {victim})"))
            ada.expect(f"{Person.prompt}$", 60)
            expect_equal(machine.root.run("pgrep -x ostiary-prompt")[1], "")
            expect(took < ECHO_WITHIN, f"{took:.1f} s")
            checks.say(f"  {took:.2f} s")


def begin_question(person: Person) -> None:
    person.send("ostiary right sign 2fa challenge.bin --output challenge.sig --force\n")
    person.expect("Passcode: $", 180)


def echoes(machine: Machine, terminal: str) -> bool:
    return re.search(r"(^|\s)echo(\s|$)", machine.root.output(f"stty -a -F {terminal}")) is not None


def no_other_daemon(checks: Checks, machine: Machine) -> None:
    """All that a session executes meanwhile is looked at: by the person's shell, and by the service manager of the person."""
    root, ada = machine.root, machine.person
    with checks.check("nothing of a session starts another daemon, with the machine's socket or without it, whatever variables say"):
        trace(machine, ADA)
        folders = "mkdir -p own/ostiary && echo 'mode = user' > own/ostiary/client.conf"
        variables = " ".join(f"{name}=$HOME/own" for name in ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"))
        ada.typed(f"{folders} && env {variables} ostiary status")
        root.output("systemctl stop ostiaryd.socket ostiaryd.service")
        try:
            for command in ("ostiary status", f"env {variables} ostiary status", "ostiary right list"):
                screen = ada.typed(command, status=1)
                expect("systemctl status ostiaryd.socket" in screen, screen[-600:])
        finally:
            root.output("systemctl start ostiaryd.socket")
        executed = traced(machine)
        expect("/usr/bin/ostiary" in executed, f"the trace shows nothing: {executed[-600:]}")
        expect(not re.search(r"ostiaryd|libexec/ostiary", executed), executed[-1000:])
    with checks.check("the unit of a user's daemon does not start, and no user has a daemon"):
        ada.typed("systemctl --user start ostiaryd.service", status=1)
        for name in persons(machine):
            expect_equal(root.run(f"pgrep -u {name} ostiaryd")[1], "")


def trace(machine: Machine, name: str) -> None:
    """Begins to write down what the person's processes, and those that they start, execute."""
    traced = f"$(pgrep -u {name} -d, -x 'bash|systemd')"
    machine.root.output(f"pkill -x strace; rm -f /run/trace; strace -f -qq -e trace=execve,execveat -e signal=none -o /run/trace -p {traced} > /run/trace.said 2>&1 &")
    machine.root.wait_for(f"test $(grep -lE 'TracerPid:\\s+[1-9]' /proc/[0-9]*/status | wc -l) -ge 2")


def traced(machine: Machine) -> str:
    machine.root.output("pkill -x strace; while pgrep -x strace; do sleep 0.2; done")
    return machine.root.output("cat /run/trace")


def daemon(checks: Checks, machine: Machine, short: bool) -> None:
    root = machine.root
    with checks.check("the daemon has no capability, no program to execute and no device but the chip"):
        root.output("runuser -u eve -- ostiary status > /dev/null")
        number = root.output("systemctl show -p MainPID --value ostiaryd.service")
        status = root.output(f"cat /proc/{number}/status")
        for line in (r"NoNewPrivs:\s+1", r"Seccomp:\s+2", r"Cap(Inh|Prm|Eff|Bnd|Amb):\s+0+"):
            expect(re.search(f"^{line}$", status, re.MULTILINE), f"no {line}:\n{status}")
        expect_equal(root.output(f"cat /proc/{number}/attr/apparmor/current"), "ostiaryd (enforce)")
        opened = root.output(f"readlink /proc/{number}/fd/* | grep ^/dev/ | grep -vE '^/dev/(null|tpmrm0)$'; true")
        expect_equal(opened, "")
    with checks.check(f"after {CRASHES} crashes the socket is the same, and both are served"):
        before = root.output("stat -c %i /run/ostiary/ostiaryd.socket")
        for _ in range(2 if short else CRASHES):
            root.wait_for("test $(systemctl show -p MainPID --value ostiaryd.service) != 0 || runuser -u ada -- ostiary status > /dev/null")
            root.run("kill -SEGV $(systemctl show -p MainPID --value ostiaryd.service)")
            root.output("runuser -u eve -- ostiary status > /dev/null")
        expect_equal(root.output("stat -c %i /run/ostiary/ostiaryd.socket"), before)
        both_are_served(machine)
    if short:
        return
    with checks.check("a daemon that hangs is ended by the service manager, and both are served"):
        number = root.output("systemctl show -p MainPID --value ostiaryd.service")
        root.output(f"kill -STOP {number}")
        root.wait_for(f"! kill -0 {number} 2> /dev/null", 120)
        both_are_served(machine)
    with checks.check("a user with a removed user's number is refused"):
        root.output("useradd --create-home --uid 4000 former && printf secret | runuser -u former -- ostiary item add --account mine --unguarded")
        root.output("userdel --remove former && useradd --create-home --uid 4000 latter")
        status, said = root.run("runuser -u latter -- ostiary item find --account mine")
        expect(status == 3 and "for somebody else" in said, said)


def both_are_served(machine: Machine) -> None:
    for person in persons(machine).values():
        expect_equal(person.document("ostiary status --json")["passcode"]["isSet"], True)


def administrator(checks: Checks, machine: Machine) -> None:
    root = machine.root
    with checks.check("root sees names and counts"):
        users = {user["name"]: user for user in json.loads(root.output("ostiary admin users --json"))["users"]}
        expect({ADA, EVE} <= set(users), str(users))
        expect_equal(users[EVE]["counts"]["rights"], 1)
        expect_equal(users[EVE]["counts"]["items"], 1)
    with checks.check("root sees no name of a right or an item, and no secret"):
        said = root.output("ostiary admin users; ostiary admin log; ostiary admin log --json")
        for word in (OTHERS_WORD, "2fa", "secret", *(passcode.strip() for passcode in PASSCODES.values())):
            expect(word not in said, f"{word} is there")
    with checks.check("nobody else may ask"):
        for person in persons(machine).values():
            person.typed("ostiary admin users", status=3)
