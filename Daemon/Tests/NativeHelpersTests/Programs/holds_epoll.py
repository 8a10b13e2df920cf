"""Keeps everybody waiting who reads what /proc says of its epoll instance: holds_epoll.py [look] <TERMINAL

The terminal becomes its controlling one. The kernel writes an event into memory that never comes (userfaultfd(2)), and holds the
instance's lock meanwhile. It prints a line before. With `look` it ends there. The status is 77 if the kernel lets this user have no such
memory.
"""

import ctypes
import fcntl
import mmap
import os
import struct
import sys
import termios

SYS_USERFAULTFD, UFFDIO_API, UFFDIO_REGISTER, MISSING, EPOLLIN = 323, 0xC018AA3F, 0xC020AA00, 1, 1

libc = ctypes.CDLL(None)
faults = libc.syscall(SYS_USERFAULTFD, os.O_CLOEXEC)
if os.uname().machine != "x86_64" or faults < 0:
    sys.exit(77)
fcntl.ioctl(faults, UFFDIO_API, struct.pack("QQQ", 0xAA, 0, 0))
memory = mmap.mmap(-1, mmap.PAGESIZE)
place = ctypes.addressof(ctypes.c_char.from_buffer(memory))
fcntl.ioctl(faults, UFFDIO_REGISTER, struct.pack("QQQQ", place, mmap.PAGESIZE, MISSING, 0))
instance = libc.epoll_create1(0)
reader, writer = os.pipe()
os.write(writer, b"x")
event = struct.pack("<IQ", EPOLLIN, 0)
libc.epoll_ctl(instance, 1, reader, event)
if sys.argv[1:] == ["look"]:
    sys.exit(0)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
print("ready", flush=True)
libc.epoll_wait(instance, ctypes.c_void_p(place), 1, -1)
