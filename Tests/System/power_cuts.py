"""Power cuts during changes of stores.

Each kind of change has a store of its own on a disk of its own. The machine changes all stores at the same time (`store-keeper`
in the machine), and QEMU keeps a log of what each disk was told. At a moment by chance the machine is killed. Its disks are then
as they were at that moment, and as they would have been after a cut at some earlier moments: the log gives each of them. The
disk had a cache that forgets, so whatever was written after the last flush is there, is lost, or is there in part.

The machine boots from the disks as they were, and each store has to be whole, and to have each change that was acknowledged before
the cut. The disks of earlier moments are checked with the same programs outside of the machine, which is much quicker (`store-outside`).
"""

import bisect
import dataclasses
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import threading
import time

import write_log
from checks import Checks
from console import Console, Silence
from machine import Disk, Machine

DISK_BYTES = 64 << 20
#: How long after the last of the changes that are waited for the machine is killed at the latest.
MOMENT_SECONDS = 4
#: Much longer than it takes where nothing else runs: emulation is slow.
ANSWER_SECONDS = 240
#: The names of the users in the machine, and what is done to their stores.
KINDS = {
    "set": "a passcode set and removed",
    "change": "a passcode changed",
    "create": "a right created",
    "remove": "a right created and removed",
    "add": "an item added",
    "update": "an item updated",
    "count": "wrong tries counted",
    "log": "a use recorded in the log",
    "chip": "a right created and removed in the TPM",
}
#: Stores in the machine's chip. They are made in the machine; and the chip would refuse the disk of an earlier moment.
IN_THE_CHIP = {"chip"}


@dataclasses.dataclass(frozen=True)
class Extent:
    """How much is done."""

    #: Each kind of change is acknowledged at least so often before the cut.
    least_changes: int
    #: So many, and the kind waits for the others: the processors are theirs.
    ahead: int
    #: Moments at which each store is cut, besides the last.
    earlier_cuts: int
    #: How many stores the machine itself looks at after the cut, besides those in its chip; None for all.
    checked_in_machine: int | None = None



@dataclasses.dataclass
class Cut:
    kind: str
    #: The last change that was acknowledged before the cut.
    acknowledged: int
    description: str
    image: pathlib.Path
    #: Whether the machine itself mounts the disk, and not e2fsck outside.
    is_for_machine: bool = False
    #: Where the image begins on the disk of all cuts.
    offset: int = 0

    @property
    def name(self) -> str:
        return f"{KINDS[self.kind]}, {self.acknowledged} acknowledged, cut {self.description}"


class Keeper:
    """`store-keeper` in the machine: carries out one command after the other."""

    def __init__(self, port: Console):
        self.port = port

    def do(self, command: str) -> None:
        self.port.send(command + "\n")
        self.finish(command)

    def finish(self, command: str) -> None:
        answer = self.port.expect(r"^(done|lost|failed)(.*)\n", ANSWER_SECONDS)
        if answer[1] != "done":
            raise Silence(f"{command}: {answer[0].strip()}")


class PowerCuts:
    kinds = tuple(KINDS)

    def __init__(self, checks: Checks, root: pathlib.Path, seed: int, extent: Extent):
        #: The machine's file system.
        self.root = root
        self.checks, self.seed, self.extent = checks, seed, extent
        self.choice = random.Random(seed)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ostiary-disks-"))
        #: For each kind how much of the log there was when each change was acknowledged; the first one is the preparation.
        self.acknowledged: dict[str, list[int]] = {kind: [] for kind in KINDS}
        self.cuts: list[Cut] = []
        self.failures: list[str] = []

    def __enter__(self):
        self._empty = self.folder / "empty"
        with self._empty.open("wb") as file:
            file.truncate(DISK_BYTES)
        subprocess.run(
            ["mke2fs", "-q", "-t", "ext4", "-E", "lazy_itable_init=0,lazy_journal_init=0", str(self._empty)], check=True)
        return self

    def __exit__(self, *error):
        shutil.rmtree(self.folder, ignore_errors=True)

    def _file(self, kind: str, suffix: str) -> pathlib.Path:
        return self.folder / f"{kind}.{suffix}"

    def disks(self) -> dict[str, Disk]:
        """A disk for each kind, with a store; the machine sees it under the kind's name."""
        self.checks.title("Stores are prepared")
        self._each(sorted(set(KINDS) - IN_THE_CHIP), lambda kind: f"a store for: {KINDS[kind]}", self._prepare_outside)
        for kind in IN_THE_CHIP:
            shutil.copyfile(self._empty, self._file(kind, "before"))
        for kind in KINDS:
            shutil.copyfile(self._file(kind, "before"), self._file(kind, "img"))
        return {kind: Disk(self._file(kind, "img"), self._file(kind, "log")) for kind in KINDS}

    def plain_disk(self, name: str) -> Disk:
        """A disk without a log, empty the first time."""
        image = self._file(name, "img")
        if not image.exists():
            shutil.copyfile(self._empty, image)
        return Disk(image)

    # MARK: the cut

    def prepare(self, machine: Machine) -> None:
        """One store after the other, beside other parts of the test."""
        with self.checks.part("The stores for changes", machine):
            with self.checks.check("each kind of change has a store"):
                for kind in KINDS:
                    machine.root_beside.output(f"systemctl start store-keeper@{kind}")
                    keeper = Keeper(machine.ports[kind])
                    keeper.finish("start")
                    keeper.do(f"mount /dev/disk/by-id/virtio-{kind}")
                    if kind in IN_THE_CHIP:
                        keeper.do("prepare")
                    keeper.do("open")
                    self.acknowledged[kind].append(self._file(kind, "log").stat().st_size)

    def change_and_cut(self, machine: Machine) -> None:
        with self.checks.part(f"Stores are changed until the power is cut (seed {self.seed})", machine):
            with self.checks.check(f"every kind of change is acknowledged at least {self.extent.least_changes} times"):
                threads = [
                    threading.Thread(target=self._change, args=(kind, machine), daemon=True)
                    for kind, marks in self.acknowledged.items() if marks]
                for thread in threads:
                    thread.start()
                self._wait_for_changes()
                moment = self.choice.uniform(0, MOMENT_SECONDS)
                time.sleep(moment)
                failures = list(self.failures)
                machine.cut()
                for thread in threads:
                    thread.join()
                if failures:
                    raise Silence("; ".join(failures))
                counts = ", ".join(f"{kind} {len(marks) - 1}" for kind, marks in self.acknowledged.items())
                self.checks.say(f"        killed {moment:.3f} s later; acknowledged: {counts}")
        for kind in KINDS:
            self._choose_cuts(kind)
        self._choose_for_machine()

    def _change(self, kind: str, machine: Machine) -> None:
        """Has one change after the other made, until the machine ends."""
        keeper = Keeper(machine.ports[kind])
        number = 0
        try:
            while True:
                self._wait_for_others(kind)
                number += 1
                keeper.do(f"change {number}")
                # Nothing of the next change is in the log yet: it is asked for afterwards.
                self.acknowledged[kind].append(self._file(kind, "log").stat().st_size)
        except (Silence, OSError) as error:
            self.failures.append(f"{kind}: {error}")

    def _wait_for_others(self, kind: str) -> None:
        """Quick changes would keep the processors from slow ones, which all wait for."""
        while len(self.acknowledged[kind]) > self.extent.ahead and not self._are_enough() and not self.failures:
            time.sleep(0.05)

    def _are_enough(self) -> bool:
        return all(len(marks) > self.extent.least_changes for marks in self.acknowledged.values())

    def _wait_for_changes(self) -> None:
        begin = time.monotonic()
        while not self.failures:
            seconds = time.monotonic() - begin
            if self._are_enough():
                return
            if seconds > ANSWER_SECONDS:
                counts = {kind: len(marks) - 1 for kind, marks in self.acknowledged.items()}
                self.failures.append(f"acknowledged after {seconds:.0f} s: {counts}")
            time.sleep(0.05)

    def _choose_cuts(self, kind: str) -> None:
        """The disk as the power cut left it, and as cuts at some moments since the preparation would have."""
        marks = self.acknowledged[kind]
        if not marks:
            return
        log = write_log.entries(self._file(kind, "log"))
        before = self._file(kind, "before")
        if kind in IN_THE_CHIP:
            image = self._file(kind, "cut")
            lost = write_log.cut(image, before, log, len(log), self.choice)
            self.cuts.append(Cut(kind, len(marks) - 1, f"when the machine was killed, {lost}", image))
            return
        self.cuts.append(Cut(kind, len(marks) - 1, "when the machine was killed", self._file(kind, "img")))
        positions = [entry.position for entry in log]
        first = bisect.bisect_left(positions, marks[0])
        for number in range(self.extent.earlier_cuts):
            count = self.choice.randint(first, len(log))
            end = positions[count] if count < len(log) else self._file(kind, "log").stat().st_size
            image = self._file(kind, f"cut{number}")
            lost = write_log.cut(image, before, log, count, self.choice)
            acknowledged = bisect.bisect_right(marks, end) - 1
            description = f"at request {count - first} of {len(log) - first}, {lost}"
            self.cuts.append(Cut(kind, acknowledged, description, image))

    def _choose_for_machine(self) -> None:
        last = [cut for cut in self.cuts if cut.image in (self._file(cut.kind, "img"), self._file(cut.kind, "cut"))]
        others = [cut for cut in last if cut.kind not in IN_THE_CHIP]
        if self.extent.checked_in_machine is not None:
            others = self.choice.sample(others, min(self.extent.checked_in_machine, len(others)))
        for cut in last:
            cut.is_for_machine = cut.kind in IN_THE_CHIP or cut in others

    # MARK: after the cut

    def disks_after_cuts(self) -> dict[str, Disk]:
        """One disk with the file systems that the machine checks, one behind the other."""
        path = self.folder / "cuts"
        cuts = [cut for cut in self.cuts if cut.is_for_machine]
        if not cuts:
            return {}
        with path.open("wb") as disk:
            for number, cut in enumerate(cuts):
                cut.offset = number * DISK_BYTES
                disk.truncate(cut.offset + DISK_BYTES)
            for cut in cuts:
                copy_data(cut.image, disk, cut.offset)
        return {"cuts": Disk(path)}

    def check(self, machine: Machine) -> None:
        cuts = [cut for cut in self.cuts if cut.is_for_machine]
        with self.checks.part("Every store opens and has what was acknowledged", machine):
            with self.checks.check("every store can be looked at"):
                for cut in cuts:
                    machine.root_beside.output(f"systemctl start store-keeper@{cut.kind}")
        # Two at a time: the machine has two processors.
        self._each(cuts, lambda cut: cut.name, lambda cut: self._check_in(machine, cut))

    def check_outside(self) -> None:
        """The other disks, outside of the machine."""
        self.checks.title("Outside, too, every store opens and has what was acknowledged")
        self._each([cut for cut in self.cuts if not cut.is_for_machine], lambda cut: cut.name, self._check_outside)

    def _each(self, things: list, name, check) -> None:
        """Makes a check of each thing, two at a time: it fails if the function raises."""
        lock = threading.Lock()

        def work():
            while True:
                with lock:
                    if not things:
                        return
                    thing = things.pop()
                begin = time.monotonic()
                try:
                    check(thing)
                except Exception as error:
                    self.checks.fail(name(thing), f"{type(error).__name__}: {error}")
                else:
                    self.checks.passes(name(thing), begin)

        threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _check_in(self, machine: Machine, cut: Cut) -> None:
        keeper = Keeper(machine.ports[cut.kind])
        keeper.finish("start")
        keeper.do(f"mount /dev/disk/by-id/virtio-cuts {cut.offset} {DISK_BYTES}")
        keeper.do(f"check {cut.acknowledged}")
        keeper.do("unmount")

    def _check_outside(self, cut: Cut) -> None:
        self._outside("check", cut.kind, cut.image, str(cut.acknowledged))

    def _prepare_outside(self, kind: str) -> None:
        image = self._file(kind, "before")
        shutil.copyfile(self._empty, image)
        self._outside("prepare", kind, image)

    def _outside(self, command: str, kind: str, image: pathlib.Path, *arguments: str) -> None:
        as_root = [] if os.geteuid() == 0 else ["sudo"]
        program = pathlib.Path(__file__).with_name("store-outside")
        run = subprocess.run(
            [*as_root, str(program), command, str(self.root), kind, str(image), *arguments],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ANSWER_SECONDS)
        answer = run.stdout.strip()
        if run.returncode != 0 or answer != "done":
            raise Silence(f"{command}: exit {run.returncode}: {answer} {run.stderr[-600:]}")


def copy_data(image: pathlib.Path, disk, offset: int) -> None:
    """Copies what is not zero, so that the rest takes no space."""
    with image.open("rb") as source:
        position = offset
        while piece := source.read(1 << 16):
            if piece.count(0) != len(piece):
                disk.seek(position)
                disk.write(piece)
            position += len(piece)
