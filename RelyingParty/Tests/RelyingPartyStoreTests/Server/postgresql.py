"""A PostgreSQL server of its own: a socket in a folder of its own, and no port.

Prints the folder of the socket once the server answers. Then reads commands, a line each, and prints a line after each: `start`,
`stop`, `kill` (the server and everything that it started, as a crash does). Ends the server when standard input ends.
"""

import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

USER = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []


def program(name):
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}")) or [shutil.which(name)]
    if found[-1] is None:
        raise SystemExit(f"{name} is missing. Run script/setup test.")
    return found[-1]


class Server:
    def __init__(self, folder):
        self.folder, self.data = folder, os.path.join(folder, "data")
        self.run("initdb", "--no-sync", "--auth=trust", "--username=tests", "--encoding=UTF8", "--locale=C", "-D", self.data)
        self.start()

    def run(self, name, *arguments):
        subprocess.run([*USER, program(name), *arguments], check=True, stdout=sys.stderr, cwd=self.folder)

    def start(self):
        # Without fsync a crash of the machine loses data. Here only processes die.
        options = f"-k {self.folder} -c listen_addresses='' -c fsync=off -c max_connections=200"
        self.run("pg_ctl", "-D", self.data, "-w", "-t", "120", "-l", os.path.join(self.folder, "log"), "-o", options, "start")

    def stop(self):
        self.run("pg_ctl", "-D", self.data, "-w", "-t", "120", "-m", "fast", "stop")

    def kill(self):
        with open(os.path.join(self.data, "postmaster.pid")) as file:
            leader = int(file.readline())
        # First of all, so that it starts no more of them.
        os.kill(leader, signal.SIGSTOP)
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(leader)], capture_output=True, text=True).stdout
        processes = [*map(int, listed.split()), leader]
        for process in processes:
            os.kill(process, signal.SIGKILL)
        # A server does not start while one of them has the shared memory.
        while any(map(self.lives, processes)):
            time.sleep(0.01)
        # A dead process that nobody has waited for yet keeps its number, and a new server would take it for a running one.
        for lock in [os.path.join(self.data, "postmaster.pid"), *glob.glob(f"{self.folder}/.s.PGSQL.*.lock")]:
            os.remove(lock)

    @staticmethod
    def lives(process):
        """Whether it runs. One that nobody has waited for yet is dead too."""
        try:
            with open(f"/proc/{process}/stat") as file:
                return file.read().rsplit(")", 1)[1].split()[0] != "Z"
        except FileNotFoundError:
            return False


folder = tempfile.mkdtemp(prefix="postgresql-")
try:
    if USER:
        shutil.chown(folder, "postgres", "postgres")
    server = Server(folder)
    print(folder, flush=True)
    for line in sys.stdin:
        getattr(server, {"start": "start", "stop": "stop", "kill": "kill"}[line.strip()])()
        print("done", flush=True)
finally:
    subprocess.run(
        [*USER, program("pg_ctl"), "-D", os.path.join(folder, "data"), "-w", "-m", "immediate", "stop"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", check=False)
    shutil.rmtree(folder, ignore_errors=True)
