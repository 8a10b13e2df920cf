"""The serial ports of a machine, read the way a person reads a terminal."""

import codecs
import json
import re
import socket
import threading
import time


class Silence(Exception):
    """What was waited for did not come in time."""


class Console:
    """One serial port: a Unix socket that QEMU listens on."""

    def __init__(self, path: str, within: float = 20):
        deadline = time.monotonic() + within
        self.socket = socket.socket(socket.AF_UNIX)
        while True:
            try:
                self.socket.connect(path)
                break
            except (FileNotFoundError, ConnectionRefusedError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        self.name = path.rsplit("/", 1)[-1]
        self.transcript = ""
        self._taken = 0
        self._has_more = threading.Condition()
        # All the time: a port that nobody reads holds up the machine.
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while True:
            try:
                part = self.socket.recv(65536)
            except OSError:
                part = b""
            with self._has_more:
                self.transcript += decoder.decode(part).replace("\r", "")
                self._has_more.notify_all()
            if not part:
                return

    def expect(self, pattern: str, within: float) -> re.Match:
        """Waits until the text after the last match has the pattern."""
        compiled = re.compile(pattern, re.MULTILINE)
        with self._has_more:
            match = None

            def is_there():
                nonlocal match
                match = compiled.search(self.transcript, self._taken)
                return match or not self._reader.is_alive()

            self._has_more.wait_for(is_there, within)
            if match:
                self._taken = match.end()
                return match
        raise Silence(f"{self.name}: nothing like /{pattern}/ within {within:.0f} s")

    def send(self, text: str) -> None:
        self.socket.sendall(text.encode())

    def last_lines(self, count: int = 12) -> str:
        return "\n".join("    | " + line for line in self.transcript.splitlines()[-count:])

    def wait_until_closed(self) -> None:
        """Takes in what the machine had sent before it ended."""
        self._reader.join()
        self.socket.close()


class RootConsole(Console):
    """`root-console` in the machine: runs one command after the other as root."""

    def wait_until_ready(self, within: float) -> None:
        self.expect(r"<<ready 0>>\n", within)

    def run(self, command: str, within: float = 120) -> tuple[int, str]:
        """The exit status and what it printed."""
        begin = self._taken
        self.send(command + "\n")
        match = self.expect(r"\n<<status (\d+)>>\n", within)
        return int(match[1]), self.transcript[begin : match.start()].strip()

    def output(self, command: str, within: float = 120) -> str:
        """What it printed; fails unless it succeeds."""
        status, output = self.run(command, within)
        if status != 0:
            raise Silence(f"{command}: exit {status}:\n{output}")
        return output

    def wait_for(self, command: str, within: float = 120) -> str:
        """Runs it again until it succeeds."""
        deadline = time.monotonic() + within
        while True:
            status, output = self.run(command, within)
            if status == 0:
                return output
            if time.monotonic() > deadline:
                raise Silence(f"{command} did not succeed within {within:.0f} s; the last time it printed:\n{output}")
            time.sleep(0.3)


class Person(Console):
    """Somebody who logs in on a serial port, types commands, and answers prompts."""

    prompt = "here you are> "

    def log_in(self, name: str, password: str, within: float = 180) -> None:
        self.send("\n")
        self.expect(r"login: $", within)
        self.send(name + "\n")
        self.expect(r"Password: $", within)
        self.send(password + "\n")
        self.expect(r"[$#] $", within)
        # No command is broken over two lines, and the echo of this one cannot be taken for the prompt.
        self.send("stty cols 250 rows 50; bind 'set enable-bracketed-paste off'\nexport SYSTEMD_PAGER=cat PS1='here you are''> '\n")
        self.expect(f"^{self.prompt}$", within)

    def type(self, command: str, answers: tuple[tuple[str, str], ...] = (), within: float = 180) -> tuple[int, str]:
        """Types a command, answers each prompt in turn; returns its exit status and everything on the screen since."""
        begin = self._taken
        self.send(command + "; echo status=$?\n")
        # The echo of the command itself.
        self.expect(re.escape("echo status=$?"), within)
        for prompt, answer in answers:
            if self.expect(rf"(?:{prompt}): $|^status=\d+$", within)[0].startswith("status="):
                raise AssertionError(f"{command} ended before it asked for {prompt!r}: {self.transcript[begin:][-600:]}")
            self.send(answer)
        status = self.expect(r"status=(\d+)\n", within)
        self.expect(re.escape(self.prompt) + "$", within)
        return int(status[1]), self.transcript[begin : status.start()]

    def typed(self, command: str, answers=(), status: int = 0, within: float = 180) -> str:
        """What is on the screen after a command; fails unless it exits with the status."""
        actual, screen = self.type(command, answers, within)
        if actual != status:
            raise AssertionError(f"{command}: exit {actual} instead of {status}: {screen[-600:]}")
        return screen

    def document(self, command: str, status: int = 0) -> dict:
        """The JSON document that a command prints."""
        screen = self.typed(command, status=status)
        return json.loads(screen[screen.index("\n{") : screen.rindex("}") + 1])
