"""Answers for domains below example.com over HTTPS, on the loopback interface.

usage: association-server.py FOLDER APPLICATION

Makes a certificate authority in FOLDER/authority.pem, prints the port, notes each request as a line of FOLDER/requests, and
ends with its standard input.
"""

import http.server
import json
import os
import ssl
import subprocess
import sys
import threading
import time

folder, application = sys.argv[1:]


def path(name):
    return os.path.join(folder, name)


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_certificates():
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *key, "-keyout", path("authority.key"), "-out", path("authority.pem"), "-days", "2",
            "-subj", "/CN=Authority of a test", "-addext", "basicConstraints=critical,CA:TRUE")
    openssl("req", *key, "-keyout", path("server.key"), "-out", path("server.csr"), "-subj", "/CN=example.com")
    with open(path("extensions"), "w") as file:
        file.write("subjectAltName=DNS:example.com,DNS:*.example.com\n")
    openssl("x509", "-req", "-in", path("server.csr"), "-CA", path("authority.pem"), "-CAkey", path("authority.key"),
            "-CAcreateserial", "-days", "2", "-extfile", path("extensions"), "-out", path("server.pem"))


def contents(applications):
    return json.dumps({"webcredentials": {"apps": applications}}).encode()


BODIES = {
    "other": contents(["com.example.other", application + "2", application.upper()]),
    "text": b"webcredentials: apps",
    "array": json.dumps([{"webcredentials": {"apps": [application]}}]).encode(),
    "type": json.dumps({"webcredentials": {"apps": application}}).encode(),
    "cut": contents([application])[:-3],
    "service": json.dumps({"applinks": {"apps": [application]}}).encode(),
    "empty": b"",
    "deep": b"[" * 60000,
    "largest": contents([application]).ljust(128 * 1024),
    "large": contents([application]).ljust(128 * 1024 + 1),
}
STATUSES = {"missing": 404, "gone": 410, "error": 500, "forbidden": 403}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        host = self.headers.get("Host", "").split(":")[0]
        with open(path("requests"), "a") as file:
            file.write(f"{host} {self.path}\n")
        name = host.removesuffix(".example.com")
        if self.path != "/.well-known/apple-app-site-association":
            return self.answer(200, contents([application]))
        if name == "redirect":
            return self.answer(302, b"", Location="https://example.com/.well-known/apple-app-site-association")
        if name == "moved":
            return self.answer(301, b"", Location="https://moved.example.com/file")
        if name == "slow":
            time.sleep(60)
        if name == "endless":
            return self.drip()
        if os.path.exists(path("takes-back")):
            return self.answer(200, contents([]))
        self.answer(STATUSES.get(name, 200), BODIES.get(name, contents([application])))

    def answer(self, status, body, **headers):
        self.send_response(status)
        for header, value in headers.items():
            self.send_header(header, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def drip(self):
        """More than anybody takes, without saying how much."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while True:
            self.wfile.write(b"1000\r\n" + b" " * 4096 + b"\r\n")

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        """The other side closes when it has seen enough."""


make_certificates()
server = Server(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(path("server.pem"), path("server.key"))
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
