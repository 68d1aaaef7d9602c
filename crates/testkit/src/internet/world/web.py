"""A web server that writes down every byte it gets, and believes all of it.

It is as lenient as careless servers are: what a gate lets through that it
should not have is served, and so is seen.
"""

import base64
import subprocess
import time
from urllib.parse import parse_qs, urlsplit

import files
import sockets

HEAD_END = b"\r\n\r\n"
# As much of a connection is written down.
LOGGED = 64 << 10
# Who may use the private repository.
GIT_USER = base64.b64encode(b"git:token-of-the-git-server").decode()
ASKS_WHO = {"WWW-Authenticate": 'Basic realm="git"'}


class Stream:
    """The bytes of one connection, written down as they come."""

    def __init__(self, connection, seen):
        self.connection = connection
        self.seen = seen
        self.held = b""
        self.logged = 0

    def more(self):
        data = self.connection.recv(65536)
        if data and self.logged < LOGGED:
            self.logged += len(data)
            self.seen("raw", data=data.decode("latin-1"))
        self.held += data
        return bool(data)

    def until(self, end):
        while end not in self.held:
            if len(self.held) > 1 << 20 or not self.more():
                return None
        found, _, self.held = self.held.partition(end)
        return found

    def exactly(self, size):
        while len(self.held) < size:
            if not self.more():
                break
        found, self.held = self.held[:size], self.held[size:]
        return found

    def send(self, data):
        self.connection.sendall(data)


class Request:
    def __init__(self, head):
        lines = head.decode("latin-1").split("\r\n")
        words = lines[0].split(" ")
        self.method, self.target = words[0], words[1] if len(words) > 1 else ""
        self.version = words[-1]
        pairs = [line.partition(":") for line in lines[1:]]
        self.headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        self.host = self.headers.get("host", "")
        parts = urlsplit(self.target)
        self.path, self.query = parts.path or "/", parse_qs(parts.query)
        self.raw_query = parts.query
        self.body = b""

    def read_body(self, stream):
        if "chunked" in self.headers.get("transfer-encoding", ""):
            while True:
                line = stream.until(b"\r\n")
                size = int((line or b"0").split(b";")[0], 16)
                self.body += stream.exactly(size)
                stream.until(b"\r\n")
                if size == 0:
                    return
        self.body = stream.exactly(int(self.headers.get("content-length", "0")))

    def wanted(self, name, default):
        return self.query.get(name, [default])[0]


class Site:
    def __init__(self, config, names=None):
        self.files = config["files"]
        self.repositories = config["repositories"]
        self.names = names
        self.routes = {
            "/redirect": self.redirect,
            "/slow": self.slow,
            "/later": self.later,
            "/big": self.big,
            "/echo": self.echo,
            "/ws": self.websocket,
            "/dns-query": self.dns,
        }

    def serve(self, connection, seen):
        stream = Stream(connection, seen)
        while (head := stream.until(HEAD_END)) is not None:
            request = Request(head)
            request.secure = hasattr(connection, "named")
            if request.headers.get("expect", "").lower() == "100-continue":
                stream.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.read_body(stream)
            seen(
                "http",
                method=request.method,
                target=request.target,
                host=request.host,
                sni=getattr(connection, "named", None),
                headers=request.headers,
                body=request.body[:1024].decode("latin-1"),
            )
            if self.answer(request, stream) is False:
                return
            if request.headers.get("connection", "").lower() == "close":
                return
            if request.version == "HTTP/1.0":
                return

    def answer(self, request, stream):
        if request.path.startswith("/git/"):
            return self.git(request, stream)
        if request.path in self.routes:
            return self.routes[request.path](request, stream)
        if request.path.startswith(files.PREFIXES):
            status, kind, body = files.find(self.files, request)
            return reply(stream, request, body, status, **{"Content-Type": kind})
        return reply(stream, request, f"hello from {request.host}\n".encode())

    def redirect(self, request, stream):
        reply(stream, request, b"", "302 Found", Location=request.wanted("to", "/"))

    def slow(self, request, stream):
        seconds = float(request.wanted("seconds", "1"))
        stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
        for number in range(10):
            time.sleep(seconds / 10)
            stream.send(b"%d" % number)

    def later(self, request, stream):
        time.sleep(float(request.wanted("seconds", "1")))
        reply(stream, request, f"hello from {request.host}, at last\n".encode())

    def big(self, request, stream):
        size = int(request.wanted("bytes", "1000000"))
        stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        block = b"x" * (1 << 20)
        while size > 0:
            stream.send(block[:size])
            size -= len(block)

    def echo(self, request, stream):
        lines = [f"{request.method} {request.target}"]
        lines += [f"{name}: {value}" for name, value in request.headers.items()]
        text = "\n".join(lines).encode("latin-1") + b"\n\n" + request.body
        reply(stream, request, text)

    def websocket(self, request, stream):
        if "refused" in request.query or request.headers.get("upgrade") != "websocket":
            return reply(stream, request, b"no websocket\n")
        sockets.serve(request.headers.get("sec-websocket-key", ""), stream)
        return False

    def dns(self, request, stream):
        found = self.names.answer(request.body, "", "", "https") if request.body else b""
        reply(stream, request, found, **{"Content-Type": "application/dns-message"})

    def git(self, request, stream):
        """Serves repositories as git's own CGI program does; `private.git` to one user."""
        if request.path.startswith("/git/private.git"):
            if request.headers.get("authorization", "") != f"Basic {GIT_USER}":
                return reply(stream, request, b"", "401 Unauthorized", **ASKS_WHO)
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "GIT_PROJECT_ROOT": self.repositories,
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": request.path.removeprefix("/git"),
            "QUERY_STRING": request.raw_query,
            "REQUEST_METHOD": request.method,
            "CONTENT_TYPE": request.headers.get("content-type", ""),
            "GIT_PROTOCOL": request.headers.get("git-protocol", ""),
            "HTTP_CONTENT_ENCODING": request.headers.get("content-encoding", ""),
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
        }
        run = subprocess.run(
            ["git", "http-backend"], input=request.body, env=environment, capture_output=True
        )
        head, _, body = run.stdout.partition(HEAD_END)
        pairs = [line.partition(":") for line in head.decode("latin-1").split("\r\n") if line]
        headers = {name: value.strip() for name, _, value in pairs}
        reply(stream, request, body, headers.pop("Status", "200 OK"), **headers)


def reply(stream, request, body, status="200 OK", **headers):
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    head = "\r\n".join(lines).encode("latin-1") + HEAD_END
    stream.send(head if request.method == "HEAD" else head + body)
