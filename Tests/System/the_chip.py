"""A store in the machine's TPM, made and used by a member of the group `tss` who logged in on a console."""

from checks import Checks, expect, expect_equal
from machine import Machine
from the_person import ASKED, NEW, PASSCODE

NAME = "grace"
PASSWORD = "grace at the console"
STORE = ".local/state/ostiary"
CONFIGURE = "mkdir -p .config/ostiary && echo enclave = tpm > .config/ostiary/ostiaryd.conf"
SIGN = "ostiary right sign chip challenge.bin --output challenge.sig --force --reason 'show the chip'"
# A program with two keys that sign in turn, and the number of its descriptors while both are in use.
IN_TURN = ["make a", "open a", "make b", "open b", "sign a", "sign b", "sign a", "sign b"]
SIGN_IN_TURN = (
    "cd /run; : > answers; { printf '%s\\n' " + " ".join(f"'{order}'" for order in IN_TURN)
    + f"; timeout 60 sh -c 'until [ $(wc -l < answers) = {len(IN_TURN)} ]; do sleep 0.1; done'; "
    "readlink /proc/$(pgrep -x chip-signer)/fd/* | grep -c tpmrm0 > descriptors; } "
    "| /usr/local/libexec/system-test/chip-signer device:/dev/tpmrm0 4 > answers; cat answers descriptors"
)
VERIFY = "openssl dgst -sha256 -verify chip.pem -signature challenge.sig challenge.bin"


def log_in(machine: Machine) -> None:
    """Her home is on a disk that outlives the power cut."""
    machine.root_beside.output(f"mount /dev/disk/by-id/virtio-{NAME} /home/{NAME} && chown {NAME}: /home/{NAME}")
    machine.other_person.log_in(NAME, PASSWORD)


def expect_of_the_doctor(machine: Machine, *lines: tuple[str, str, str]) -> None:
    """Each is the name of a check, its verdict, and words of its message."""
    findings = machine.other_person.document("ostiary doctor --json")["findings"]
    for check, verdict, words in lines:
        found = [each for each in findings if each["check"] == check]
        expect([each["verdict"] for each in found] == [verdict] and words in found[0]["message"], f"{check}: {found}")


def play(checks: Checks, machine: Machine) -> None:
    person, root = machine.other_person, machine.root_beside
    with checks.part("The machine's TPM", machine):
        with checks.check("the kernel has it, with its resource manager, for members of tss"):
            for device, owners in (("/dev/tpm0", "tss root"), ("/dev/tpmrm0", "tss tss")):
                expect_equal(root.output(f"stat -c '%U %G %a' {device}"), f"{owners} 660")
            expect_equal(root.output("cat /sys/class/tpm/tpm0/tpm_version_major"), "2")
        with checks.check("who is no member is refused, and told of the group"):
            as_eve = "runuser -u eve -- env -C /home/eve"
            root.output(f"{as_eve} sh -c '{CONFIGURE}'")
            status, output = root.run(f"{as_eve} ostiary status")
            expect(status != 0, f"exit {status}: {output}")
            for words in ("you may not use /dev/tpmrm0", "`tss`", "Nothing was changed."):
                expect(words in output, output)
            status, output = root.run(f"{as_eve} ostiary doctor")
            expect(status != 0 and "you may not use /dev/tpmrm0" in output, f"exit {status}: {output}")
            root.output(f"test -z \"$(find /home/eve/{STORE} -name 'vault*')\"")
        with checks.check("two keys that sign in turn have a descriptor each"):
            expect_equal(root.output(SIGN_IN_TURN).split(), ["done"] * len(IN_TURN) + ["2"])
        with checks.check("a member makes a store in it"):
            log_in(machine)
            person.typed(CONFIGURE)
            status = person.document("ostiary status --json")
            expect_equal((status["passcode"]["isSet"], status["enclave"]), (False, "tpm"))
        with checks.check("its daemon is the user manager's, and holds the chip"):
            number = root.output(f"pgrep -x -u {NAME} ostiaryd")
            expect("/user@" in root.output(f"cat /proc/{number}/cgroup"), "it is not below the user manager")
            expect("/dev/tpmrm0" in root.output(f"readlink /proc/{number}/fd/*"), "it has not opened /dev/tpmrm0")
        with checks.check("passcode, right and signature, which OpenSSL accepts"):
            person.typed("ostiary passcode set", NEW)
            person.typed("ostiary right create chip --require passcode")
            person.typed("ostiary right public-key chip --output chip.pem && openssl rand -out challenge.bin 32")
            person.typed(SIGN, ASKED)
            person.typed(VERIFY)
        with checks.check("the chip counts a wrong passcode, and the right one ends the count"):
            person.typed(SIGN, (("Passcode", "wrong horse 9\n"), ("Passcode", "\x03")), status=3)
            expect_of_the_doctor(
                machine,
                ("enclave", "ok", "The keys are in the TPM at device:/dev/tpmrm0."),
                ("wrong tries in the TPM", "notice", "counted 1 of 10"),
            )
            person.typed(SIGN, ASKED)
        with checks.check("the store is the newest copy, and a copy of it is made"):
            expect_of_the_doctor(
                machine, ("wrong tries in the TPM", "ok", "counted 0 of 10"), ("store counter", "ok", "The store is the newest copy"))
            person.typed("systemctl --user stop ostiaryd.service")
            person.typed(f"cp -a {STORE} older")
            person.typed("ostiary right create spare --require passcode && ostiary right remove spare --force")
            person.typed("sync")


def after_the_cut(checks: Checks, machine: Machine) -> None:
    person, root = machine.other_person, machine.root_beside
    with checks.part("The machine's TPM after the power cut", machine):
        with checks.check("the same right signs after the passcode, and OpenSSL accepts it with the key of before"):
            log_in(machine)
            expect_equal(person.document("ostiary status --json")["unlocked"], False)
            person.typed("rm challenge.sig; openssl rand -out challenge.bin 32")
            person.typed("setsid --wait ostiary right sign chip challenge.bin --output challenge.sig --force < /dev/null", status=3)
            person.typed(SIGN, ASKED)
            person.typed(VERIFY)
        with checks.check("the counter in the chip knows the store"):
            expect_of_the_doctor(machine, ("store counter", "ok", "The store is the newest copy"))
        with checks.check("the older copy of the folder is refused, and nothing is asked"):
            person.typed("systemctl --user stop ostiaryd.service")
            person.typed(f"mv {STORE} newest && mv older {STORE}")
            screen = person.typed("ostiary right authorize chip", status=1)
            expect("The daemon did not start." in screen and "Passcode:" not in screen, screen)
            root.wait_for("journalctl --boot --quiet --no-pager --output=cat | grep 'Somebody put back an older copy of the folder'")
        with checks.check("the newest one works"):
            person.typed(f"systemctl --user reset-failed ostiaryd.service; rm -r {STORE} && mv newest {STORE}")
            person.typed(SIGN, ASKED)
            person.typed(VERIFY)
            expect(PASSCODE.strip() not in person.transcript, "the passcode is on the screen")
