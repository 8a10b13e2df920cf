"""A daemon that does what a test says, for pam_ostiary.so: Documentation/formats/sign-in.md from the daemon's side."""

import array
import contextlib
import os
import signal
import socket
import struct
import threading

HELLO, WAIT, INFO, ASK, ERROR, OK, NO, UNAVAILABLE, DONE = range(1, 10)
AUTHENTICATE, TYPED, CANCELLED, OPEN, CHANGE, RESET = 0x10, 0x11, 0x12, 0x20, 0x30, 0x31
SILENT, TERMINAL, MAY_ASK = 1, 2, 4
TEXTS = {AUTHENTICATE: 4, TYPED: 1, CANCELLED: 0, OPEN: 3, CHANGE: 3, RESET: 1}
HEAD = b"OP\x01"


def message(kind, *parts):
    """Bytes of a message: numbers are bytes, everything else a text."""
    made = HEAD + bytes([kind])
    for part in parts:
        if isinstance(part, int):
            made += bytes([part])
        else:
            text = part.encode() if isinstance(part, str) else part
            made += struct.pack(">H", len(text)) + text
    return made


class HungUp(Exception):
    pass


class Module:
    """The connection of one call of the module."""

    def __init__(self, connection):
        self.connection = connection
        self.descriptors = []
        self.sender = None
        self.peer = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        # Longer than any wait of the module.
        connection.settimeout(20)

    def send(self, kind, *parts):
        self.raw(message(kind, *parts))

    def raw(self, some_bytes, descriptors=()):
        passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        self.connection.sendmsg([some_bytes], passed)

    def receive(self):
        """Kind, texts and flags of the next message, each byte accounted for."""
        got, control, _, _ = self.connection.recvmsg(4096, 1024)
        for level, kind, data in control:
            if kind == socket.SCM_RIGHTS:
                self.descriptors += list(array.array("i", data))
            else:
                self.sender = struct.unpack("3i", data)
        if not got:
            raise HungUp
        assert len(got) <= 2048 and got[:3] == HEAD, got
        kind, place, texts = got[3], 4, []
        for _ in range(TEXTS[kind]):
            (size,) = struct.unpack_from(">H", got, place)
            texts.append(got[place + 2:place + 2 + size])
            assert len(texts[-1]) == size and 0 not in texts[-1], got
            place += 2 + size
        flags = ()
        if kind == AUTHENTICATE:
            flags, place = (got[place],), place + 1
        assert place == len(got), got
        return (kind, *(text.decode() for text in texts), *flags)

    def begin(self):
        """Greets, and reads the request."""
        self.send(HELLO)
        return self.receive()

    def expect_the_end(self):
        try:
            got = self.receive()
        except (HungUp, ConnectionResetError):
            return
        raise AssertionError(f"the module went on with {got}")


class ScriptedDaemon:
    """Listens at `path`, and runs the script with each connection. `connections` is how many it expects."""

    def __init__(self, path, script, connections=1):
        self.script = script
        self.connections = connections
        self.failures = []
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        os.chmod(path, 0o666)
        self.listener.listen(64)
        # A busy machine may start a program late.
        self.listener.settimeout(30)
        self.thread = threading.Thread(target=self.serve)

    def serve(self):
        for _ in range(self.connections):
            try:
                with self.listener.accept()[0] as connection:
                    module = Module(connection)
                    self.script(module)
                    for descriptor in module.descriptors:
                        os.close(descriptor)
            except Exception as failure:  # It is raised by the test's own thread.
                self.failures.append(failure)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        self.thread.join(60)
        self.listener.close()
        if self.failures and not kind:
            raise self.failures[0]


@contextlib.contextmanager
def of_another_user(path, user):
    """A process of this user that listens, greets, and tells how many bytes it got: the list that is given."""
    reading, writing = os.pipe()
    ready, is_ready = os.pipe()
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    child = os.fork()
    if child == 0:
        try:
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            listener.bind(path)
            listener.listen()
            os.write(is_ready, b".")
            connection, _ = listener.accept()
            got = b""
            with contextlib.suppress(OSError):
                connection.send(message(HELLO))
                got = connection.recv(4096)
                connection.send(message(OK))
            os.write(writing, f"{len(got)} ".encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.read(ready, 1)
    got = []
    try:
        yield got
        got += [int(each) for each in os.read(reading, 100).split()]
    finally:
        for descriptor in (reading, ready, is_ready):
            os.close(descriptor)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
