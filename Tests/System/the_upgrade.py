"""An upgrade under a loop of calls of two users, removal, and purge."""

import two_users
from checks import Checks, expect, expect_equal
from machine import Machine
from the_attacks import as_person
from the_package import APT, install
from two_users import ADA, EVE, persons

NEXT = "/var/lib/system-test/next"
LOOP = "/usr/local/libexec/system-test/call-in-loop"
#: The registration of the command, which the first packages did not have.
REGISTRATION = "/etc/ostiary/apps.d/ostiary.conf"
#: A place in the machine in the box.
ASIDE = "/root/ostiary.conf"
FOLDER = "/etc/ostiary"
SETTINGS = f"{FOLDER}/ostiaryd.conf"
ROOTS_PROGRAM, ROOTS_REGISTRATION = "/usr/local/bin/of-root", f"{FOLDER}/apps.d/org.example.of-root.conf"
#: A package of somebody else registers its program, too. It is made in a place in the machine in the box.
NEIGHBOUR, NEIGHBOURS_REGISTRATION = "/root/neighbour", f"{FOLDER}/apps.d/neighbour.conf"
#: It needs no unlocked store.
CALL = "ostiary right list"
LEAST_CALLS = 20


def play(checks: Checks, machine: Machine, short: bool) -> None:
    two_users.begin(checks, machine)
    with checks.part("An upgrade", machine):
        upgrade(checks, machine)
    with checks.part("Removal and purge", machine):
        remove(checks, machine, short)


def upgrade(checks: Checks, machine: Machine) -> None:
    root = machine.root
    with checks.check("the command of a former package, which nobody registered, stores a right and an item"):
        root.output(f"mv {REGISTRATION} {ASIDE}")
        machine.person.typed("ostiary lock")
        machine.person.typed("ostiary unlock", two_users.asked(ADA))
        machine.person.typed("ostiary right create former-right --require passcode")
        machine.person.typed("printf 'former secret' | ostiary item add --service former --unguarded --secret -")
        root.output(f"mv {ASIDE} {REGISTRATION}")
    with checks.check("no call of two users is refused while it goes on, the daemon's restart included"):
        before = root.output("systemctl show -p MainPID --value ostiaryd.service; stat -c %i /run/ostiary/ostiaryd.socket").split()
        for name in (ADA, EVE):
            root.output(f"rm -f /tmp/{name}.calls*; ({as_person(name, f'{LOOP} /tmp/{name}.calls {CALL}')}) > /dev/null 2>&1 &")
        install(machine, NEXT)
        root.output("sleep 3; touch /tmp/ada.calls.stop /tmp/eve.calls.stop")
        after = root.output("systemctl show -p MainPID --value ostiaryd.service; stat -c %i /run/ostiary/ostiaryd.socket").split()
        for name in (ADA, EVE):
            calls, failed, *said = root.wait_for(f"cat /tmp/{name}.calls", 120).splitlines()
            expect(int(calls) >= LEAST_CALLS, f"{name} made {calls} calls")
            expect(failed == "0", f"{failed} of {calls} calls of {name} failed: {said}")
            checks.say(f"  {name}: {calls} calls, none refused")
        expect(before[0] != after[0], "the former daemon still runs")
        expect_equal(after[1], before[1])
    with checks.check("every helper that runs is the new one"):
        gone = root.run("ls -l /proc/[0-9]*/exe 2> /dev/null | grep 'libexec/ostiary/.*(deleted)'")[1]
        expect_equal(gone, "")
    with checks.check("the stores are as they were"):
        for name, person in persons(machine).items():
            expect(two_users.right_of(name) in person.typed("ostiary right list"), f"{name} has another store")
    with checks.check("what the former command stored is not lost: the doctor tells where it is, and there it is found"):
        ada = machine.person
        expect("former-right" in ada.typed("ostiary right list --all"), "the right is gone")
        # Other findings decide on the status.
        screen = ada.type("ostiary doctor")[1]
        expect("1 right of this command lies under its path /usr/bin/ostiary" in screen and REGISTRATION.rsplit("/", 1)[0] in screen, screen)
        root.output(f"mv {REGISTRATION} {ASIDE}")
        ada.typed("ostiary lock")
        found = ada.typed("ostiary item find --service former | tr f F", two_users.asked(ADA))
        listed = ada.typed("ostiary right list")
        root.output(f"mv {ASIDE} {REGISTRATION}")
        expect("Former secret" in found and "former-right" in listed, found + listed)
        expect("former-right" not in ada.typed("ostiary right list"), "the registration does not count")


def remove(checks: Checks, machine: Machine, short: bool) -> None:
    root = machine.root
    with checks.check("root writes settings and registers a program, and another package registers its own"):
        root.output(f"echo 'finger.on-terminals = any' > {SETTINGS}")
        root.output(f"install -m 755 /usr/bin/true {ROOTS_PROGRAM}")
        root.output(f"ostiary app register {ROOTS_PROGRAM} --id org.example.of-root --setgid of-root")
        install_neighbour(machine)
    with checks.check("removal with a profile of PAM on leaves sudo, login and passwd as they were before"):
        root.output("DEBIAN_FRONTEND=noninteractive pam-auth-update --package --enable ostiary ostiary-store")
        root.output(f"{APT} remove ostiary libpam-ostiary", 300)
        expect(root.run("grep -r pam_ostiary /etc/pam.d")[0] != 0, "a stack names the module")
        machine.person.send("exit\n")
        machine.person.log_in(ADA, "ada at the console")
    with checks.check("nothing of it runs or listens, and the stores and root's files are there"):
        expect_equal(root.run("pgrep -a -f ^/usr/libexec/ostiary")[1], "")
        expect_equal(root.run("ss -xl 2> /dev/null | grep /run/ostiary; ls /run/ostiary/*.socket /run/ostiary/helpers/*.socket 2> /dev/null")[1], "")
        root.output("test -e /var/lib/ostiary && test $(ls /var/lib/ostiary | wc -l) -gt 0")
        root.output(f"ls {SETTINGS} {ROOTS_REGISTRATION}")
        # Other parts' commands may have ended with an error. Their units are named by systemd-run, and the descriptions name the commands.
        expect_equal(root.run("systemctl --failed --plain --no-legend | cut -d ' ' -f 1 | grep ostiary")[1], "")
    if not short:
        with checks.check("installed again it finds the stores"):
            install(machine, NEXT)
            expect("2fa" in machine.person.typed("ostiary right list"), "another store")
    with checks.check("purge leaves the accounts, what another package brought, and nothing else"):
        root.output(f"{APT} purge ostiary libpam-ostiary '?name(^ostiary)'", 300)
        expect_equal(root.output(f"find {FOLDER} ! -type d"), NEIGHBOURS_REGISTRATION)
        root.output("dpkg --purge neighbour")
        left = root.run("find / -xdev -iname '*ostiary*' -not -path '/var/lib/system-test/*' -not -path '/proc/*' -not -path '/sys/*' "
                        "-not -path '/home/*' -not -path '/var/log/*' -not -path '/usr/local/*' -not -path '/var/lib/systemd/*' -not -path '/run/*' -not -path '/var/cache/apparmor/*' 2> /dev/null")[1]
        expect_equal(left, "")
        root.output("getent passwd ostiary")
    if short:
        return
    with checks.check("installed after a purge it finds no store"):
        install(machine, NEXT)
        expect("2fa" not in machine.person.typed("ostiary right list"), "a store survived")


def install_neighbour(machine: Machine) -> None:
    control = "Package: neighbour\\nVersion: 1\\nArchitecture: all\\nMaintainer: Nobody <nobody@example.org>\\nDescription: registers a program\\n"
    registration = "application-id = org.example.neighbour\\npath = /usr/bin/false\\n"
    for file, text in (("DEBIAN/control", control), ("DEBIAN/conffiles", f"{NEIGHBOURS_REGISTRATION}\\n"), (NEIGHBOURS_REGISTRATION[1:], registration)):
        machine.root.output(f"install -D -m 644 /dev/null {NEIGHBOUR}/{file} && printf '{text}' > {NEIGHBOUR}/{file}")
    machine.root.output(f"dpkg-deb --root-owner-group --build {NEIGHBOUR} {NEIGHBOUR}.deb && dpkg --install {NEIGHBOUR}.deb && rm -r {NEIGHBOUR} {NEIGHBOUR}.deb")
