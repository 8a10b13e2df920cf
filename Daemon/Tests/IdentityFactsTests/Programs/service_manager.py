"""Plays the service manager for a helper with Accept=no: service_manager.py SOCKET PROGRAM [ARGUMENT...]

It listens, starts the program with the first connection that waits, and starts it again after each end.
"""

import os
import select
import socket
import sys

listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind(sys.argv[1])
listener.listen(64)
while True:
    select.select([listener], [], [])
    child = os.fork()
    if child == 0:
        environment = dict(os.environ, LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
        os.dup2(listener.fileno(), 3, inheritable=True)
        if listener.fileno() == 3:
            os.set_inheritable(3, True)
        os.execve(sys.argv[2], sys.argv[2:], environment)
    os.waitpid(child, 0)
