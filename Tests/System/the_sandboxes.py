"""What the units, accounts and profiles let each program of the package do: sandbox-probe takes its place and tries."""

import contextlib
import signal

from checks import Checks, expect, expect_equal
from machine import Machine
from the_package import as_account

PROGRAMS = "/usr/local/libexec/system-test"
INSTALLED = "/usr/libexec/ostiary"
HELPERS = "/run/ostiary/helpers"
FAMILIES = ("AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET", "AF_VSOCK")
DEVICES = ("/dev/hidraw0", "/dev/tpmrm0", "/dev/tpm0", "/dev/tty8", "/dev/vcs8", "/dev/uhid", "/dev/mem", "/dev/kmsg", "/dev/nvme0n1", "/dev/null")
BAD_CALL = "ended (SIGSYS)"
#: CAP_SYS_PTRACE and CAP_DAC_OVERRIDE, as bits. All others have none.
CAPABILITIES = {"ostiary-identity": 1 << 19, "ostiary-display": 1 << 1}
PLACE = f"{HELPERS}/vt.socket"
#: The account and the profile, where they are not named like the program.
ACCOUNTS = {"ostiaryd": "ostiary", "ostiary-templates": "root", PLACE: "ostiary-vt"}
PROFILES = {PLACE: "ostiary-vt"}
#: It executes modules of others, so no profile could say what it may do.
WITHOUT_PROFILE = "ostiary-pam"
#: Program, its socket, and what it may do of the attempts below.
SERVICES = (
    ("ostiaryd", "/run/ostiary/ostiaryd.socket", {"socket AF_NETLINK", "change /dev/tpmrm0", "read /proc/1/stat", "connect HELPERS"}),
    ("ostiary-identity", f"{HELPERS}/identity.socket", {"read /proc/1/stat", "read MAPS"}),
    ("ostiary-display", f"{HELPERS}/display.socket", {"read /run/user/ID"}),
    ("ostiary-prompt", f"{HELPERS}/prompt.socket", set()),
    ("ostiary-prompt", PLACE, {"change /dev/tty8"}),
    ("ostiary-sheet", f"{HELPERS}/sheet.socket", set()),
    ("ostiary-pam", f"{HELPERS}/pam.socket", {"execute /bin/true", f"execute {INSTALLED}/ostiary-pam", "code"}),
    ("ostiary-fido", f"{HELPERS}/fido.socket", {"change /dev/hidraw0"}),
    ("ostiary-association", f"{HELPERS}/association.socket", {"socket AF_INET", "socket AF_INET6", "socket AF_NETLINK"}),
    ("ostiary-templates", f"{HELPERS}/templates.socket", {"read /var/lib/fprint"}),
)


def play(checks: Checks, machine: Machine, short: bool) -> None:
    root = machine.root
    with checks.part("The sandboxes", machine):
        with checks.check("each helper starts in its sandbox and greets"):
            names = ("prompt", "sheet", "fido", "association", "pam", "vt", "identity", "display")
            said = root.output(f"{PROGRAMS}/greet-helper {' '.join(f'{HELPERS}/{name}.socket' for name in names)}")
            expect([line.split()[1] for line in said.splitlines()] == ["01"] * len(names), said)
        prepare(machine)
    for program, socket, allowed in SERVICES:
        with checks.part(f"The sandbox of {program} behind {socket}", machine):
            with checks.check("it may do what its unit says, and nothing else"):
                look_into(machine, program, socket, allowed)
    the_place(checks, machine)
    failures(checks, machine)
    descriptors(checks, machine)
    attacks_of_helpers(checks, machine)
    displays(checks, machine)


def prepare(machine: Machine) -> None:
    root = machine.root
    root.output("modprobe uhid tpm_tis 2> /dev/null; test -c /dev/tpmrm0")
    # As fprintd makes it at its first start.
    root.output("chmod 700 /var/lib/fprint")
    # Its folder in /run/user goes when nothing needs it.
    root.output("systemctl start user@$(id -u ada).service")
    root.output("runuser -u ada -- sleep 100000 > /dev/null 2>&1 &")
    # A device that udev takes for a security key.
    root.output(f"{PROGRAMS}/plug-in-key > /dev/null 2>&1 &")
    root.wait_for("test -c /dev/hidraw0 && udevadm settle")


@contextlib.contextmanager
def replaced(machine: Machine, program: str, by: str):
    """Another program at this one's place: unit, account and profile stay."""
    root = machine.root
    root.output(f"mount --bind {PROGRAMS}/{by} {INSTALLED}/{program}")
    root.output("systemctl stop ostiaryd.service ostiary-identity.service 2> /dev/null")
    try:
        yield
    finally:
        root.run(f"systemctl stop ostiaryd.service ostiary-identity.service '{program}@*' 2> /dev/null; umount {INSTALLED}/{program}")


def attempts(machine: Machine, victim: str) -> dict[str, str]:
    """What is asked of the program, by the name that the table has for it."""
    own = ("execute /bin/true", f"execute {INSTALLED}/ostiary-pam", "code", "namespace", "mount")
    files = ("read /etc/shadow", "change /etc/passwd", "create /usr/bin/x", "create /run/x", "create /etc/x", "read /home/ada/.profile",
             "read /var/lib/fprint", "read /root", "create /var/lib/x", "read /proc/1/stat", "read /proc/1/environ")
    user = machine.root.output("id -u ada")
    tried = {each: each for each in own + files}
    tried |= {f"socket {family}": f"socket {family}" for family in FAMILIES}
    tried |= {f"change {device}": f"change {device}" for device in DEVICES}
    tried |= {f"{name} VICTIM": f"{name} {victim}" for name in ("seize", "memory", "descriptor", "signal")}
    tried |= {"read MAPS": f"read /proc/{victim}/maps", "change MEM": f"change /proc/{victim}/mem"}
    tried |= {"connect HELPERS": f"connect {HELPERS}/association.socket", "read /run/user/ID": f"read /run/user/{user}"}
    return tried


def look_into(machine: Machine, program: str, socket: str, allowed: set[str]) -> None:
    root = machine.root
    victim = root.output("pgrep -n -u ada -x sleep")
    with replaced(machine, program, "sandbox-probe"):
        tried = attempts(machine, victim)
        words = " ".join(f"'{words}'" for words in tried.values())
        answers = root.output(f"{PROGRAMS}/ask-sandbox {INSTALLED}/{program} {socket} {words}").splitlines()
        texts = dict(line.split(": ", 1) for line in answers)
    expected = "unconfined" if program == WITHOUT_PROFILE else f"{PROFILES.get(socket, program)} (enforce)"
    expect_equal(texts["profile"], expected)
    expect_equal(texts["Uid"], root.output(f"id -u {ACCOUNTS.get(socket, ACCOUNTS.get(program, program))}"))
    capability = CAPABILITIES.get(program, 0)
    for kind in ("CapPrm", "CapEff", "CapBnd", "CapAmb"):
        expect(int(texts[kind], 16) == capability, f"{kind} is {texts[kind]}")
    expect_equal((texts["NoNewPrivs"], texts["Seccomp"]), ("1", "2"))
    worked = {name for name, words in tried.items() if texts[words] == "worked"} - {"change /dev/null"}
    others = {name: texts[words] for name, words in tried.items() if name not in worked}
    expect(worked == allowed, f"worked: {sorted(worked)}; refused: {others}")


def the_place(checks: Checks, machine: Machine) -> None:
    """Code that took over a question on a terminal, here even without a sandbox, while a question stands at the trusted place."""
    root = machine.root
    with checks.part("The trusted place beside questions on terminals", machine):
        with checks.check("the account of a question on a terminal gets neither the console nor the program there"):
            # The daemon's side, which says nothing.
            connect = f'import socket, time; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect("{PLACE}"); time.sleep(60)'
            holder = root.output(f"python3 -c '{connect}' > /dev/null 2>&1 & echo $!")
            process = root.wait_for("pgrep -u ostiary-vt -f ostiary-prompt")
            expect_equal(root.output("stat -c %U /dev/tty8"), "ostiary-vt")
            other = as_account("ostiary-prompt")
            for attempt in (f"kill -0 {process}", f"cat /proc/{process}/environ", "sh -c ': < /dev/tty8'", "sh -c ': > /dev/tty8'"):
                expect(root.run(f"{other} {attempt}")[0] != 0, f"{attempt} worked")
            root.output(f"kill {holder}")


def failures(checks: Checks, machine: Machine) -> None:
    """systemd starts the helper for a connection that waits in its socket. One that fails before it accepts leaves the connection there."""
    root = machine.root
    show = "systemctl show --value ostiary-identity.service -p"
    with checks.part("A helper that fails before it accepts", machine):
        with checks.check("it is started a few times a second, and its socket stays"):
            root.output(f"mount --bind /bin/false {INSTALLED}/ostiary-identity; systemctl stop ostiary-identity.service")
            try:
                root.run(f"timeout 8 {PROGRAMS}/greet-helper {HELPERS}/identity.socket")
                restarts = int(root.output(f"{show} NRestarts"))
            finally:
                root.run(f"umount {INSTALLED}/ostiary-identity")
            expect(2 <= restarts <= 20, f"{restarts} starts")
            expect_equal(root.output("systemctl is-active ostiary-identity.socket"), "active")
        with checks.check("once it is whole it greets"):
            said = root.output(f"{PROGRAMS}/greet-helper {HELPERS}/identity.socket")
            expect(" 01 " in said, said)
        with checks.check("one that ended itself over a process waits for nothing"):
            root.output("systemctl kill --signal=SIGALRM ostiary-identity.service")
            root.wait_for(f"test $({show} ActiveState) = inactive")
            expect_equal(root.output(f"{show} Result"), "success")
            root.output(f"{PROGRAMS}/greet-helper {HELPERS}/identity.socket")


def descriptors(checks: Checks, machine: Machine) -> None:
    """AppArmor asks a profile about a received descriptor only if a confined program opened it."""
    with checks.part("What programs pass to the daemon", machine):
        with checks.check("their own file, where the daemon may not go, and their terminal"):
            root = machine.root
            root.output("install -o ada -m 600 /etc/hostname /home/ada/program; chmod 700 /home/ada")
            root.output("systemd-run --quiet --unit=private -p PrivateTmp=yes sh -c 'cp /usr/bin/sleep /tmp/program; exec /tmp/program 1000'")
            hidden = root.wait_for("ls /proc/$(systemctl show -p MainPID --value private)/root/tmp/program")
            passed = ["passed-read /home/ada/program", f"passed-read {hidden}", "passed-write /dev/ttyS1", "passed-write /dev/hvc0"]
            words = " ".join(f"'{words}'" for words in (*passed, "read /home/ada/program"))
            with replaced(machine, "ostiaryd", "sandbox-probe"):
                said = root.output(f"{PROGRAMS}/ask-sandbox {INSTALLED}/ostiaryd /run/ostiary/ostiaryd.socket {words}").splitlines()
            root.output("systemctl stop private.service")
            expect_equal(said[-len(passed) - 1 :], [*(f"{words}: worked" for words in passed), "read /home/ada/program: EACCES"])


def attacks_of_helpers(checks: Checks, machine: Machine) -> None:
    """Code that took over the helper with CAP_SYS_PTRACE: two walls, each alone."""
    with checks.part("A helper that is taken over", machine):
        with checks.check("without filter and profile it could take over any process"):
            got = attacked(machine, f"{PROGRAMS}/ostiary-identity", "unfiltered")
            expect_equal(got, {"pidfd_getfd": "worked", "process_vm_readv": "worked", "seize": "worked", "attach": "worked", "execve": ""})
        with checks.check("with the profile alone the kernel refuses"):
            with replaced(machine, "ostiary-identity", "ostiary-identity"):
                got = attacked(machine, f"{INSTALLED}/ostiary-identity", "unfiltered")
            refused = {"pidfd_getfd": "EPERM", "process_vm_readv": "EPERM", "seize": "EACCES", "attach": "EACCES", "execve": "EACCES"}
            expect_equal(got, refused)
        with checks.check("with the filter alone it ends at the first attempt"):
            got = attacked(machine, f"{PROGRAMS}/ostiary-identity", "")
            expect_equal(set(got.values()), {BAD_CALL})


def attacked(machine: Machine, program: str, filter: str) -> dict[str, str]:
    """What each attempt got, of the account and with the capability of ostiary-identity."""
    as_helper = (
        "setpriv --reuid=ostiary-identity --regid=ostiary-identity --clear-groups --inh-caps=+sys_ptrace --ambient-caps=+sys_ptrace"
    )
    victim = machine.root.output("pgrep -n -u ada -x sleep")
    got = {}
    for name in ("pidfd_getfd", "process_vm_readv", "seize", "attach", "execve"):
        status, said = machine.root.run(f"{as_helper} {program} --attack {filter} {name} {victim}")
        got[name] = BAD_CALL if status == 128 + signal.SIGSYS else said
    return got


def displays(checks: Checks, machine: Machine) -> None:
    """ostiary-display in its sandbox: sockets of a session, which the daemon may not reach."""
    root = machine.root
    with checks.part("The display of a session", machine):
        user = root.output("id -u ada")
        folder = f"/run/user/{user}"

        def ask(*words: str) -> str:
            return root.output(f"{as_account('ostiary')} {PROGRAMS}/ask-display {' '.join(words)}")

        def listen(path: str) -> None:
            root.output(f"runuser -u ada -- {PROGRAMS}/play-compositor {path} > /dev/null 2>&1 &")
            root.wait_for(f"test -S {path}")

        helper = root.output("id -u ostiary-display")
        with checks.check("the only compositor is found, and sees the helper's account"):
            expect(ask("wayland", user).startswith("absent"), "there is one already")
            listen(f"{folder}/wayland-0")
            expect_equal(ask("wayland", user).splitlines(), ["connected 0 displays=1 descriptors=1", f"hello to user {helper}"])
        with checks.check("of several the daemon names one"):
            listen(f"{folder}/wayland-1")
            expect(ask("wayland", user).startswith("several 0 displays=2"), "not several")
            expect(ask("wayland", user, "wayland-1").startswith("connected"), "not connected")
        with checks.check("an X server's socket and cookies are found"):
            listen("/tmp/.X11-unix/X3")
            expect(ask("x11", user).startswith("connected"), "not connected")
            root.output(f"runuser -u ada -- sh -c 'mkdir {folder}/gdm; umask 077; echo cookie > {folder}/gdm/Xauthority'")
            expect(ask("cookies", user).startswith("connected"), "no cookies")
        with checks.check("another user's display is none of this one's"):
            expect(ask("wayland", root.output("id -u eve")).startswith("absent"), "found")
            expect(ask("x11", root.output("id -u eve"), ":3").startswith("another owner"), "found")
        root.run("pkill -u ada -f play-compositor; rm -rf /tmp/.X11-unix/X3")
