#!/usr/bin/python3
"""A helper that looks at nothing: false_helper.py hang|die|silent|answer HEX [DESCRIPTORS]|looks HEX FILE

It answers each request with the same bytes. In them, SSSSSSSS stands for the request's number. With looks it writes the folder of each look
into FILE, one line for each, and ends at every other request.
"""

import os
import socket
import sys
import time

mode = sys.argv[1]
listener = socket.socket(fileno=3)
while True:
    connection, _ = listener.accept()
    if mode == "silent":
        time.sleep(600)
    connection.send(b"\x01")
    if connection.recv(16) != b"\x03\x03":
        sys.exit(1)
    while True:
        request, descriptors, _, _ = socket.recv_fds(connection, 64, 3)
        folders = [os.readlink(f"/proc/self/fd/{descriptor}") for descriptor in descriptors]
        for descriptor in descriptors:
            os.close(descriptor)
        if not request:
            break
        if mode == "looks":
            if request[0] != 0x49:
                sys.exit(1)
            with open(sys.argv[3], "a") as file:
                file.writelines(folder + "\n" for folder in folders)
        if mode == "hang":
            time.sleep(600)
        if mode == "die":
            sys.exit(1)
        answer = bytes.fromhex(sys.argv[2].replace("SSSSSSSS", request[4:8].hex()))
        count = int(sys.argv[3]) if mode == "answer" and len(sys.argv) > 3 else 0
        socket.send_fds(connection, [answer], [os.open("/dev/null", os.O_RDONLY) for _ in range(count)])
