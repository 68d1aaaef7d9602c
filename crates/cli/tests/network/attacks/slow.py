"""Connections that say half of something, and then a byte at a time.

Beside them are two that are slow for a good reason, and must not be ended.
"""

from probe import *


def attack():
    patient = ThreadPoolExecutor(2)
    answers = patient.submit(attempt, waits), patient.submit(attempt, pauses)
    held = []

    def hold(host, port, data):
        stream = dial(host, port)
        stream.sendall(data)
        held.append((stream, f"{host}:{port} {data[:10]}"))

    for number in range(60):
        hold("allowed.test", 443, hello("allowed.test")[:50])
        hold("allowed.test", 80, b"GET / HTTP/1.1\r\nHost: allowed")
        hold("allowed.test", 80, b"")
        hold(*proxy(), b"CONNECT allowed.test:44")
        hold(*proxy(), b"\5")
        hold("127.0.0.1", 53, b"\0")
    say("held", len(held))
    start = time.monotonic()
    get = request("allowed.test", "/meanwhile")
    say("meanwhile", hello_in(send("allowed.test", 80, get)))
    say("meanwhile", hello_in(tls("allowed.test", 443, "allowed.test", get)))
    say("took", int(time.monotonic() - start))
    end = time.monotonic() + 25
    while held and time.monotonic() < end:
        held = [(stream, kind) for stream, kind in held if is_open(stream)]
        for stream, kind in held:
            # Whole questions to the name server may be this slow.
            if ":53 " not in kind:
                attempt(stream.send, b"x")
        time.sleep(1)
    say("open", sorted({kind for _, kind in held}))
    for answer in answers:
        say("patient", hello_in(answer.result()))


def waits():
    """Waits for a server that takes its time."""
    with socket.create_connection(("allowed.test", 80), 30) as stream:
        stream.sendall(request("allowed.test", "/later?seconds=12"))
        return stream.recv(4096).decode()


def pauses():
    """Keeps a connection for a second request, as clients with a pool do."""
    get = b"GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n"
    with dial("allowed.test", 80) as stream:
        stream.sendall(get)
        first = stream.recv(4096)
        time.sleep(12)
        stream.sendall(get)
        return stream.recv(4096).decode() if b"hello from" in first else "no first answer"


def is_open(stream):
    stream.setblocking(False)
    try:
        return stream.recv(1000) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


start(attack)
