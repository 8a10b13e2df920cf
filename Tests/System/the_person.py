"""The README at a console: a plain user logs in, and lives with Ostiary."""

import re
import time

from checks import Checks, expect, expect_equal
from machine import Machine

NAME = "ada"
PASSWORD = "ada at the console"
PASSCODE = "correct horse 9\n"
NEW = (("New passcode", PASSCODE), ("Repeat new passcode", PASSCODE))
ASKED = (("Passcode", PASSCODE),)
#: What makes root's command one of the person's session.
AS_PERSON = f"runuser -u {NAME} -- env XDG_RUNTIME_DIR=/run/user/$(id -u {NAME})"
#: Context switches of the whole daemon in this time.
IDLE_SECONDS = 10
#: For that long after the last request the daemon may still write its log to the disk.
SETTLING_SECONDS = 7


def start(checks: Checks, machine: Machine) -> None:
    with checks.part("The machine", machine):
        with checks.check("it comes up"):
            machine.wait_until_up(300)
        with checks.check("systemd started everything"):
            failed = machine.root.run("systemctl is-system-running --wait", 120)[1]
            expect(failed == "running", machine.root.run("systemctl --failed; systemctl list-jobs")[1])


def begin(checks: Checks, machine: Machine) -> None:
    """Logs in and starts: all other parts of the person need it."""
    with checks.part("A person at a console", machine):
        log_in(checks, machine)
        first_steps(checks, machine)


def play(checks: Checks, machine: Machine) -> None:
    with checks.part("The README at a console", machine):
        readme(checks, machine)
    with checks.part("The user manager's daemon", machine):
        daemon(checks, machine)
    with checks.part("The lock of the session", machine):
        session_lock(checks, machine)


def typed(machine: Machine, command: str, answers=(), status: int = 0, within: float = 180) -> str:
    return machine.person.typed(command, answers, status, within)


def document(machine: Machine, command: str) -> dict:
    return machine.person.document(command)


def log_in(checks: Checks, machine: Machine) -> None:
    with checks.check("a plain user logs in"):
        machine.person.log_in(NAME, PASSWORD)
    with checks.check("logind has a session for the terminal"):
        screen = typed(machine, "loginctl show-session $XDG_SESSION_ID -p Name -p TTY -p Type -p Active")
        for line in (f"Name={NAME}", "TTY=ttyS1", "Type=tty", "Active=yes"):
            expect(line in screen, f"no {line}")


def first_steps(checks: Checks, machine: Machine) -> None:
    with checks.check("the first call starts the daemon"):
        expect_equal(document(machine, "ostiary status --json")["passcode"]["isSet"], False)
    with checks.check("ostiary passcode set"):
        typed(machine, "ostiary passcode set", NEW)
    with checks.check("ostiary right create, public-key"):
        screen = typed(machine, "ostiary right create 2fa --require passcode")
        expect("Created 2fa, which requires passcode." in screen, "another notice")
        typed(machine, "ostiary right public-key 2fa --output 2fa.pem && openssl rand -out challenge.bin 32")


def readme(checks: Checks, machine: Machine) -> None:
    with checks.check("ostiary right sign asks for the passcode, and OpenSSL accepts the signature"):
        sign = "ostiary right sign 2fa challenge.bin --output challenge.sig --force --reason 'sign in to example.org'"
        screen = typed(machine, sign, ASKED)
        expect("sign in to example.org" in screen and "/usr/local/bin/ostiary" in screen, "another question")
        expect(PASSCODE.strip() not in machine.person.transcript, "the passcode is on the screen")
        screen = typed(machine, "openssl dgst -sha256 -verify 2fa.pem -signature challenge.sig challenge.bin")
        expect("Verified OK" in screen, "no valid signature")
    with checks.check("a wrong passcode is refused, three times"):
        wrong = (("Passcode", "wrong horse 9\n"),) * 3
        typed(machine, "ostiary right sign 2fa challenge.bin --output wrong.sig", wrong, status=3)
        typed(machine, "test -e wrong.sig", status=1)
    with checks.check("a program without a terminal gets no signature"):
        typed(machine, "setsid --wait ostiary right sign 2fa challenge.bin --output wrong.sig < /dev/null", status=3)
        typed(machine, "test -e wrong.sig", status=1)
    with checks.check("the example signs with Apple's calls"):
        screen = typed(machine, "/usr/local/libexec/system-test/sign-challenge challenge.bin app.sig app.pem", ASKED)
        expect("Authorized and signed." in screen, "not signed")
        typed(machine, "openssl dgst -sha256 -verify app.pem -signature app.sig challenge.bin")
    with checks.check("the log shows it, and is intact"):
        screen = typed(machine, "ostiary log --last 3")
        expect(re.search(r"granted +sign “2fa” by /usr/local/libexec/system-test/sign-challenge", screen), "no record")
        typed(machine, "ostiary log --verify", ASKED)
    with checks.check("the doctor finds no problem"):
        findings = document(machine, "ostiary doctor --json")["findings"]
        bad = [each for each in findings if each["verdict"] == "problem"]
        expect(not bad, str(bad))
        expect_equal([each["verdict"] for each in findings if each["check"] == "session lock"], ["ok"])


def daemon(checks: Checks, machine: Machine) -> None:
    root = machine.root
    last_request = time.monotonic()
    with checks.check("it is the unit's, below the user manager, and the only one"):
        expect_equal(root.output(f"{AS_PERSON} systemctl --user is-active ostiaryd.service"), "active")
        number = root.output(f"{AS_PERSON} systemctl --user show -p MainPID --value ostiaryd.service")
        expect_equal(root.output(f"pgrep -x -u {NAME} ostiaryd"), number)
        group = root.output(f"cat /proc/{number}/cgroup")
        expect(re.search(r"/user-\d+\.slice/user@\d+\.service/.*ostiaryd\.service$", group), group)
    with checks.check("the unit's restrictions hold"):
        status = root.output(f"cat /proc/{number}/status")
        for line in (r"NoNewPrivs:\s+1", r"Seccomp:\s+2", r"CapEff:\s+0+", r"CapPrm:\s+0+"):
            expect(re.search(f"^{line}$", status, re.MULTILINE), f"no {line}:\n{status}")
        expect_equal(root.output(f"awk '/Max core file size/ {{ print $5, $6 }}' /proc/{number}/limits"), "0 0")
        expect(root.run(f"setpriv --reuid={NAME} --regid={NAME} --clear-groups cat /proc/{number}/maps")[0] != 0, "traceable")
    with checks.check("the unit's programs open the sockets that they need, and no others"):
        # The same unit around another program: what the daemon starts inherits the restrictions.
        root.output(
            "sed -e 's/^Type=.*/Type=oneshot/' "
            "-e 's|^ExecStart=.*|ExecStart=/usr/local/libexec/system-test/socket-families %t/socket-families|' "
            "/usr/local/lib/systemd/user/ostiaryd.service > /etc/systemd/user/socket-families.service"
        )
        root.output(f"{AS_PERSON} systemctl --user daemon-reload")
        root.output(f"{AS_PERSON} systemctl --user start socket-families.service")
        expect_equal(root.output(f"cat /run/user/$(id -u {NAME})/socket-families"), "AF_INET AF_INET6 AF_NETLINK AF_UNIX")
    # 0.3 of it are the sockets of the internet and of netlink: one sandbox holds for the daemon and for what asks domains.
    with checks.check("systemd-analyze security says at most 6.6 of 10"):
        root.output(f"{AS_PERSON} systemd-analyze security --user --no-pager --threshold=66 ostiaryd.service | tail -n 1")
    with checks.check("another user reaches neither its socket nor its store"):
        folder = root.output(f"echo /run/user/$(id -u {NAME})")
        as_eve = f"setpriv --reuid=eve --regid=eve --clear-groups env XDG_RUNTIME_DIR={folder}"
        expect_equal(root.run(f"test -S {folder}/ostiary/ostiaryd.socket")[0], 0)
        for path in (f"{folder}/ostiary/ostiaryd.socket", f"/home/{NAME}/.local/state/ostiary/device-secret"):
            status, output = root.run(f"{as_eve} stat {path}")
            expect(status != 0 and "Permission denied" in output, output)
    with checks.check("an idle daemon sleeps"):
        time.sleep(max(0, last_request + SETTLING_SECONDS - time.monotonic()))
        before = context_switches(machine, number)
        time.sleep(IDLE_SECONDS)
        after = context_switches(machine, number)
        woken = {thread: after[thread] - before.get(thread, 0) for thread in after if after[thread] != before.get(thread)}
        expect(sum(woken.values()) <= 1, f"context switches: {woken}")


def context_switches(machine: Machine, number: str) -> dict[str, int]:
    """For each thread of a process how often it ran."""
    command = f"cd /proc/{number}/task && for each in *; do echo $each-$(cat $each/comm) $(grep ctxt_switches $each/status); done"
    counts = {}
    for line in machine.root.output(command).splitlines():
        thread, *words = line.split()
        counts[thread] = sum(int(word) for word in words if word.isdigit())
    return counts


def session_lock(checks: Checks, machine: Machine) -> None:
    with checks.check("the store is open after the passcode"):
        expect_equal(document(machine, "ostiary status --json")["unlocked"], True)
    with checks.check("loginctl lock-session locks it"):
        typed(machine, "printf token | ostiary item add --account mail --unguarded")
        expect("token" in typed(machine, "ostiary item find --account mail"), "no secret")
        typed(machine, "loginctl lock-session")
        machine.root.wait_for(f"{AS_PERSON} ostiary status --json | grep -q '\"unlocked\" : false'")
        screen = typed(machine, "ostiary log --last 1")
        expect("session lock (systemd-logind)" in screen, "no record")
    with checks.check("the item opens only with the passcode"):
        typed(machine, "setsid --wait ostiary item find --account mail < /dev/null", status=3)
        expect("token" in typed(machine, "ostiary item find --account mail", ASKED), "no secret")


def leave(checks: Checks, machine: Machine) -> None:
    """The end of the last session ends the user manager, and the daemon with it."""
    with checks.part("The end of the session", machine):
        with checks.check("ends the daemon"):
            machine.person.send("exit\n")
            machine.root.wait_for(f"! pgrep -x -u {NAME} ostiaryd")
        with checks.check("the next one finds the store locked, and opens it"):
            machine.person.log_in(NAME, PASSWORD)
            status = document(machine, "ostiary status --json")
            expect_equal((status["passcode"]["isSet"], status["unlocked"]), (True, False))
            typed(machine, "ostiary right authorize 2fa", ASKED)
