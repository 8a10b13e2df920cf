"""A user's own store on its way into the store of the machine: ostiary migrate, and what it must not lose."""

import contextlib

import two_users
from checks import Checks, expect, expect_equal
from machine import Machine
from the_attacks import as_person
from two_users import EVE

#: They are made for this part, so that the store of the machine has nothing of theirs.
MARA, NORA, CORA = USERS = ("mara", "nora", "cora")
PASSWORD = "fresh at the console"
PASSCODE = "moving castle 7\n"
SECRET = "a secret that moves"
SETTINGS = "/etc/ostiary/client.conf"
ASKED = ("Passcode", PASSCODE)
YES, NO = ("Type yes to go on", "yes\n"), ("Type yes to go on", "no\n")
#: The daemon of the store asks for its passcode. The machine's has none of the user's yet, and asks for a yes.
COPIED = (ASKED, YES)
MADE_AGAIN = "no longer has the copy that was made before. It is made again."
#: What a store of one's own is made of: without one of them nothing opens.
WHOLE = {"vault.sqlite", "device-secret"}


def play(checks: Checks, machine: Machine, short: bool) -> None:
    two_users.begin(checks, machine)
    try:
        with checks.part("A store of one's own moves into the machine's", machine):
            moves(checks, machine)
        if short:
            return
        with checks.part("A copy that is gone", machine):
            forgotten(checks, machine)
        with checks.part("A store that changed after its copy", machine):
            used_again(checks, machine)
    finally:
        if not has_session(machine, EVE):
            sit_down(machine, EVE, "eve at the console")


def moves(checks: Checks, machine: Machine) -> None:
    person = machine.other_person
    copy(checks, machine, MARA)
    with checks.check("with a yes the own store is removed for good, and nothing is copied again"):
        screen = person.typed("ostiary migrate", (YES,))
        expect("Removed your own store." in screen and "Copied" not in screen, screen)
        expect_equal(files(machine, MARA), {"migrated"})
    with checks.check("the passcode that came along opens the item in the machine's store"):
        expect_item(machine)


def forgotten(checks: Checks, machine: Machine) -> None:
    """The owner's answer was the last thing that kept the only copy, if the command believes a file of the person's."""
    person = machine.other_person
    copy(checks, machine, NORA)
    with checks.check("after root removed the copy, the command copies again before it removes anything, --force or not"):
        machine.root.output(f"ostiary admin forget-user {NORA} --now --force")
        screen = person.typed("ostiary migrate --force", COPIED)
        expect(MADE_AGAIN in screen and "Copied 1 items" in screen, screen)
        expect_equal(files(machine, NORA), {"migrated"})
    with checks.check("the item is in the machine's store"):
        expect_item(machine)


def used_again(checks: Checks, machine: Machine) -> None:
    person = machine.other_person
    copy(checks, machine, CORA)
    with checks.check("a yes to a question that stood while the own daemon was started removes nothing"):
        person.send("ostiary migrate\n")
        person.expect(f"{YES[0]}: $", 60)
        try:
            set_mode(machine, "user")
            machine.root.output(as_person(CORA, "ostiary status"))
            machine.root.output(f"pkill -u {CORA} -x ostiaryd")
            machine.root.wait_for(f"! pgrep -u {CORA} -x ostiaryd", 60)
        finally:
            set_mode(machine, "system")
        person.send(YES[1])
        person.expect("Your own daemon was started meanwhile", 60)
        person.expect(f"{person.prompt}$", 60)
        found = files(machine, CORA)
        expect(WHOLE <= found and not {"copied", "migrated"} & found, str(found))
    with checks.check("when the own daemon starts once more, the store is as it was and counts as copied no more"):
        with own_daemons(machine, CORA):
            person.typed("ostiary status")
            found = files(machine, CORA)
            expect_item(machine)
        expect("copied" not in found and WHOLE <= found, str(found))
    with checks.check("then the command removes nothing: the machine's store has another copy already"):
        # The passcode came along, so the machine's daemon asks for it, too.
        status, screen = person.type("ostiary migrate --force", (ASKED, ASKED))
        expect(status != 0 and "nothing was copied into it" in screen, f"exit {status}: {screen}")
        found = files(machine, CORA)
        expect(WHOLE <= found and not {"copied", "migrated"} & found, str(found))


def copy(checks: Checks, machine: Machine, name: str) -> None:
    """A fresh user makes a store of the own, copies it, and keeps it."""
    root, person = machine.root, machine.other_person
    with checks.check(f"{name} has a daemon of the own, which keeps a passcode and an item"):
        root.output(f"useradd --create-home --shell /bin/bash {name} && echo '{name}:{PASSWORD}' | chpasswd")
        sit_down(machine, name, PASSWORD)
        with own_daemons(machine, name):
            person.typed("ostiary passcode set", (("New passcode", PASSCODE), ("Repeat new passcode", PASSCODE)))
            person.typed(f"printf '{SECRET}' | ostiary item add --account mine --unguarded")
            root.output(f"pgrep -u {name} -x ostiaryd")
    with checks.check("ostiary migrate copies it, and keeps it when the removal is declined"):
        screen = person.typed("ostiary migrate", (*COPIED, NO), status=3)
        expect("Copied 1 items" in screen, screen)
        found = files(machine, name)
        expect({"copied"} | WHOLE <= found and "migrated" not in found, str(found))


def sit_down(machine: Machine, name: str, password: str) -> None:
    """Somebody else at the second console."""
    root, person = machine.root, machine.other_person
    if has_session(machine, EVE):
        person.send("exit\n")
    # A check that failed may have left a question of theirs there.
    root.run("; ".join(f"pkill -KILL -u {user}" for user in USERS))
    root.wait_for(f"! loginctl list-sessions --no-legend | grep -wE '{'|'.join((EVE, *USERS))}'", 60)
    person.log_in(name, password)


def has_session(machine: Machine, name: str) -> bool:
    return machine.root.run(f"loginctl list-sessions --no-legend | grep -w {name}")[0] == 0


@contextlib.contextmanager
def own_daemons(machine: Machine, name: str):
    """Programs use daemons of their users. Afterwards they use the machine's, and the user's own has ended."""
    set_mode(machine, "user")
    try:
        yield
        machine.other_person.typed(f"pkill -u {name} -x ostiaryd")
        machine.root.wait_for(f"! pgrep -u {name} -x ostiaryd", 60)
    finally:
        set_mode(machine, "system")


def set_mode(machine: Machine, mode: str) -> None:
    machine.root.output(f"sed -i 's/^mode = .*/mode = {mode}/' {SETTINGS} && grep -qx 'mode = {mode}' {SETTINGS}")


def files(machine: Machine, name: str) -> set[str]:
    return set(machine.root.output(f"ls -A /home/{name}/.local/state/ostiary").split())


def expect_item(machine: Machine) -> None:
    machine.other_person.typed("ostiary lock")
    found = machine.other_person.typed("ostiary item find --account mine", (ASKED,))
    expect(SECRET in found, found)
