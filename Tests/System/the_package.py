"""apt installs the packages, and what they made is looked at."""

from checks import Checks, expect, expect_equal
from machine import Machine

FOLDER = "/var/lib/system-test/packages"
APT = "DEBIAN_FRONTEND=noninteractive apt-get --yes --quiet -o Dpkg::Use-Pty=0 --no-install-recommends"
HELPERS = ("ostiary-identity", "ostiary-display", "ostiary-prompt", "ostiary-sheet", "ostiary-vt", "ostiary-fido", "ostiary-association", "ostiary-pam")
ACCOUNTS = ("ostiary", *HELPERS)
#: They may not connect to the system bus.
WITHOUT_BUS = tuple(name for name in HELPERS if name != "ostiary-pam")
PROFILES = ("ostiaryd", "ostiary-templates", *WITHOUT_BUS)
HELPER_SOCKETS = "/run/ostiary/helpers"
SOCKETS = {
    "/run/ostiary/ostiaryd.socket": "666 root",
    "/run/ostiary/pam.socket": "666 root",
} | {
    f"{HELPER_SOCKETS}/{name}.socket": "600 ostiary"
    for name in ("association", "display", "fido", "identity", "pam", "prompt", "sheet", "templates", "vt")
}
#: The libraries for programs are for other machines.
INSTALLED = "ostiary ostiary-runtime ostiary-doors ostiary-fido ostiary-sheet libpam-ostiary"


def start(checks: Checks, machine: Machine) -> None:
    """All other parts need it."""
    with checks.part("The package", machine):
        with checks.check("the machine comes up"):
            machine.wait_until_up(300)
            state = machine.root.run("systemctl is-system-running --wait", 120)[1]
            expect(state == "running", machine.root.run("systemctl --failed; systemctl list-jobs")[1])
        with checks.check("apt installs it"):
            install(machine, FOLDER)
        look(checks, machine)


def install(machine: Machine, folder: str) -> None:
    """All packages of the list that are there; what they need is in the machine already, which has no network."""
    files = " ".join(f"$(ls ./{name}_*.deb 2> /dev/null)" for name in INSTALLED.split())
    machine.root.output(f"cd {folder} && {APT} install {files}", 600)


def look(checks: Checks, machine: Machine) -> None:
    root = machine.root
    with checks.check("there are the accounts, without a shell, and the folders, which are root's"):
        for name in ACCOUNTS:
            expect("/usr/sbin/nologin" in root.output(f"getent passwd {name}"), f"{name} has a shell")
            expect_equal(root.output(f"passwd --status {name}").split()[1], "L")
        expect("tss" in root.output("id -nG ostiary"), "ostiary may not open the chip")
        expect_equal(root.output("stat -c '%a %U %n' /run/ostiary /run/ostiary/helpers"), "755 root /run/ostiary\n711 root /run/ostiary/helpers")
    with checks.check("the sockets are there, and open after the next start too"):
        found = dict(line.split(" ", 1)[::-1] for line in root.output(f"stat -c '%a_%U %n' {' '.join(SOCKETS)}").splitlines())
        expect_equal({name: mode.replace("_", " ") for name, mode in found.items()}, SOCKETS)
        units = root.output("systemctl list-unit-files --no-legend 'ostiar*.socket'").splitlines()
        expect_equal(sorted(line.split()[0] for line in units if line.split()[1] != "enabled"), ["ostiary-templates.socket"])
    with checks.check("AppArmor enforces a profile for each program"):
        profiles = root.output("cat /sys/kernel/security/apparmor/profiles").splitlines()
        for name in PROFILES:
            expect(f"{name} (enforce)" in profiles, f"{name} is not enforced")
    with checks.check("systemd finds no fault in the units, and each unit's exposure is below 2.0"):
        units = "cd /usr/lib/systemd/system && systemd-analyze verify --man=no $(ls | grep ^ostiar | sed s/@/@1/) 2>&1 | grep ostiar"
        expect_equal(root.run(units)[1], "")
        scores = root.run("cd /usr/lib/systemd/system && systemd-analyze security --no-pager --offline=yes --threshold=20 ostiar*.service")
        expect(scores[0] == 0, "\n".join(line for line in scores[1].splitlines() if "Overall" in line))
    with checks.check("the helpers' accounts may not ask the system bus, and the daemon may"):
        for name in WITHOUT_BUS:
            expect(root.run(f"{as_account(name)} busctl --no-pager list")[0] != 0, f"{name} may ask")
        root.output(f"{as_account('ostiary')} busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager ListSessions")
    with checks.check("every file is the package's own"):
        # The machine's dpkg leaves manual pages and documents out.
        expect_equal(root.run(f"dpkg --verify {INSTALLED} 2> /dev/null | grep -vE '^missing +/usr/share/(doc|man)/'")[1], "")


def as_account(name: str) -> str:
    return f"setpriv --reuid={name} --regid={name} --init-groups"
