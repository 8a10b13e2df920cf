"""Power cuts during changes of stores.

Each kind of change has a store of its own on a disk of its own. The machine changes all stores at the same time (`store-keeper`
in the machine), and QEMU keeps a log of what each disk was told. At a moment by chance the machine is killed. Its disks are then
as they were at that moment, and as they would have been after a cut at some earlier moments: the log gives each of them. The
disk had a cache that forgets, so whatever was written after the last flush is there, is lost, or is there in part.

The machine boots from these disks, and each store has to be whole, and to have each change that was acknowledged before the cut.
"""

import bisect
import dataclasses
import pathlib
import random
import shutil
import subprocess
import tempfile
import threading
import time

import write_log
from checks import Checks, PartStopped
from console import Console, Silence
from machine import Disk, Machine

DISK_BYTES = 64 << 20
#: How long stores are changed before the machine may be killed, and how long after that it is killed at the latest.
CHANGING_SECONDS, MOMENT_SECONDS = 20, 4
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
}


@dataclasses.dataclass
class Cut:
    kind: str
    #: The last change that was acknowledged before the cut.
    acknowledged: int
    description: str
    image: pathlib.Path
    #: Where the image begins on the disk of all cuts.
    offset: int = 0


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

    def __init__(self, checks: Checks, seed: int, cut_count: int):
        self.checks, self.seed, self.cut_count = checks, seed, cut_count
        self.choice = random.Random(seed)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ostiary-disks-"))
        #: For each kind how much of the log there was when each change was acknowledged; the first one is the preparation.
        self.acknowledged: dict[str, list[int]] = {kind: [] for kind in KINDS}
        self.cuts: list[Cut] = []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        shutil.rmtree(self.folder, ignore_errors=True)

    def _file(self, kind: str, suffix: str) -> pathlib.Path:
        return self.folder / f"{kind}.{suffix}"

    def disks(self) -> dict[str, Disk]:
        """A disk for each kind, with an empty file system; the machine sees it under the kind's name."""
        empty = self.folder / "empty"
        with empty.open("wb") as file:
            file.truncate(DISK_BYTES)
        subprocess.run(
            ["mke2fs", "-q", "-t", "ext4", "-E", "lazy_itable_init=0,lazy_journal_init=0", str(empty)], check=True)
        for kind in KINDS:
            shutil.copyfile(empty, self._file(kind, "img"))
        return {kind: Disk(self._file(kind, "img"), self._file(kind, "log")) for kind in KINDS}

    # MARK: the cut

    def change_and_cut(self, machine: Machine) -> None:
        with self.checks.part(f"Stores are changed until the power is cut (seed {self.seed})", machine):
            with self.checks.check("every kind of change is acknowledged at least twice"):
                # What the part before left on the machine's own disk is not to be counted as work of the stores.
                for kind in KINDS:
                    machine.root.output(f"systemctl start store-keeper@{kind}", 60)
                failures: list[str] = []
                threads = [
                    threading.Thread(target=self._change, args=(kind, machine, failures), daemon=True) for kind in KINDS]
                for thread in threads:
                    thread.start()
                self._wait_for_changes(failures)
                moment = self.choice.uniform(0, MOMENT_SECONDS)
                time.sleep(moment)
                failures_before = list(failures)
                machine.cut()
                for thread in threads:
                    thread.join()
                if failures_before:
                    raise Silence("; ".join(failures_before))
                counts = ", ".join(f"{kind} {len(marks) - 1}" for kind, marks in self.acknowledged.items())
                print(f"        killed {moment:.3f} s later; acknowledged: {counts}")
        for kind in KINDS:
            self._choose_cuts(kind)

    def _change(self, kind: str, machine: Machine, failures: list[str]) -> None:
        """Has one change after the other made, until the machine ends."""
        keeper = Keeper(machine.ports[kind])
        number = 0
        try:
            keeper.finish("start")
            keeper.do(f"mount /dev/disk/by-id/virtio-{kind}")
            keeper.do("prepare")
            while True:
                # Nothing of the next change is in the log yet: it is asked for afterwards.
                self.acknowledged[kind].append(self._file(kind, "log").stat().st_size)
                number += 1
                keeper.do(f"change {number}")
        except (Silence, OSError) as error:
            failures.append(f"{kind}: {error}")

    def _wait_for_changes(self, failures: list[str]) -> None:
        begin = time.monotonic()
        while not failures:
            seconds = time.monotonic() - begin
            if seconds > CHANGING_SECONDS and all(len(marks) > 2 for marks in self.acknowledged.values()):
                return
            if seconds > ANSWER_SECONDS:
                failures.append(f"acknowledged: { {kind: len(marks) - 1 for kind, marks in self.acknowledged.items()} }")
            time.sleep(0.05)

    def _choose_cuts(self, kind: str) -> None:
        """The disk as it was left, and as it would have been after cuts at some moments since the preparation."""
        marks = self.acknowledged[kind]
        if not marks:
            return
        self.cuts.append(Cut(kind, len(marks) - 1, "when the machine was killed", self._file(kind, "img")))
        log = write_log.entries(self._file(kind, "log"))
        positions = [entry.position for entry in log]
        first = bisect.bisect_left(positions, marks[0])
        for number in range(self.cut_count):
            count = self.choice.randint(first, len(log))
            end = positions[count] if count < len(log) else self._file(kind, "log").stat().st_size
            image = self._file(kind, f"cut{number}")
            lost = write_log.cut(image, self.folder / "empty", log, count, self.choice)
            acknowledged = bisect.bisect_right(marks, end) - 1
            description = f"at request {count - first} of {len(log) - first}, {lost}"
            self.cuts.append(Cut(kind, acknowledged, description, image))

    # MARK: after the cut

    def disks_after_cuts(self) -> dict[str, Disk]:
        """One disk with the file systems of all cuts, one behind the other."""
        path = self.folder / "cuts"
        with path.open("wb") as disk:
            for number, cut in enumerate(self.cuts):
                cut.offset = number * DISK_BYTES
                disk.truncate(cut.offset + DISK_BYTES)
            for cut in self.cuts:
                copy_data(cut.image, disk, cut.offset)
        return {"cuts": Disk(path)}

    def check(self, machine: Machine) -> None:
        with self.checks.part("The machine starts again", machine):
            with self.checks.check("it comes up after the power cut"):
                machine.wait_until_up(120)
            with self.checks.check("every store can be looked at"):
                for kind in KINDS:
                    machine.root.output(f"systemctl start store-keeper@{kind}", 60)
        self.checks.title("Every store opens and has what was acknowledged")
        self.checks.machine = machine
        # Two at a time: the machine has two processors.
        kinds = list(KINDS)
        lock = threading.Lock()

        def work():
            while True:
                with lock:
                    if not kinds:
                        return
                    kind = kinds.pop()
                self._check_kind(kind, Keeper(machine.ports[kind]), lock)

        threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _check_kind(self, kind: str, keeper: Keeper, lock: threading.Lock) -> None:
        try:
            keeper.finish("start")
            for cut in (each for each in self.cuts if each.kind == kind):
                name = f"{KINDS[kind]}, {cut.acknowledged} acknowledged, cut {cut.description}"
                keeper.do(f"mount /dev/disk/by-id/virtio-cuts {cut.offset} {DISK_BYTES}")
                begin = time.monotonic()
                loss = None
                try:
                    keeper.do(f"check {cut.acknowledged}")
                except Silence as error:
                    loss = str(error)
                with lock:
                    if loss is None:
                        self.checks.passes(name, begin)
                    else:
                        self.checks.fail(name, loss)
                keeper.do("unmount")
        except (Silence, OSError, PartStopped) as error:
            with lock:
                self.checks.fail(f"{KINDS[kind]}: the stores after the cuts", str(error))


def copy_data(image: pathlib.Path, disk, offset: int) -> None:
    """Copies what is not zero, so that the rest takes no space."""
    with image.open("rb") as source:
        position = offset
        while piece := source.read(1 << 16):
            if piece.count(0) != len(piece):
                disk.seek(position)
                disk.write(piece)
            position += len(piece)
