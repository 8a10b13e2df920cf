"""Programs that are hard to name: what ostiary-identity says of them, and which name the daemon gives them."""

import re

import two_users
from checks import Checks, expect, expect_equal
from machine import Machine
from the_attacks import as_person
from the_package import as_account

NAME = "ada"
PROGRAMS = "/usr/local/libexec/system-test"
PLAIN, OWN_GROUP = "/usr/bin/ostiary", "/usr/local/bin/agent"
PLACES = ("home", "temporary", "user-namespace", "process-namespace", "bind-mount", "deleted")
#: Links of the file, namespaces that are not those of init, and the path.
FACTS = {
    "home": ("1", "own", "/home/ada/caller-home"),
    "temporary": ("1", "own", r"/tmp/tmp\.\w+/caller"),
    "user-namespace": ("1", "user", "/home/ada/caller-user-namespace"),
    "process-namespace": ("1", "pid,user", "/home/ada/caller-process-namespace"),
    "bind-mount": ("1", "mnt,user", "/usr/bin/true"),
    "deleted": ("0", "own", r"/tmp/tmp\.\w+/caller \(deleted\)"),
    "private-tmp": ("1", "mnt", r"/tmp/tmp\.\w+/caller"),
}
#: Path or words in the daemon's log.
UNKNOWN = "unknown program"
NAMES = {
    "home": "/home/ada/caller-home",
    "temporary": r"/tmp/tmp\.\w+/caller",
    "user-namespace": "/home/ada/caller-user-namespace",
    "process-namespace": UNKNOWN,
    "bind-mount": UNKNOWN,
    "deleted": UNKNOWN,
    "private-tmp": UNKNOWN,
}
#: The number of the request for a signature (Documentation/formats/wire.md).
SIGN = 30
IN_PRIVATE_TMP = f"systemd-run --quiet --uid={NAME} -p PrivateTmp=yes -p Environment=HOME=/home/{NAME}"


def play(checks: Checks, machine: Machine, short: bool) -> None:
    with checks.part("What a process executes", machine):
        with checks.check("nobody but the daemon and root asks ostiary-identity"):
            status, said = machine.root.run(f"runuser -u {NAME} -- {PROGRAMS}/ask-identity 1")
            expect(status != 0 and "PermissionError" in said, said)
        start_callers(machine)
        with checks.check("it tells file and namespaces of seven callers, and passes what shows an exec"):
            look_at_callers(machine)
        with checks.check("after an exec the passed descriptor is empty"):
            machine.root.output("rm -f /run/go && mkfifo -m 666 /run/go")
            machine.root.output(f"runuser -u {NAME} -- bash -c 'read < /run/go; exec sleep 100' > /dev/null 2>&1 &")
            number = machine.root.wait_for(f"pgrep -n -u {NAME} -x bash")
            said = machine.root.output(f"{as_account('ostiary')} timeout 30 {PROGRAMS}/watch-exec {number} /run/go")
            expect_equal(said, "before: read\nafter: empty")
        with checks.check("all of it when users do not see each other's processes (hidepid=2)"):
            machine.root.output("mount -o remount,hidepid=2 /proc")
            try:
                expect(machine.root.run(f"{as_account('ostiary')} test -d /proc/1/ns")[0] != 0, "hidepid=2 hides nothing")
                look_at_callers(machine)
            finally:
                machine.root.output("mount -o remount,hidepid=0 /proc")
        machine.root.run(f"pkill -u {NAME} -f '^[^ ]+ 100[0-{len(PLACES)}]$'; systemctl stop private-tmp.service")
    two_users.begin(checks, machine)
    with checks.part("The daemon's names of callers", machine):
        for place in (*PLACES, "private-tmp"):
            with checks.check(f"{place}: {NAMES[place].replace(chr(92), '')}"):
                name_caller(machine, place)
        with checks.check("a program of Ostiary in a user namespace without root takes nobody's word for the machine's, and uses no daemon"):
            status, said = machine.root.run(f"runuser -u {NAME} -- unshare --user --map-root-user ostiary right list")
            expect(status == 1 and "no daemon is used" in said, said)
    with checks.part("A program that executes another one", machine):
        another(checks, machine)
    with checks.part("Where users do not see each other's processes (hidepid=2)", machine):
        hidden(checks, machine)
    with checks.part("A program with a group of its own", machine):
        own_group(checks, machine)


def another(checks: Checks, machine: Machine) -> None:
    """The person gave the passcode to the first one. Its next request, byte for byte, comes from the other."""
    ada = machine.person
    held = f"env LD_PRELOAD={PROGRAMS}/executes.so CHOSEN_REQUEST={SIGN}"
    sign = "ostiary right sign 2fa challenge.bin --output held.sig --force"
    with checks.check("the request of the program that was answered is served"):
        screen = ada.typed(f"{held} {sign}", two_users.asked(NAME))
        expect("held" in screen.splitlines(), screen)
        ada.typed("openssl dgst -sha256 -verify own.pem -signature held.sig challenge.bin && rm held.sig")
    with checks.check("the same request of a program that it executes ends the connection, and nothing is signed"):
        screen = ada.typed(f"{held} OTHER_PROGRAM={PROGRAMS}/send-request {sign}; test ! -e held.sig", two_users.asked(NAME))
        expect("held" in screen.splitlines() and "the connection ended" in screen.splitlines(), screen)


def hidden(checks: Checks, machine: Machine) -> None:
    """This kernel passes no pidfd with a connection, and the daemon sees no process of a person."""
    machine.root.output("mount -o remount,hidepid=2 /proc")
    try:
        with checks.check("a program is served, its person is asked, and OpenSSL accepts the signature"):
            two_users.sign(NAME, machine.person)
        with checks.check("a killed program takes its question away"):
            two_users.begin_question(machine.person)
            machine.root.output(f"kill -KILL $(pgrep -x ostiary -u {NAME})")
            machine.person.expect(f"{machine.person.prompt}$", 60)
            machine.root.wait_for("! pgrep -x ostiary-prompt", 10)
        another(checks, machine)
    finally:
        machine.root.output("mount -o remount,hidepid=0 /proc")


def start_callers(machine: Machine) -> None:
    for place in PLACES:
        machine.root.output(f"runuser -u {NAME} -- env HOME=/home/{NAME} {PROGRAMS}/be-caller {place} /usr/bin/sleep {1000 + PLACES.index(place)} > /dev/null 2>&1 &")
    machine.root.output(f"{IN_PRIVATE_TMP} --unit=private-tmp {PROGRAMS}/be-caller temporary /usr/bin/sleep {1000 + len(PLACES)}")
    machine.root.wait_for(f"test $(pgrep -c -f '^[^ ]+ 100[0-{len(PLACES)}]$' -u {NAME}) -ge {len(PLACES) + 1}")


def look_at_callers(machine: Machine) -> None:
    """As the daemon: its account, and no right to look by itself."""
    numbers = [machine.root.output(f"pgrep -n -f '^[^ ]+ {1000 + index}$'") for index in range(len(FACTS))]
    said = machine.root.output(f"{as_account('ostiary')} {PROGRAMS}/ask-identity {' '.join(numbers)}").splitlines()
    own = machine.root.output("cd /proc/1/ns && stat -L -c '%n %i' mnt pid user")
    for (place, (links, spaces, path)), line in zip(FACTS.items(), said, strict=True):
        facts = re.fullmatch(r"\d+ known user=(\d+) real=\1 group=\d+ login=-?\d+ links=(\d+) passed=(\S*) maps=(\S+) mnt=(\d+) pid=(\d+) user=(\d+) cgroup=(\S*) (.*)", line)
        expect(facts, f"{place}: {line}")
        others = [name for name, number in zip(("mnt", "pid", "user"), facts.group(5, 6, 7)) if f"{name} {number}" not in own]
        expect_equal(facts[1], machine.root.output(f"id -u {NAME}"))
        expect_equal((place, facts[2], facts[3], facts[4], ",".join(others) or "own"), (place, links, "maps,stat,cgroup", "read", spaces))
        expect(re.fullmatch(path, facts[9]), f"{place}: {facts[9]}")


def name_caller(machine: Machine, place: str) -> None:
    """A record of the log that the caller causes."""
    words = f"right create at-{place} --require passcode"
    if place == "private-tmp":
        command = f"{IN_PRIVATE_TMP} --wait --pipe {PROGRAMS}/be-caller temporary /usr/bin/ostiary {words}"
    else:
        command = f"runuser -u {NAME} -- env HOME=/home/{NAME} {PROGRAMS}/be-caller {place} /usr/bin/ostiary {words}"
    machine.root.output(command)
    record = machine.root.output(f"runuser -u {NAME} -- ostiary log --last 1")
    expect(re.search(f"“at-{place}” by {NAMES[place]}", record), record)


def own_group(checks: Checks, machine: Machine) -> None:
    """What the person's other programs cannot do with it, and can with a plain one."""
    root, ada = machine.root, machine.person
    with checks.check("root registers it"):
        root.output(f"install -m 755 /usr/bin/ostiary {OWN_GROUP} && ostiary app register {OWN_GROUP} --id org.example.agent --setgid agent")
        expect_equal(root.output(f"stat -c '%a %U %G' {OWN_GROUP}"), "2755 root agent")
    with checks.check("LD_PRELOAD has it load nothing"):
        for program, is_injected in ((PLAIN, True), (OWN_GROUP, False)):
            said = root.output(as_person(NAME, f"env LD_PRELOAD={PROGRAMS}/injected.so {program} --version"))
            expect_equal((program, "injected" in said), (program, is_injected))
    with checks.check("status says that no other program can act as it, that a plain one is registered, and a copy advisory"):
        ada.typed(f"cp {OWN_GROUP} copy-of-agent")
        for program, label in ((OWN_GROUP, "setgid"), ("./copy-of-agent", "advisory"), (PLAIN, "registered")):
            expect_equal((program, ada.document(f"{program} status --json")["program"]["label"]), (program, label))
    with checks.check("what it keeps no other program sees"):
        ada.typed(f"printf word | {OWN_GROUP} item add --account agent-only --unguarded")
        expect("agent-only" in ada.typed(f"{OWN_GROUP} item find --account agent-only"), "it does not see it itself")
        for program in ("./copy-of-agent", PLAIN):
            expect("agent-only" not in ada.type(f"{program} item find --account agent-only")[1].split("\n", 1)[-1], f"{program} sees it")
    with checks.check("nobody traces it or reads its memory while it waits"):
        ada.typed(f"{OWN_GROUP} right create kept --require passcode")
        ada.typed("ostiary lock")
        for program, right, is_open in ((PLAIN, "2fa", True), (OWN_GROUP, "kept", False)):
            ada.send(f"{program} right authorize {right}\n")
            ada.expect("Passcode: $", 180)
            number = root.output(f"pgrep -x {program.rsplit('/', 1)[-1]} -u {NAME}")
            traced = root.run(as_person(NAME, f"timeout 5 strace -p {number} -o /dev/null"))[1]
            read = root.run(as_person(NAME, f"head -c 1 /proc/{number}/maps"))[1]
            ada.send("\x03")
            ada.expect(f"{ada.prompt}$", 60)
            expect_equal((program, "attached" in traced, "Operation not permitted" in traced), (program, is_open, not is_open))
            expect_equal((program, "Permission denied" in read), (program, not is_open))
    with checks.check("started by a tracer it has no group, and is refused"):
        status, said = root.run(as_person(NAME, f"strace -f -o /dev/null {OWN_GROUP} item find --account agent-only"))
        expect(status != 0 and "without the group" in said, said)
