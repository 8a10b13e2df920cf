#!/usr/bin/env python3
"""Plays Ostiary on a whole machine: system_test.py IMAGE-FOLDER [--seed N] [--cuts N]. script/test-system makes the image."""

import argparse
import contextlib
import pathlib
import random
import signal
import sys

import power_cuts
import the_chip
import the_fingers
import the_person
import the_security_key
from checks import Checks, PartStopped
from chip import Chip
from machine import Machine


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("image", type=pathlib.Path)
    options.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="of the moments of the power cuts")
    options.add_argument("--cuts", type=int, default=2, help="moments at which each store is cut, besides the last")
    options.add_argument("--accelerator", default="tcg,thread=multi", help="kvm, where that works")
    chosen = options.parse_args()
    # So that everything is taken away, whoever ends it.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    checks = Checks()
    cuts = power_cuts.PowerCuts(checks, chosen.image / "root", chosen.seed, chosen.cuts)
    with contextlib.suppress(PartStopped), cuts, Chip() as chip:

        def started(disks) -> Machine:
            return Machine(chosen.image, disks, cuts.kinds, chip, accelerator=chosen.accelerator)

        with started({**cuts.disks(), the_chip.NAME: cuts.plain_disk(the_chip.NAME)}) as machine:
            the_person.start(checks, machine)

            def at_the_first_console():
                the_person.play(checks, machine)
                the_fingers.play(checks, machine)
                the_security_key.play(checks, machine)
                the_person.leave(checks, machine)

            def at_the_second_console():
                the_chip.play(checks, machine)
                cuts.prepare(machine)

            checks.beside(at_the_first_console, at_the_second_console)
            cuts.change_and_cut(machine)
        with started({**cuts.disks_after_cuts(), the_chip.NAME: cuts.plain_disk(the_chip.NAME)}) as machine:

            def after_the_start():
                the_person.start(checks, machine)
                checks.beside(lambda: the_chip.after_the_cut(checks, machine), lambda: cuts.check(machine))

            checks.beside(after_the_start, cuts.check_earlier)
    print(checks.summary())
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
