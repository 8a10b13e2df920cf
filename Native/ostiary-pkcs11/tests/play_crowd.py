"""Runs tests/crowd.c against the stand-in for the door: play_crowd.py FOLDER [PROGRAM BEFORE IT...]"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

built, before = sys.argv[1], sys.argv[2:]
here = os.path.dirname(os.path.abspath(__file__))
with tempfile.TemporaryDirectory() as folder:
    shutil.copy(f"{built}/keys.pem", folder)
    os.mkdir(f"{folder}/run", 0o700)
    place = f"{folder}/run/ostiary/pkcs11.sock"
    door = subprocess.Popen([sys.executable, "-B", f"{here}/fake_door.py", place, f"{folder}/log", '{"standing": ["ed"]}'])
    try:
        for _ in range(1000):
            if os.path.exists(place):
                break
            time.sleep(0.01)
        run = subprocess.run([*before, f"{built}/crowd"], env=os.environ | {"XDG_RUNTIME_DIR": f"{folder}/run"}, capture_output=True, text=True, timeout=300)
    finally:
        door.send_signal(signal.SIGKILL)
        door.wait()
    print(run.stdout + run.stderr, end="")
    sys.exit(run.returncode or bool(run.stderr))
