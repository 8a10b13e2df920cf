#!/usr/bin/env python3
"""Plays Ostiary on a whole machine: system_test.py IMAGE-FOLDER [OPTION...]. script/test-system makes the image."""

import argparse
import contextlib
import pathlib
import random
import signal
import sys
from collections.abc import Sequence

import power_cuts
import the_chip
import the_fingers
import the_passkeys
import the_person
import the_secrets
import the_security_key
from checks import Checks, PartStopped
from chip import Chip
from machine import Disk, Machine


#: The first four are played at the first console, the others beside them at the second.
PARTS = ("person", "fingers", "security-key", "passkeys", "chip", "cuts")
#: The parts for which there is always time.
SHORT = ("person", "fingers", "security-key", "cuts")


def main() -> int:
    chosen = options()
    parts = chosen.only or (SHORT if chosen.short else PARTS)
    # So that everything is taken away, whoever ends it.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    checks = Checks()
    extent = power_cuts.Extent(least_changes=2, ahead=8, earlier_cuts=chosen.cuts)
    if chosen.short:
        extent = power_cuts.Extent(least_changes=1, ahead=3, earlier_cuts=0, checked_in_machine=1)
    cuts = power_cuts.PowerCuts(checks, chosen.image / "root", chosen.seed, extent)
    with contextlib.suppress(PartStopped), cuts, Chip() as chip:

        def started(disks: dict[str, Disk]) -> Machine:
            disks[the_chip.NAME] = cuts.plain_disk(the_chip.NAME)
            return Machine(chosen.image, disks, cuts.kinds, chip, accelerator=chosen.accelerator)

        with started(cuts.disks() if "cuts" in parts else {}) as machine:
            the_person.start(checks, machine)
            checks.beside(
                lambda: at_the_first_console(parts, checks, machine),
                lambda: at_the_second_console(parts, checks, machine, cuts),
            )
            if "cuts" in parts:
                cuts.change_and_cut(machine)
        if not {"chip", "cuts"}.isdisjoint(parts):
            with started(cuts.disks_after_cuts()) as machine:
                checks.beside(lambda: after_the_cut(parts, checks, machine, cuts), cuts.check_outside)
    print(checks.summary())
    return 1 if checks.failed else 0


def options() -> argparse.Namespace:
    options = argparse.ArgumentParser()
    options.add_argument("image", type=pathlib.Path)
    options.add_argument("--short", action="store_true", help="each kind of thing once")
    options.add_argument("--only", action="append", choices=PARTS, help="this part, and the parts before it that it needs")
    options.add_argument("--seed", type=int, default=random.randrange(1 << 32), help="of the moments of the power cuts")
    options.add_argument("--cuts", type=int, default=2, help="moments at which each store is cut, besides the last")
    options.add_argument("--accelerator", default="tcg,thread=multi", help="kvm, where that works")
    return options.parse_args()


def at_the_first_console(parts: Sequence[str], checks: Checks, machine: Machine) -> None:
    if {"person", "fingers", "security-key", "passkeys"}.isdisjoint(parts):
        return
    the_person.begin(checks, machine)
    if "person" in parts:
        the_person.play(checks, machine)
        the_secrets.play(checks, machine)
    if "fingers" in parts:
        the_fingers.play(checks, machine)
    if "security-key" in parts:
        the_security_key.play(checks, machine)
    if "passkeys" in parts:
        the_passkeys.give_the_right(checks, machine)
    if "person" in parts or "passkeys" in parts:
        the_person.leave(checks, machine)
    if "passkeys" in parts:
        the_passkeys.play(checks, machine)


def at_the_second_console(parts: Sequence[str], checks: Checks, machine: Machine, cuts: power_cuts.PowerCuts) -> None:
    if "chip" in parts:
        the_chip.play(checks, machine)
    if "cuts" in parts:
        cuts.prepare(machine)


def after_the_cut(parts: Sequence[str], checks: Checks, machine: Machine, cuts: power_cuts.PowerCuts) -> None:
    the_person.start(checks, machine)
    checks.beside(
        lambda: the_chip.after_the_cut(checks, machine) if "chip" in parts else None,
        lambda: cuts.check(machine) if "cuts" in parts else None,
    )


if __name__ == "__main__":
    sys.exit(main())
