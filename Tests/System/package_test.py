#!/usr/bin/env python3
"""Plays the Debian packages on a whole machine: package_test.py IMAGE-FOLDER [OPTION...]. script/test-system makes the image."""

import argparse
import contextlib
import pathlib
import signal
import sys

import the_attacks
import the_callers
import the_desktop
import the_devices
import the_keyring
import the_migration
import the_package
import the_place
import the_sandboxes
import the_signins
import the_upgrade
import two_users
from checks import Checks, PartStopped
from chip import Chip
from machine import Machine

#: In the order in which they are played.
PARTS = {
    "sandboxes": the_sandboxes.play,
    "callers": the_callers.play,
    "users": two_users.play,
    "attacks": the_attacks.play,
    "place": the_place.play,
    "desktop": the_desktop.play,
    "devices": the_devices.play,
    "keyring": the_keyring.play,
    "sign-ins": the_signins.play,
    "migrate": the_migration.play,
    "upgrade": the_upgrade.play,
}
#: The parts for which there is always time.
SHORT = ("users", "attacks", "migrate", "upgrade")


def main() -> int:
    chosen = options()
    parts = chosen.only or (SHORT if chosen.short else PARTS)
    # So that everything is taken away, whoever ends it.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    checks = Checks()
    with contextlib.suppress(PartStopped), Chip() as chip:
        with Machine(chosen.image, chip=chip, accelerator=chosen.accelerator, system_disk="packages.img") as machine:
            the_package.start(checks, machine)
            if not checks.failed:
                for name, play in PARTS.items():
                    if name in parts:
                        play(checks, machine, chosen.short)
    print(checks.summary())
    return 1 if checks.failed else 0


def options() -> argparse.Namespace:
    options = argparse.ArgumentParser()
    options.add_argument("image", type=pathlib.Path)
    options.add_argument("--short", action="store_true", help="each kind of thing once")
    options.add_argument("--only", action="append", choices=PARTS, help="this part, after the installation")
    options.add_argument("--accelerator", default="tcg,thread=multi", help="kvm, where that works")
    return options.parse_args()


if __name__ == "__main__":
    sys.exit(main())
