#!/usr/bin/env python3
"""Plays Ostiary on a whole machine: system_test.py IMAGE-FOLDER [--seed N] [--cuts N]. script/test-system makes the image."""

import argparse
import contextlib
import pathlib
import random
import signal
import sys

import power_cuts
import the_fingers
import the_person
from checks import Checks, PartStopped
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
    cuts = power_cuts.PowerCuts(checks, chosen.seed, chosen.cuts)
    with contextlib.suppress(PartStopped), cuts:
        # `devices=` of Machine is the place for a TPM; HID devices are made inside, through /dev/uhid.
        with Machine(chosen.image, cuts.disks(), cuts.kinds, accelerator=chosen.accelerator) as machine:
            the_person.play(checks, machine)
            the_fingers.play(checks, machine)
            the_person.leave(checks, machine)
            cuts.change_and_cut(machine)
        with Machine(chosen.image, cuts.disks_after_cuts(), cuts.kinds, accelerator=chosen.accelerator) as machine:
            cuts.check(machine)
    print(checks.summary())
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
