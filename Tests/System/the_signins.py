"""sudo, login, sshd and passwd with pam_ostiary.so."""

import time

import two_users
from checks import Checks, expect, expect_equal
from console import Person
from machine import Machine
from two_users import ADA, EVE, PASSCODES, is_unlocked, persons

PASSWORD = "ada at the console"
NEW_PASSWORD = "ada at the window"
SUDO_PASSWORD = (r"\[sudo\] password for ada", PASSWORD + "\n")
#: Until sudo asks for the password where no daemon answers. The module waits two seconds; the machine is emulated.
FALLS_BACK_WITHIN = 6
SSH = (
    "ssh -F none -p 2222 -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o NumberOfPasswordPrompts=1 "
    "-o PreferredAuthentications={} eve@127.0.0.1 ostiary status --json"
)


def play(checks: Checks, machine: Machine, short: bool) -> None:
    two_users.begin(checks, machine)
    with checks.part("Logins that open the store", machine):
        logins(checks, machine)
    with checks.part("sshd", machine):
        remote(checks, machine)
    with checks.part("passwd", machine):
        changes(checks, machine)
    with checks.part("sudo", machine):
        sudo(checks, machine)


def use_profiles(machine: Machine, *names: str) -> None:
    update = "DEBIAN_FRONTEND=noninteractive pam-auth-update --package"
    machine.root.output(f"{update} --disable ostiary ostiary-store")
    if names:
        machine.root.output(f"{update} --enable {' '.join(names)}")
    lines = machine.root.run("grep -l pam_ostiary.so /etc/pam.d/common-*")[1]
    expect_equal(bool(lines), bool(names))


def allow_sudo(machine: Machine) -> None:
    machine.root.output("echo 'ada ALL=(ALL) ALL' > /etc/sudoers.d/ada; chmod 440 /etc/sudoers.d/ada")


def log_in_again(machine: Machine, password: str) -> None:
    machine.person.send("exit\n")
    machine.root.wait_for("! loginctl list-sessions --no-legend | grep -w ada", 60)
    machine.person.log_in(ADA, password)


def logins(checks: Checks, machine: Machine) -> None:
    ada = machine.person
    with checks.check("without the profiles no stack names the module"):
        expect(machine.root.run("grep -r pam_ostiary /etc/pam.d")[0] != 0, "a profile was on")
    with checks.check("with the profile a login with another password than the passcode succeeds, and the store stays closed"):
        use_profiles(machine, "ostiary-store")
        log_in_again(machine, PASSWORD)
        expect(not is_unlocked(ada), "the store is open")
    with checks.check("the login password becomes the passcode"):
        answers = (("Passcode", PASSCODES[ADA]), ("New passcode", PASSWORD + "\n"), ("Repeat new passcode", PASSWORD + "\n"))
        ada.typed("ostiary passcode follow-login", answers)
        PASSCODES[ADA] = PASSWORD + "\n"
    with checks.check("a login opens the store, and nothing more is asked"):
        machine.other_person.typed("ostiary lock")
        log_in_again(machine, PASSWORD)
        expect(is_unlocked(ada), "the store is closed")
        expect(not is_unlocked(machine.other_person), "eve's store is open too")


def remote(checks: Checks, machine: Machine) -> None:
    eve, root = machine.other_person, machine.root
    root.output("mkdir -p /run/sshd; /usr/sbin/sshd -o Port=2222 -o ListenAddress=127.0.0.1 -o PidFile=/run/sshd/test.pid "
                "-o KbdInteractiveAuthentication=yes -o PasswordAuthentication=yes")
    password = "eve at the console\n"
    with checks.check("a login by password opens the bound store"):
        answers = (("Passcode", PASSCODES[EVE]), ("New passcode", password), ("Repeat new passcode", password))
        eve.typed("ostiary passcode follow-login", answers)
        PASSCODES[EVE] = password
        eve.typed("ostiary lock")
        screen = machine.person.typed(SSH.format("password"), (("password", password),))
        expect('"unlocked" : true' in screen, screen[-600:])
    with checks.check("a keyboard-interactive login succeeds, and leaves the store closed: another process asks"):
        eve.typed("ostiary lock")
        screen = machine.person.typed(SSH.format("keyboard-interactive"), (("[Pp]assword", password),))
        expect('"unlocked" : false' in screen, screen[-600:])
    remote_passwords(checks, machine)
    root.run("kill $(cat /run/sshd/test.pid)")


def remote_passwords(checks: Checks, machine: Machine) -> None:
    """Eve's password is not her passcode, as most people's. sshd answers every question of a login by password with it."""
    eve, root = machine.other_person, machine.root
    password = "eve over the network"
    unlock = ("ostiary unlock", (("Passcode", PASSCODES[EVE]),))
    root.output(f"echo 'eve:{password}' | chpasswd")
    use_profiles(machine, "ostiary")
    try:
        for method in ("password", "keyboard-interactive"):
            with checks.check(f"with the profile a login by {method} takes the account's password, and costs no try of the passcode"):
                eve.typed("ostiary lock")
                eve.typed(*unlock)
                machine.person.typed(SSH.format(method), (("[Pp]assword", f"{password}\n"),))
                expect_equal(wrong_passcodes(eve), 0)
        with checks.check("where a line is for remote persons, a login by password succeeds too, and costs one"):
            root.output("sed -i '/pam_ostiary.so/s/$/ remote/' /etc/pam.d/common-auth")
            machine.person.typed(SSH.format("password"), (("password", f"{password}\n"),))
            expect_equal(wrong_passcodes(eve), 1)
    finally:
        root.output("sed -i '/pam_ostiary.so/s/ remote$//' /etc/pam.d/common-auth")
        use_profiles(machine, "ostiary-store")
        root.output(f"echo 'eve:{PASSCODES[EVE].strip()}' | chpasswd")
        # Logins try her password as the passcode again.
        eve.typed("ostiary lock")
        eve.typed(*unlock)


def wrong_passcodes(person: Person) -> int:
    return person.document("ostiary status --json")["passcode"]["failedAttempts"]


def changes(checks: Checks, machine: Machine) -> None:
    ada, root = machine.person, machine.root
    with checks.check("the owner's passwd changes the passcode too, and the next login opens the store"):
        new = NEW_PASSWORD + "\n"
        ada.typed("passwd", (("[Cc]urrent password", PASSWORD + "\n"), ("New password", new), ("Retype new password", new)))
        PASSCODES[ADA] = new
        log_in_again(machine, NEW_PASSWORD)
        expect(is_unlocked(ada), "the store is closed")
    with checks.check("a password that root set ends that: the login succeeds, the store stays closed, the passcode is the former one"):
        root.output(f"echo 'ada:{PASSWORD}' | chpasswd")
        log_in_again(machine, PASSWORD)
        expect(not is_unlocked(ada), "the store is open")
        ada.typed("ostiary unlock", (("Passcode", PASSCODES[ADA]),))


def sudo(checks: Checks, machine: Machine) -> None:
    ada, root = machine.person, machine.root
    allow_sudo(machine)
    use_profiles(machine, "ostiary", "ostiary-store")

    def sudo_with(*answers: tuple[str, str]) -> float:
        begin = time.monotonic()
        screen = ada.typed("sudo -k; sudo id -un", answers)
        expect("root" in screen.splitlines(), screen)
        return time.monotonic() - begin

    with checks.check("the passcode is enough"):
        sudo_with(("Passcode", PASSCODES[ADA]))
    with checks.check("a locked account is not asked for the passcode, and its password is refused"):
        root.output("passwd -l ada")
        try:
            ada.typed("sudo -k; sudo id -un", (SUDO_PASSWORD,) * 3, status=1)
        finally:
            root.output("passwd -u ada")
    with checks.check("after wrong passcodes it asks for the password"):
        sudo_with(*(("Passcode", f"wrong horse {number}\n") for number in range(3)), SUDO_PASSWORD)
    with checks.check("where the daemon hangs it asks for the password, soon"):
        number = root.output("systemctl show -p MainPID --value ostiaryd.service")
        root.output(f"kill -STOP {number}")
        try:
            took = sudo_with(SUDO_PASSWORD)
        finally:
            root.run(f"kill -CONT {number}")
        expect(took < FALLS_BACK_WITHIN, f"{took:.1f} s")
    with checks.check("without a daemon it asks for the password at once"):
        root.output("systemctl stop ostiaryd-pam.socket ostiaryd.socket ostiaryd.service")
        took = sudo_with(SUDO_PASSWORD)
        root.output("systemctl start ostiaryd-pam.socket ostiaryd.socket")
        expect(took < FALLS_BACK_WITHIN, f"{took:.1f} s")
    with checks.check("the log has each sign-in with its service"):
        expect("sudo" in ada.typed("ostiary log --last 20"), "no record")
    use_profiles(machine, "ostiary-store")
    try:
        sessions_of_others(checks, machine)
    finally:
        # Other parts log in with it.
        root.output(f"echo 'ada:{PASSWORD}' | chpasswd")
        use_profiles(machine)


def sessions_of_others(checks: Checks, machine: Machine) -> None:
    """Ada has eve's password, which is eve's passcode too. So only the module's look at whose password was typed keeps eve's store closed."""
    ada, eve, root = machine.person, machine.other_person, machine.root
    password = PASSCODES[EVE]
    root.output(f"echo 'ada:{password.strip()}' | chpasswd")

    def open_session(asked: str) -> bool:
        eve.typed("ostiary lock")
        ada.typed("sudo -k; sudo -i -u eve true", ((rf"\[sudo\] password for {asked}", password),))
        return is_unlocked(eve)

    with checks.check("the session that sudo opens for somebody else does not open that store with the caller's password"):
        expect(not open_session(ADA), "eve's store is open")
    with checks.check("the same session opens it with the same password, where sudo asks for that of the session's user"):
        root.output("echo 'Defaults:ada targetpw' >> /etc/sudoers.d/ada")
        try:
            expect(open_session(EVE), "eve's store is closed, so the check before shows nothing")
        finally:
            allow_sudo(machine)
