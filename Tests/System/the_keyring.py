"""The keyring of a session: the person's bus and service manager start the doors, and secret-tool and OpenSC's pkcs11-tool use them."""

import re

import two_users
from checks import Checks, expect, expect_equal
from console import Person
from machine import Machine
from the_attacks import as_person
from two_users import ADA, PROGRAMS, asked, is_unlocked

NAME, PORTAL_NAME = "org.freedesktop.secrets", "org.freedesktop.impl.portal.desktop.ostiary"
SERVICE, PORTAL_SERVICE = "ostiary-secrets.service", "ostiary-secrets-portal.service"
DOOR = "ostiary-pkcs11d"
LIBEXEC = "/usr/libexec/ostiary"
DATA, CONFIGURATION = f"/home/{ADA}/.local/share", f"/home/{ADA}/.config"
WRITTEN = (f"{DATA}/dbus-1/services/{NAME}.service", f"{CONFIGURATION}/autostart/gnome-keyring-secrets.desktop")
LABEL, SECRET = "Mail", "quiet harbour 3"
LOOKUP = "secret-tool lookup user me"
GROUP = "ostiary.doors"
TOOL = "pkcs11-tool --module /usr/lib/x86_64-linux-gnu/pkcs11/libostiary-pkcs11.so"
#: What programs are told.
NO_SERVICE = f"secret-tool: The name {NAME} was not provided by any .service files"
CANCELLED = "secret-tool: Cancelled; nothing was done."
UNASKED = "secret-tool: The person must be asked, and this call asks nobody."
NOT_THE_PORTAL = (
    "org.freedesktop.DBus.Error.AccessDenied: Only the portal (org.freedesktop.portal.Desktop, the system's xdg-desktop-portal) asks for "
    "secrets of applications."
)


def play(checks: Checks, machine: Machine, short: bool) -> None:
    two_users.begin(checks, machine)
    with checks.part("The portal's backend, while no keyring is enabled", machine):
        portal(checks, machine)
    with checks.part("The keyring of a session", machine):
        keyring(checks, machine)
    with checks.part("A door for PKCS #11 behind its socket", machine):
        keys(checks, machine)
    with checks.part("The end of the keyring", machine):
        leave(checks, machine)
    # Also after a check that failed: an upgrade looks for programs of the former packages.
    machine.root.run(as_person(ADA, f"systemctl --user stop {SERVICE} {PORTAL_SERVICE} {DOOR}.socket {DOOR}.service"))


def portal(checks: Checks, machine: Machine) -> None:
    ada = machine.person
    with checks.check("before it is enabled nobody has the name, and the bus starts nobody for it"):
        expect_refused(ada, NO_SERVICE)
        expect_lines(
            ada.typed("ostiary secrets status"),
            *("Ostiary's keyring is not enabled; `ostiary secrets enable` does that.", f"Nobody has the name {NAME} now."),
        )
        expect_equal(states(machine, PORTAL_SERVICE, SERVICE), ["inactive", "inactive"])
    with checks.check("a call to the portal's backend starts its unit, and only the portal gets a secret, not whoever has its name"):
        for name in ("", "org.freedesktop.portal.Desktop"):
            expect_lines(ada.typed(f"{PROGRAMS}/ask-portal {name}"), NOT_THE_PORTAL, "bytes: 0")
        expect_equal(states(machine, PORTAL_SERVICE, SERVICE), ["active", "inactive"])
        expect_equal(owner(machine, PORTAL_NAME), process(machine, PORTAL_SERVICE))
    with checks.check("it took no keyring's place"):
        expect_equal(owner(machine, NAME), None)
        expect_refused(ada, NO_SERVICE)


def keyring(checks: Checks, machine: Machine) -> None:
    root, ada = machine.root, machine.person
    with checks.check("ostiary secrets enable writes both files, and starts nothing"):
        said = [f"Wrote {path}." for path in WRITTEN] + ["The bus starts Ostiary's service when a program asks for a password."]
        expect_lines(ada.typed("ostiary secrets enable"), *said)
        lines = root.output(f"cat {WRITTEN[0]}").splitlines()
        expect_equal(lines[1:], ["[D-BUS Service]", f"Name={NAME}", f"Exec={LIBEXEC}/ostiary-secrets serve", f"SystemdService={SERVICE}"])
        expect_equal((owner(machine, NAME), states(machine, SERVICE)), (None, ["inactive"]))
    with checks.check("secret-tool stores: the bus has the unit started, beside the portal's"):
        ada.typed("ostiary lock")
        ada.typed("ostiary unlock", asked(ADA))
        screen = ada.typed(f"secret-tool store --label={LABEL} user me", (("Password", f"{SECRET}\n"),))
        expect(SECRET not in screen, "what is typed is shown")
        expect_equal(states(machine, PORTAL_SERVICE, SERVICE), ["active", "active"])
        number = process(machine, SERVICE)
        expect_equal(owner(machine, NAME), number)
        expect_equal(root.output(f"readlink /proc/{number}/exe"), f"{LIBEXEC}/ostiary-secrets")
        expect_equal(owner(machine, PORTAL_NAME), process(machine, PORTAL_SERVICE))
    with checks.check("another process of it gets the secret back without a question, and the status says who serves"):
        expect(SECRET in ada.typed(LOOKUP), "another secret")
        expect_lines(
            ada.typed("ostiary secrets status"),
            *("Ostiary's keyring is enabled.", f"ostiary-secrets (process {number}) has the name {NAME} now.", "Stored: 1 item in 1 collection."),
        )
    with checks.check("the machine's daemon starts again: the unit goes on, and one answer opens the store for the next look-up"):
        root.output("systemctl restart ostiaryd.service")
        expect(not is_unlocked(ada), "the store is open")
        screen = ada.typed(LOOKUP, asked(ADA))
        expect_question(screen, "secret-tool", "ostiary-secrets", r"open the store$", r"“unlock the keyring”")
        expect(SECRET in screen, "another secret")
        expect_equal(process(machine, SERVICE), number)
    with checks.check("with a rule the item asks on the terminal of the program that reads it, and one answer gives the secret"):
        screen = ada.typed("ostiary secrets rule user=me --require passcode")
        expect_lines(screen, f"1 item matches: “{LABEL}”.", "Changed 1 item: reading requires passcode.")
        screen = ada.typed(LOOKUP, asked(ADA))
        expect_question(screen, "secret-tool", "ostiary-secrets", rf"For +{LABEL}$", rf"“read .{LABEL}. in the keyring”")
        expect(SECRET in screen, "another secret")
    with checks.check("it asks the next process, too, which gets nothing when the person declines, or where nobody can be asked"):
        expect_refused(ada, CANCELLED, (("Passcode", "\x03"),))
        expect_refused(ada, UNASKED, command=f"setsid --wait {LOOKUP} < /dev/null")
    with checks.check("no unit was started a second time"):
        expect_equal((owner(machine, NAME), process(machine, SERVICE)), (number, number))


def keys(checks: Checks, machine: Machine) -> None:
    root, ada = machine.root, machine.person
    with checks.check("its socket starts with the service manager of the person, and no door runs yet"):
        ada.typed(f"systemctl --user start {DOOR}.socket")
        expect_equal(ada.typed("stat -c %a $XDG_RUNTIME_DIR/ostiary/pkcs11.sock").split()[-1], "600")
        expect_equal(states(machine, f"{DOOR}.socket", f"{DOOR}.service"), ["active", "inactive"])
    with checks.check("pkcs11-tool lists a key of the doors' group, unasked: its connection starts the unit, and no other door"):
        ada.typed(f"ostiary right create tls --group {GROUP} --require passcode")
        screen = ada.typed(f"{TOOL} --list-objects")
        found = re.findall(r"^(Private|Public) Key Object; EC.*\n(?: .*\n)*?  label: +tls$", screen, re.MULTILINE)
        expect_equal(sorted(found), ["Private", "Public"])
        expect_equal(states(machine, f"{DOOR}.service"), ["active"])
        expect_equal(root.output(f"pgrep -u {ADA} -x {DOOR}"), process(machine, f"{DOOR}.service"))
    with checks.check("it signs after one answer, and OpenSSL accepts the signature"):
        sign = "--sign --mechanism ECDSA-SHA256 --label tls --input-file challenge.bin --signature-format openssl --output-file tls.sig"
        screen = ada.typed(f"{TOOL} {sign}", asked(ADA))
        expect_question(screen, "pkcs11-tool", DOOR, r"For +tls$", r"“sign \(PKCS #11\)”")
        ada.typed(f"ostiary right public-key tls --group {GROUP} --output tls.pem")
        ada.typed("openssl dgst -sha256 -verify tls.pem -signature tls.sig challenge.bin")
        ada.typed(f"ostiary right remove tls --group {GROUP} --force")


def leave(checks: Checks, machine: Machine) -> None:
    root, ada = machine.root, machine.person
    with checks.check("ostiary secrets disable takes both files away, and names what still runs"):
        number = process(machine, SERVICE)
        expect_lines(
            ada.typed("ostiary secrets disable"),
            *(f"Removed {path}." for path in WRITTEN),
            f"ostiary-secrets (process {number}) serves {NAME} until your session ends. `systemctl --user stop {SERVICE}` ends it now, where "
            "systemd started it.",
            "What is stored stays in Ostiary's store; `ostiary secrets list` shows it.",
        )
        root.output(" && ".join(f"test ! -e {path}" for path in WRITTEN))
        expect_lines(ada.typed("ostiary secrets disable"), "It was not enabled, so nothing was changed.")
    with checks.check("stopped, the unit gives the name back, and the bus starts nobody for it"):
        ada.typed(f"systemctl --user stop {SERVICE}")
        expect_equal(owner(machine, NAME), None)
        expect_refused(ada, NO_SERVICE)
        expect_equal(states(machine, SERVICE), ["inactive"])
    with checks.check("the other units stop, too: no door runs, and none has failed"):
        ada.typed(f"systemctl --user stop {PORTAL_SERVICE} {DOOR}.socket")
        expect_equal(states(machine, PORTAL_SERVICE, f"{DOOR}.socket", f"{DOOR}.service"), ["inactive"] * 3)
        root.output(f"test ! -e /run/user/$(id -u {ADA})/ostiary/pkcs11.sock")
        expect_equal(root.run(f"pgrep -u {ADA} -a -f ^{LIBEXEC}/")[1], "")
    with checks.check("what was stored is there, with its rule"):
        screen = ada.typed("ostiary secrets list user=me")
        expect(re.search(rf"^{LABEL} +Login +passcode ", screen, re.MULTILINE), screen)


def states(machine: Machine, *units: str) -> list[str]:
    return machine.root.output(as_person(ADA, f"systemctl --user show -p ActiveState --value {' '.join(units)}")).split()


def process(machine: Machine, unit: str) -> str:
    """The number of its main process; 0 where it does not run."""
    return machine.root.output(as_person(ADA, f"systemctl --user show -p MainPID --value {unit}"))


def owner(machine: Machine, name: str) -> str | None:
    """The process that has a name of the session's bus. The question starts nobody."""
    if ask_bus(machine, "NameHasOwner", name) == "b false":
        return None
    return ask_bus(machine, "GetConnectionUnixProcessID", name).removeprefix("u ")


def ask_bus(machine: Machine, member: str, name: str) -> str:
    bus = "org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus"
    return machine.root.output(as_person(ADA, f"busctl --user --no-pager call {bus} {member} s {name}"))


def expect_refused(ada: Person, words: str, answers: tuple[tuple[str, str], ...] = (), command: str = LOOKUP) -> None:
    screen = ada.typed(command, answers, status=1)
    expect_lines(screen, words)
    expect(SECRET not in screen, "the secret is there")


def expect_question(screen: str, program: str, door: str, *patterns: str) -> None:
    """Program and door are facts of the daemon."""
    for pattern in (rf"Program +/usr/bin/{program} \(process \d+\)$", rf"Through +{LIBEXEC}/{door}$", *patterns):
        expect(re.search(pattern, screen, re.MULTILINE), f"no /{pattern}/: {screen[-1000:]}")


def expect_lines(screen: str, *lines: str) -> None:
    for line in lines:
        expect(line in screen.splitlines(), f"no line {line!r}: {screen[-1000:]}")
