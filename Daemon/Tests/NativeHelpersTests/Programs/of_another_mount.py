"""Executes a copy of sleep under the path /usr/bin/true, in the caller's own mount namespace: of_another_mount.py COPY

A child mounts the copy there in namespaces of its own, and passes a handle of it. Ends with status 77 if the kernel gives no
namespaces.
"""

import ctypes
import os
import shutil
import signal
import socket
import sys
import time

CLONE_NEWUSER, CLONE_NEWNS, MS_BIND, PR_SET_PDEATHSIG = 0x10000000, 0x20000, 0x1000, 1

libc = ctypes.CDLL(None)
shutil.copy(shutil.which("sleep"), sys.argv[1])
parent, child = socket.socketpair()
if os.fork() == 0:
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0:
        os._exit(1)
    if libc.mount(sys.argv[1].encode(), b"/usr/bin/true", None, MS_BIND, None) != 0:
        os._exit(1)
    # The namespace lives as long as this process. With it the mount would go, and the path.
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    socket.send_fds(child, [b"1"], [os.open("/usr/bin/true", os.O_PATH)])
    time.sleep(600)
    os._exit(0)
child.close()
_, handles, _, _ = socket.recv_fds(parent, 1, 1)
if not handles:
    sys.exit(77)
os.set_inheritable(handles[0], True)
os.execve(handles[0], ["sleep", "600"], {})
