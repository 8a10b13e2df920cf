"""The log that QEMU's `blklogwrites` keeps of a disk, and the disk as a power cut at any moment of it would have left it.

The format is the one of Linux' dm-log-writes (Documentation/admin-guide/device-mapper/log-writes.rst): a superblock in the
first sector, then for each request a sector with its head, and its data.
"""

import dataclasses
import pathlib
import random
import shutil
import struct

MAGIC = 0x6A736677736872
SECTOR = 512
#: Of a torn write, parts of this size are on the disk or not.
PIECE = 4096
FLUSH, FUA, DISCARD = 1, 2, 4


@dataclasses.dataclass
class Entry:
    #: Where it lies in the log; everything before was logged before.
    position: int
    flags: int
    #: Where it was written on the disk, in bytes.
    place: int
    data: bytes


def entries(log: pathlib.Path) -> list[Entry]:
    """All requests that the log has in full."""
    content = log.read_bytes()
    magic, version, count, sector = struct.unpack_from("<QQQI", content)
    if (magic, version, sector) != (MAGIC, 1, SECTOR):
        raise ValueError(f"{log} is no log of writes")
    found, position = [], SECTOR
    for _ in range(count):
        if position + SECTOR > len(content):
            break
        place, sectors, flags, _ = struct.unpack_from("<QQQQ", content, position)
        size = 0 if flags & DISCARD else sectors * SECTOR
        data = content[position + SECTOR : position + SECTOR + size]
        if len(data) < size:
            break
        found.append(Entry(position, flags, place * SECTOR, data))
        position += SECTOR + size
    return found


def cut(image: pathlib.Path, before: pathlib.Path, log: list[Entry], count: int, choice: random.Random) -> str:
    """Makes `image`: the disk `before` after the first `count` requests. The last flush among them and everything before it is
    on the disk. Of what came later each piece is there or not, by choice. Returns what was lost."""
    taken = log[:count]
    flushed = max((index + 1 for index, entry in enumerate(taken) if entry.flags & (FLUSH | FUA)), default=0)
    form = choice.choice(("nothing", "everything since the flush", "pieces"))
    shutil.copyfile(before, image)
    lost = 0
    with image.open("r+b") as disk:
        for index, entry in enumerate(taken):
            for begin in range(0, len(entry.data), PIECE):
                if index >= flushed and (form == "everything since the flush" or form == "pieces" and choice.random() < 0.5):
                    lost += 1
                    continue
                disk.seek(entry.place + begin)
                disk.write(entry.data[begin : begin + PIECE])
    return f"{lost} pieces lost"
