"""Secrets for a command, and for a unit of the user manager, which asks as systemd itself does."""

from checks import Checks, expect, expect_equal
from machine import Machine
from the_person import ASKED, typed

DOOR = "/usr/local/libexec/ostiary/ostiary-credentials"
UNITS = "~/.config/systemd/user"
RULES = "~/.config/ostiary/credentials.conf"
GROUP = "ostiary.doors"
#: EXIT_CREDENTIALS of systemd.exec(5).
NO_CREDENTIALS = "243"


def play(checks: Checks, machine: Machine) -> None:
    with checks.part("Secrets for a command and for a unit", machine):
        command(checks, machine)
        register(checks, machine)
        unit(checks, machine)
        typed(machine, "ostiary app remove org.ostiary.command", ASKED)


def command(checks: Checks, machine: Machine) -> None:
    with checks.check("ostiary run asks once, names the command, and hands both secrets over"):
        for service in ("one", "two"):
            typed(machine, f"printf 'secret {service}' | ostiary item add --service {service} --require passcode --secret -")
        run = "ostiary run --secret A=one --file B=two -- sh -c 'cat \"$A\" \"$B\" | tr s S'"
        screen = typed(machine, run, ASKED)
        expect("Secret oneSecret two" in screen, screen)
        expect("run /usr/bin/sh" in screen and "with A, B" in screen, screen)
    with checks.check("declined, it starts nothing"):
        typed(machine, "ostiary run --secret A=one -- touch started", (("Passcode", "\x03"),), status=3)
        typed(machine, "test -e started", status=1)


def register(checks: Checks, machine: Machine) -> None:
    with checks.check("the door and the command share a group"):
        typed(machine, f"ostiary app register {DOOR} --id org.ostiary.credentials --group {GROUP} --door", ASKED)
        typed(machine, f"ostiary app register /usr/local/bin/ostiary --id org.ostiary.command --group {GROUP}", ASKED)
        typed(machine, f"printf 'secret of a unit' | ostiary item add --service backup --group {GROUP} --unguarded --secret -")
        typed(machine, f"mkdir -p {UNITS} ~/.config/ostiary && echo 'reader.service key = backup' > {RULES}")
    with checks.check("the socket starts with the user manager"):
        typed(machine, "systemctl --user daemon-reload && systemctl --user start ostiary-credentials.socket")
        expect_equal(typed(machine, "stat -c %a $XDG_RUNTIME_DIR/ostiary/credentials.sock").split()[-1], "600")


def unit(checks: Checks, machine: Machine) -> None:
    with checks.check("LoadCredential= gets the item that the rule names"):
        write_unit(machine, "reader", "key")
        typed(machine, "systemctl --user start reader.service")
        expect("Secret of a unit" in typed(machine, "tr s S < reader.out"), "another credential")
    with checks.check("a unit without a rule does not start, with an empty credential neither"):
        for name, credential in (("other", "key"), ("reader", "tls")):
            write_unit(machine, name, credential)
            typed(machine, f"rm -f {name}.out; systemctl --user start {name}.service", status=1)
            screen = typed(machine, f"systemctl --user show -p ExecMainStatus {name}.service; ls {name}.out", status=2)
            expect(f"ExecMainStatus={NO_CREDENTIALS}" in screen, screen)
    with checks.check("the journal says why"):
        lines = machine.root.output("journalctl --no-pager -o cat _SYSTEMD_USER_UNIT=ostiary-credentials.service")
        expect("other.service asked for key, and no rule gives it that." in lines, lines)


def write_unit(machine: Machine, name: str, credential: str) -> None:
    lines = (
        "[Service]", "Type=oneshot", f"LoadCredential={credential}:%t/ostiary/credentials.sock",
        f"ExecStart=/bin/cp %d/{credential} %h/{name}.out",
    )
    quoted = " ".join(f"'{line}'" for line in lines)
    typed(machine, f"printf '%s\\n' {quoted} > {UNITS}/{name}.service && systemctl --user daemon-reload")
