"""What an attacker has at hand: sockets, and no manners.

Every function returns words about what came back, and none of them raises:
whether something got out is decided by what the servers saw.
"""

import base64
import os
import socket
import ssl
import struct
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

PATIENCE = 4
# How long to wait for more once something has come.
PAUSE = 0.5
# For what has to work, however busy the machine is.
LONG = 120

# A word that nothing else sends.
TOKEN = sys.argv[2] if len(sys.argv) > 2 else "t0k3n"


def start(attack, control=None):
    """Runs the attack, and shows that what is allowed still works; or the control."""
    if sys.argv[1] == "control":
        control()
    else:
        attack()
    if sys.argv[1] == "attack":
        patience(LONG, LONG)
        legit(token="fine")


def patience(seconds, pause=0.5):
    """Sets how long to wait for an answer, and for more of it."""
    global PATIENCE, PAUSE
    PATIENCE, PAUSE = seconds, pause


def proxy():
    """Returns where the proxy is, or None."""
    url = os.environ.get("HTTP_PROXY") or os.environ.get("http_proxy")
    if not url:
        return None
    parts = urlsplit(url)
    return parts.hostname, parts.port


SAYING = threading.Lock()


def say(*words):
    """Prints words in one line, whatever is in them."""
    line = " ".join(str(word) for word in words)
    with SAYING:
        print(line.encode("unicode_escape").decode(), flush=True)


def side_by_side(function, items):
    """Calls a function with each item, some at a time."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(function, items))


def attempt(function, *arguments, **options):
    """Returns what a function returns, or the words of its fault."""
    try:
        return function(*arguments, **options)
    except Exception as fault:  # whatever it is, the attack goes on
        return f"fault: {type(fault).__name__}: {fault}"


def dial(host, port):
    return socket.create_connection((host, port), PATIENCE)


def read(stream, size=65536):
    """Returns what comes until the end, a pause or `size` bytes."""
    data = b""
    try:
        stream.settimeout(PATIENCE)
        while len(data) < size:
            more = stream.recv(65536)
            if not more:
                break
            data += more
            stream.settimeout(PAUSE)
    except OSError as fault:
        if not data:
            return f"fault: {type(fault).__name__}: {fault}"
    return data.decode("latin-1")


def exactly(stream, size):
    data = b""
    while len(data) < size:
        more = stream.recv(size - len(data))
        if not more:
            raise EOFError(f"ended after {len(data)} bytes")
        data += more
    return data


def data_of(text):
    return text if isinstance(text, bytes) else text.encode("latin-1")


def request(host, path, *headers, method="GET"):
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *headers, "Connection: close"]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


def send(host, port, data):
    """Sends bytes, and returns what came back."""

    def run():
        with dial(host, port) as stream:
            stream.sendall(data_of(data))
            return read(stream)

    return attempt(run)


def send_for(host, port, data, wanted):
    """Sends bytes, and returns what came back once what is wanted is in it."""

    def run():
        answer = b""
        with dial(host, port) as stream:
            stream.sendall(data_of(data))
            while data_of(wanted) not in answer:
                more = stream.recv(65536)
                if not more:
                    break
                answer += more
        return answer.decode("latin-1")

    return attempt(run)


def to_proxy(data):
    return attempt(lambda: send(*proxy(), data))


def wire(text):
    """Returns text whose characters are the bytes that it is sent as."""
    return text.encode().decode("latin-1")


def absolute(host, path):
    """Asks the proxy for a page of a host."""
    return to_proxy(f"GET http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n\r\n")


def proxy_word():
    """Returns the user and the word that the proxy wants, or None."""
    parts = urlsplit(os.environ.get("HTTP_PROXY", ""))
    return f"{parts.username}:{parts.password}" if parts.username else None


OWN = object()


def connect(target, word=OWN):
    """Asks the proxy for a tunnel; returns the stream and the first line."""
    word = proxy_word() if word is OWN else word
    stream = dial(*proxy())
    lines = [b"CONNECT " + data_of(target) + b" HTTP/1.1", b"Host: " + data_of(target)]
    if word:
        lines.append(b"Proxy-Authorization: Basic " + base64.b64encode(word.encode()))
    stream.sendall(b"\r\n".join(lines) + b"\r\n\r\n")
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        byte = stream.recv(1)
        if not byte:
            break
        answer += byte
    return stream, answer.decode("latin-1").split("\r\n")[0]


def tunnel(target, data, word=OWN):
    """Sends bytes through the proxy, and returns what came back."""

    def run():
        stream, line = connect(target, word)
        with stream:
            if " 200" not in line:
                return "refused: " + line
            stream.sendall(data_of(data))
            return read(stream)

    return attempt(run)


def socks(host, port, kind=3, word=OWN):
    """Asks for a connection by SOCKS; returns the stream and the reply."""
    word = proxy_word() if word is OWN else word
    stream = dial(*proxy())
    stream.sendall(b"\5\1\2" if word else b"\5\1\0")
    if exactly(stream, 2)[1] != (2 if word else 0):
        return stream, 255
    if word:
        user, _, secret = word.encode().partition(b":")
        sized = bytes([len(user)]) + user + bytes([len(secret)]) + secret
        stream.sendall(b"\1" + sized)
        if exactly(stream, 2)[1] != 0:
            return stream, 254
    if kind == 3:
        where = bytes([len(data_of(host))]) + data_of(host)
    else:
        where = socket.inet_pton(socket.AF_INET if kind == 1 else socket.AF_INET6, host)
    stream.sendall(b"\5\1\0" + bytes([kind]) + where + struct.pack("!H", port))
    return stream, exactly(stream, 4)[1]


def by_socks(host, port, data, kind=3, word=OWN):
    def run():
        stream, reply = socks(host, port, kind, word)
        with stream:
            if reply != 0:
                return f"refused: {reply}"
            exactly(stream, 6)
            stream.sendall(data_of(data))
            return read(stream)

    return attempt(run)


def careless():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def secure(stream, name, data):
    """Speaks TLS to whoever is there, under a name, and sends bytes."""
    with stream, careless().wrap_socket(stream, server_hostname=name) as inner:
        inner.sendall(data_of(data))
        return read(inner)


def tls(host, port, name, data):
    return attempt(lambda: secure(dial(host, port), name, data))


def tls_tunnel(target, name, data):
    def run():
        stream, line = connect(target)
        return secure(stream, name, data) if " 200" in line else "refused: " + line

    return attempt(run)


def tls_socks(host, port, name, data):
    def run():
        stream, reply = socks(host, port)
        if reply != 0:
            return f"refused: {reply}"
        exactly(stream, 6)
        return secure(stream, name, data)

    return attempt(run)


def hello(name):
    """Returns the first bytes of a TLS connection."""
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    machine = careless().wrap_bio(into, out, server_hostname=name)
    try:
        machine.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def with_extension(record, kind, content):
    """Returns a hello with one more extension at the end."""
    body = bytearray(record[9:])
    at = 34
    at += 1 + body[at]
    at += 2 + int.from_bytes(body[at : at + 2], "big")
    at += 1 + body[at]
    size = int.from_bytes(body[at : at + 2], "big")
    extra = struct.pack("!HH", kind, len(content)) + content
    body[at : at + 2] = struct.pack("!H", size + len(extra))
    body += extra
    message = b"\1" + len(body).to_bytes(3, "big") + bytes(body)
    return record[:3] + struct.pack("!H", len(message)) + message


def server_names(*names):
    """Returns the content of the extension that names servers."""
    listed = b"".join(struct.pack("!BH", kind, len(name)) + name for kind, name in names)
    return struct.pack("!H", len(listed)) + listed


def question(name, kind=1, number=7, klass=1, flags=0x0100):
    labels = b""
    for label in data_of(name).split(b"."):
        labels += bytes([len(label)]) + label
    if not labels.endswith(b"\0"):
        labels += b"\0"
    head = struct.pack("!HHHHHH", number, flags, 1, 0, 0, 0)
    return head + labels + struct.pack("!HH", kind, klass)


def ask(server, data, port=53, patience=1.0):
    """Sends a datagram, and returns what came back."""

    def run():
        family = socket.AF_INET6 if ":" in server else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.settimeout(patience)
            sock.sendto(data, (server, port))
            return sock.recv(4096).hex()

    return attempt(run)


def status(answer):
    """Returns the status and the number of answers of a name server's reply."""
    if answer.startswith("fault"):
        return answer
    data = bytes.fromhex(answer)
    return f"status {data[3] & 15}, {int.from_bytes(data[6:8], 'big')} answers"


def legit(host="allowed.test", token="legit"):
    """Shows that what is allowed still works, by every way."""
    say("legit direct", hello_in(send(host, 80, request(host, f"/{token}-direct"))))
    say("legit tls", hello_in(tls(host, 443, host, request(host, f"/{token}-tls"))))
    if proxy():
        say("legit tunnel", hello_in(tunnel(f"{host}:80", request(host, f"/{token}-tunnel"))))
        say("legit socks", hello_in(by_socks(host, 80, request(host, f"/{token}-socks"))))


def hello_in(answer):
    return "works" if "hello from" in answer else answer
