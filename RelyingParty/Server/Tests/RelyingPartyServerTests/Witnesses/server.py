"""The example server as a process, and a browser's side of HTTP."""

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager


@contextmanager
def running(program, *arguments):
    """The port of a server that answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([program, "--port", str(port), *arguments], stdout=sys.stderr)
    try:
        deadline = time.monotonic() + 120
        while True:
            try:
                Browser(port).send("/")
                break
            except urllib.error.URLError:
                if server.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit("the server does not answer")
                time.sleep(0.05)
        yield port
    finally:
        server.terminate()
        server.wait()


class Browser:
    """Sends JSON, and keeps cookies."""

    def __init__(self, port):
        self.origin = f"http://localhost:{port}"
        self.cookies = {}

    def send(self, path, content=None, accept=None, page=None):
        """The status and the text of the answer. POST if there is content. `page` has the headers that tell whose page asked."""
        data = None if content is None else content if isinstance(content, bytes) else json.dumps(content).encode()
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {"Cookie": cookies} if cookies else {}
        headers.update(({} if data is None else {"Origin": self.origin}) if page is None else page)
        if accept:
            headers["Accept"] = accept
        request = urllib.request.Request(self.origin + path, data, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                for cookie in answer.headers.get_all("Set-Cookie") or []:
                    name, value = cookie.split(";")[0].split("=", 1)
                    self.cookies[name] = value
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read().decode()

    def options(self, path, content=None):
        status, text = self.send(path + "/options", content or {})
        assert status == 200, text
        return json.loads(text)
