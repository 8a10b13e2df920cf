"""A whole computer, played by QEMU: Debian with Ostiary installed."""

import pathlib
import shutil
import subprocess
import tempfile

from chip import Chip
from console import Console, Person, RootConsole


#: Debian's kernel holds the driver of this disk, and that of ext4, so that it starts without an initial RAM disk.
SYSTEM_DISK = "/dev/nvme0n1"
KERNEL_OPTIONS = (
    *(f"root={SYSTEM_DISK}", "rootwait", "rw", "console=ttyS0", "quiet", "panic=-1", "no_timer_check", "module_blacklist=kvm,kvm_amd,kvm_intel,powernow_k8"),
    "systemd.default_timeout_start_sec=120s",
    # Emulation translates a program again when it lies elsewhere in memory: a start takes three times as long.
    "norandmaps",
    # Less to emulate: pages are large and are cleared once, and no processor has faults to work around.
    *("transparent_hugepage=always", "init_on_alloc=0", "mitigations=off", "cryptomgr.notests"),
    # The processors count the same time. The kernel does not believe that, and would ask an emulated clock.
    "tsc=reliable",
)
#: Without the features that cost time at each access to memory, or at each change between programs and kernel.
PROCESSOR = "max,la57=off,smap=off,smep=off,umip=off,pku=off,pks=off"


class Disk:
    """A disk besides the first one.

    With a log QEMU notes each write and each flush of it, in their order, so that the disk of any earlier moment can be made
    (`write_log.py`). The machine believes that the disk has a cache that forgets at a power cut, so it flushes what it acknowledges.
    """

    def __init__(self, image: pathlib.Path, log: pathlib.Path | None = None):
        self.image, self.log = image, log

    def options(self, name: str) -> list[str]:
        file = f"driver=file,filename={self.image}"
        if not self.log:
            node = f"driver=raw,node-name={name},file.{file.replace(',', ',file.')}"
        else:
            self.log.write_bytes(b"")
            node = (
                f"driver=blklogwrites,node-name={name},log-super-update-interval=1,"
                f"file.{file.replace(',', ',file.')},log.driver=file,log.filename={self.log}"
            )
        return ["-blockdev", node, "-device", f"virtio-blk-pci,drive={name},write-cache=on,serial={name}"]


class Machine:
    """One run of the machine, from power on. Its first disk forgets everything when it ends; the others keep what they took.

    Serial ports: the kernel's console, a terminal for a person, a terminal for root. Parts that run beside others have terminals
    of their own: hvc0 for another person, hvc1 for root. Each name in `ports` is a virtio port `/dev/virtio-ports/NAME` in the
    machine. A chip loses its power together with the machine. `devices` are more options of QEMU.
    """

    def __init__(
        self,
        image: pathlib.Path,
        disks: dict[str, Disk] | None = None,
        ports: tuple[str, ...] = (),
        chip: Chip | None = None,
        devices: tuple[str, ...] = (),
        accelerator: str = "tcg,thread=multi",
        system_disk: str = "disk.img",
    ):
        self.is_up = False
        self.consoles: list[Console] = []
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ostiary-machine-"))
        serial = [self._socket("-serial", name, "unix:{},server=on,wait=off") for name in ("kernel", "person", "root")]
        terminals = [
            option
            for name in ("other", "root-beside")
            for option in (
                *self._socket("-chardev", name, f"socket,id={name},path={{}},server=on,wait=off"),
                "-device",
                f"virtconsole,chardev={name}",
            )
        ]
        self.chip = chip
        chip_options = chip.power_on() if chip else []
        virtio = [
            option
            for name in ports
            for option in (
                *self._socket("-chardev", name, f"socket,id={name},path={{}},server=on,wait=off"),
                "-device",
                f"virtserialport,chardev={name},name={name}",
            )
        ]
        self.process = subprocess.Popen(
            # It ends with this program, however that ends.
            ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-accel", accelerator, "-cpu", PROCESSOR, "-m", "2048", "-smp", "2"]
            + ["-nodefaults", "-display", "none", "-no-reboot"]
            + ["-kernel", str(image / "vmlinuz")]
            + ["-append", " ".join(KERNEL_OPTIONS)]
            + ["-drive", f"file={image / system_disk},id=system,if=none,format=raw,snapshot=on"]
            + ["-device", "nvme,drive=system,serial=system"]
            + [option for name, disk in (disks or {}).items() for option in disk.options(name)]
            + [option for options in serial for option in options]
            + ["-device", "virtio-serial-pci,max_ports=31", *terminals, *virtio, *chip_options, *devices],
            stdin=subprocess.DEVNULL,
        )
        try:
            self.kernel = self._console(Console, "kernel")
            self.person = self._console(Person, "person")
            self.root = self._console(RootConsole, "root")
            self.other_person = self._console(Person, "other")
            self.root_beside = self._console(RootConsole, "root-beside")
            self.ports = {name: self._console(Console, name) for name in ports}
        except BaseException:
            self.cut()
            raise

    def _socket(self, option: str, name: str, value: str) -> list[str]:
        return [option, value.format(self.folder / name)]

    def _console(self, kind: type, name: str):
        console = kind(str(self.folder / name))
        self.consoles.append(console)
        return console

    def wait_until_up(self, within: float = 150) -> None:
        """Waits until systemd has started everything."""
        self.root.wait_until_ready(within)
        self.root_beside.wait_until_ready(within)
        self.is_up = True

    def power_off(self, within: float = 60) -> None:
        """Shuts down in order."""
        self.root.send("systemctl poweroff\n")
        self.process.wait(within)
        self.cut()

    def cut(self) -> None:
        """Ends the machine at once, as a power cut does: what it kept in memory is gone."""
        self.process.kill()
        if self.chip:
            self.chip.power_off()
        self.process.wait()
        for console in self.consoles:
            console.wait_until_closed()
        self.consoles = []
        shutil.rmtree(self.folder, ignore_errors=True)

    def last_lines(self) -> str:
        return "\n".join(
            f"  {console.name} console, last lines:\n{console.last_lines()}"
            for console in self.consoles
            if isinstance(console, (Person, RootConsole)) or console is self.kernel
        )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.cut()
