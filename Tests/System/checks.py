"""Counts named checks, and says what each came to."""

import contextlib
import time

from machine import Machine


class PartStopped(Exception):
    """A check failed, and those behind it in its part need what it made."""


class Checks:
    def __init__(self):
        self.passed = 0
        self.failed: list[str] = []
        self.begin = time.monotonic()
        self.machine: Machine | None = None

    def title(self, text: str) -> None:
        print(f"== {text} ({time.monotonic() - self.begin:.0f} s)", flush=True)

    @contextlib.contextmanager
    def check(self, name: str):
        """The body makes the check, and raises if it fails."""
        begin = time.monotonic()
        try:
            yield
        except Exception as error:
            self.fail(name, f"{type(error).__name__}: {error}")
            raise PartStopped from error
        self.passes(name, begin)

    def passes(self, name: str, begin: float) -> None:
        self.passed += 1
        print(f"ok {self.passed + len(self.failed):3}  {name} ({time.monotonic() - begin:.1f} s)", flush=True)

    def fail(self, name: str, reason: str) -> None:
        self.failed.append(name)
        print(f"NOT OK {self.passed + len(self.failed)}  {name}\n  {reason}", flush=True)
        if self.machine:
            print(self.machine.last_lines(), flush=True)

    @contextlib.contextmanager
    def part(self, text: str, machine: Machine):
        """Checks that build on each other: after a failed one the rest of the part is left out."""
        self.title(text)
        self.machine = machine
        try:
            yield
        except PartStopped:
            # Nothing else can be checked on a machine that is not there.
            if not machine.is_up:
                raise
        self.machine = None

    def summary(self) -> str:
        seconds = time.monotonic() - self.begin
        if self.failed:
            return f"System test: {self.passed} checks passed, {len(self.failed)} FAILED ({seconds:.0f} s): {'; '.join(self.failed)}"
        return f"System test: {self.passed} checks passed ({seconds:.0f} s)"


def expect_equal(actual, expected) -> None:
    if actual != expected:
        raise AssertionError(f"expected {expected!r}, got {actual!r}")


def expect(condition, otherwise: str) -> None:
    if not condition:
        raise AssertionError(otherwise)
