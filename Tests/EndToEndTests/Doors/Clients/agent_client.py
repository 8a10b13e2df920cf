"""A client of an agent that says what a test wants: agent_client.py [--execute] SOCKET FILE MESSAGE...

Each message is in hexadecimal digits, without its length. The first byte of each answer is a line of FILE.

With --execute the process waits, after the last message, for a file "go" in its folder, and then executes another program,
which inherits the connection and writes the five bytes of a short answer into FILE. Its process id is in "client.pid" before.
"""

import os
import socket
import struct
import sys
import time


def read(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise SystemExit("the agent closed the connection")
        data += part
    return data


def answer(connection: socket.socket) -> bytes:
    return read(connection, struct.unpack(">I", read(connection, 4))[0])


def execute(connection: socket.socket, path: str) -> None:
    deadline = time.monotonic() + 120
    while not os.path.exists("go"):
        if time.monotonic() > deadline:
            raise SystemExit("nobody said go")
        time.sleep(0.01)
    output = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(output, 1)
    os.dup2(connection.fileno(), 0)
    os.execv("/usr/bin/head", ["head", "-c", "5"])


def main(arguments: list[str]) -> None:
    executes = arguments[0] == "--execute"
    path, output, *messages = arguments[int(executes) :]
    with open("client.pid.new", "w", encoding="ascii") as file:
        file.write(str(os.getpid()))
    os.rename("client.pid.new", "client.pid")
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    answers = []
    for number, message in enumerate(map(bytes.fromhex, messages)):
        connection.sendall(struct.pack(">I", len(message)) + message)
        if executes and number == len(messages) - 1:
            execute(connection, output)
        answers.append(answer(connection)[0])
    with open(output, "w", encoding="ascii") as file:
        file.writelines(f"{number}\n" for number in answers)


main(sys.argv[1:])
