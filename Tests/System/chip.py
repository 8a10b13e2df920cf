"""A TPM 2.0 for the machine: swtpm behind QEMU's tpm-tis. In the machine it is /dev/tpm0, and /dev/tpmrm0 with the kernel's
resource manager."""

import pathlib
import shutil
import subprocess
import tempfile
import time


class Chip:
    """Its state stays from one run of the machine to the next."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ostiary-chip-"))
        self.process: subprocess.Popen | None = None

    def power_on(self) -> list[str]:
        """Starts it; returns QEMU's options. It resets with the machine, without having been told to shut down."""
        path = self.folder / "control"
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "swtpm", "socket", "--tpm2", "--tpmstate", f"dir={self.folder}"]
            + ["--ctrl", f"type=unixio,path={path}"],
            stdin=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 30
        while not path.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("swtpm did not start")
            time.sleep(0.02)
        return ["-chardev", f"socket,id=chip-control,path={path}", "-tpmdev", "emulator,id=tpm,chardev=chip-control", "-device", "tpm-tis,tpmdev=tpm"]

    def power_off(self) -> None:
        """Ends it at once: only what it wrote stays."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
        (self.folder / "control").unlink(missing_ok=True)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.power_off()
        shutil.rmtree(self.folder, ignore_errors=True)
