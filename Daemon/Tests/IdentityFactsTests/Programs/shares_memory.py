"""Executes sleep at the first line of its input, and leaves a process that uses its memory: shares_memory.py"""

import ctypes
import mmap
import os
import signal
import sys

CLONE_VM = 0x100

libc = ctypes.CDLL(None)
stack = mmap.mmap(-1, 1 << 16)
top = ctypes.addressof(ctypes.c_char.from_buffer(stack)) + (1 << 16)
sys.stdin.readline()
# The new process is in pause(2) and in nothing of Python's.
if libc.clone(libc.pause, ctypes.c_void_p(top), CLONE_VM | signal.SIGCHLD, None) < 0:
    sys.exit(77)
os.execv("/usr/bin/sleep", ["sleep", "600"])
