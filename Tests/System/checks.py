"""Counts named checks, and says what each came to."""

import contextlib
import resource
import threading
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
        # Parts run beside each other.
        self._lock = threading.RLock()

    def title(self, text: str) -> None:
        self.say(f"== {text} ({time.monotonic() - self.begin:.0f} s)")

    def say(self, text: str) -> None:
        with self._lock:
            print(text, flush=True)

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
        with self._lock:
            self.passed += 1
            self.say(f"ok {self.passed + len(self.failed):3}  {name} ({time.monotonic() - begin:.1f} s)")

    def fail(self, name: str, reason: str) -> None:
        with self._lock:
            self.failed.append(name)
            self.say(f"NOT OK {self.passed + len(self.failed)}  {name}\n  {reason}")
            if self.machine:
                self.say(self.machine.last_lines())

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

    def beside(self, *parts) -> None:
        """Runs functions at the same time, and waits for all of them."""

        def run(part):
            try:
                part()
            except PartStopped:
                pass
            except Exception as error:
                self.fail(f"{part.__module__}: the test itself", f"{type(error).__name__}: {error}")

        threads = [threading.Thread(target=run, args=(part,), daemon=True) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def summary(self) -> str:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        times = f"{time.monotonic() - self.begin:.0f} s, on the processors {used.ru_utime + used.ru_stime:.0f} s"
        if self.failed:
            return f"System test: {self.passed} checks passed, {len(self.failed)} FAILED ({times}): {'; '.join(self.failed)}"
        return f"System test: {self.passed} checks passed ({times})"


def expect_equal(actual, expected) -> None:
    if actual != expected:
        raise AssertionError(f"expected {expected!r}, got {actual!r}")


def expect(condition, otherwise: str) -> None:
    if not condition:
        raise AssertionError(otherwise)
