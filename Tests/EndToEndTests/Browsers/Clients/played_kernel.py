"""The kernel's side of uhid(4) over a socket, and a person at a terminal, for the program that shows passkeys as a HID device."""

import fcntl
import os
import queue
import select
import socket
import struct
import subprocess
import termios
import threading

from fido2.hid import CtapHidDevice
from fido2.hid.base import CtapHidConnection, HidDescriptor

EVENT = 4380
CREATE2, START, OPEN, OUTPUT, GET_REPORT, GET_REPORT_REPLY, INPUT2 = 11, 2, 4, 6, 9, 10, 12


BROADCAST = b"\xff" * 4


class Connection(CtapHidConnection):
    """A program that opened the device. hidraw(4) gives each program every report; python-fido2 wants only those of its channels."""

    def __init__(self, device):
        self.device = device
        self.reports = queue.Queue()
        self.channels = set()
        device.connections.append(self)

    def take(self, report):
        channel = report[:4]
        if channel in self.channels:
            self.reports.put(report)
        if channel == BROADCAST:
            self.channels.discard(BROADCAST)

    def read_packet(self):
        report = self.reports.get(timeout=60)
        if report is None:
            raise OSError("the device is gone")
        return report

    def write_packet(self, data):
        self.channels.add(data[:4])
        self.device.write(b"\0" + data)

    def close(self):
        self.device.connections.remove(self)


class Device:
    """The program, its device, and the person who answers its questions."""

    def __init__(self, program, passcode):
        self.passcode = passcode
        self.connections = []
        self.replies = queue.Queue()
        self.socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.terminal, side = os.openpty()
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))

        def prepare():
            os.setsid()
            fcntl.ioctl(side, termios.TIOCSCTTY, 0)
            os.dup2(other.fileno(), 3)

        self.process = subprocess.Popen(
            [program], stdin=side, stdout=side, stderr=subprocess.PIPE, pass_fds=(3,), preexec_fn=prepare, text=True
        )
        other.close()
        os.close(side)
        self.screen, self.answered, self.habit = "", 0, "passcode"
        self.asked = threading.Semaphore(0)
        self.notes = []
        self.ready = threading.Event()
        self.created = threading.Event()
        for work in (self._read_notes, self._play_person, self._play_kernel):
            threading.Thread(target=work, daemon=True).start()
        assert self.ready.wait(60), self.notes
        assert self.created.wait(60), "no device"

    # The kernel.

    def _play_kernel(self):
        while event := self._receive():
            (kind,) = struct.unpack_from("<I", event)
            if kind == CREATE2:
                name, place, _, size, bus = struct.unpack_from("<128s64s64sHH", event, 4)
                self.name, self.place, self.bus = name.rstrip(b"\0"), place.rstrip(b"\0"), bus
                self.form = event[4 + 256 + 20 :][:size]
                self.send(struct.pack("<IQ", START, 0))
                self.send(struct.pack("<I", OPEN))
                self.created.set()
            elif kind == INPUT2:
                (size,) = struct.unpack_from("<H", event, 4)
                assert size == 64, size
                for connection in list(self.connections):
                    connection.take(event[6:70])
            else:
                self.replies.put(event)
        for connection in list(self.connections):
            connection.reports.put(None)

    def _receive(self):
        try:
            return self.socket.recv(EVENT)
        except OSError:
            return b""

    def send(self, event):
        self.socket.send(event.ljust(EVENT, b"\0"))

    def write(self, report):
        self.send(struct.pack("<I4096sHB", OUTPUT, report, len(report), 1))

    def get_report(self):
        """The error that a program gets which asks for a report by ioctl."""
        self.send(struct.pack("<IIBB", GET_REPORT, 77, 0, 0))
        kind, number, error = struct.unpack_from("<IIH", self.replies.get(timeout=60))
        assert (kind, number) == (GET_REPORT_REPLY, 77)
        return error

    # The person.

    def _play_person(self):
        while True:
            if select.select([self.terminal], [], [], 0.05)[0]:
                try:
                    self.screen += os.read(self.terminal, 4096).decode(errors="replace")
                except OSError:
                    return
            elif self._is_asked():
                self.answered = len(self.screen)
                self.asked.release()
                if self.habit != "hold":
                    answer = {"passcode": self.passcode + "\n", "wrong": "wrong horse 8\n", "decline": "\x03"}[self.habit]
                    os.write(self.terminal, answer.encode())

    def _is_asked(self):
        shows = not termios.tcgetattr(self.terminal)[3] & termios.ECHO
        return shows and len(self.screen) > self.answered and self.screen.endswith("asscode: ")

    def _read_notes(self):
        for line in self.process.stderr:
            self.notes.append(line.strip())
            if line == "ready\n":
                self.ready.set()

    def shows(self, text):
        """Whether the person saw the text, on however many lines."""
        return "".join(text.split()) in "".join(self.screen.split())

    def forget(self):
        self.screen, self.answered = "", 0

    # Programs.

    def connect(self):
        return Connection(self)

    def client(self):
        return CtapHidDevice(HidDescriptor("uhid", 0, 0, 64, 64, None, None), self.connect())

    def close(self):
        self.socket.close()
        self.process.kill()
        self.process.wait(60)
