"""python-fido2 over the socket of software-authenticator, and the program itself with its script."""

import os
import socket
import struct
import subprocess
import tempfile
import threading

from fido2.hid import CtapHidDevice
from fido2.hid.base import CtapHidConnection, HidDescriptor


class SocketConnection(CtapHidConnection):
    """Reports of 64 bytes over a Unix socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.socket.settimeout(60)

    def read_packet(self):
        report = b""
        while len(report) < 64:
            more = self.socket.recv(64 - len(report))
            if not more:
                raise OSError("the authenticator is gone")
            report += more
        return report

    def write_packet(self, data):
        self.socket.sendall(data)

    def close(self):
        self.socket.close()


class Authenticator:
    """A running software-authenticator."""

    def __init__(self, program, *options):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "hid")
        self.process = subprocess.Popen(
            [program, self.path, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.waiting = threading.Semaphore(0)
        self.answers = threading.Semaphore(0)
        self.lines = []
        self.ready = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()
        assert self.ready.wait(60), "software-authenticator did not start"

    def _read(self):
        for line in self.process.stdout:
            word = line.strip()
            self.lines.append(word)
            if word == "ready":
                self.ready.set()
            elif word.startswith("waiting"):
                self.waiting.release()
            elif word in ("ok", "unknown"):
                assert word == "ok", self.lines
                self.answers.release()

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        assert self.answers.acquire(timeout=60), "no answer to " + line

    def connect(self):
        return SocketConnection(self.path)

    def device(self):
        return CtapHidDevice(HidDescriptor(self.path, 0, 0, 64, 64, None, None), self.connect())

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0


def report(channel, command, payload, count=None):
    """The first report of a message."""
    size = len(payload) if count is None else count
    return (struct.pack(">IBH", channel, command | 0x80, size) + payload).ljust(64, b"\0")


def continuation(channel, sequence, payload):
    return (struct.pack(">IB", channel, sequence) + payload).ljust(64, b"\0")
