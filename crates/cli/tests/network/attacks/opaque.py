"""At a port that is not for the web: what some server would read as HTTP or TLS."""

from probe import *

REST = f" HTTP/1.1\r\nHost: denied.test\r\nX: {TOKEN}\r\n\r\n"
FIRST = [
    f"GET /{REST}",
    f"get /{REST}",
    f"\r\n\r\nGET /{REST}",
    f"\nGET /{REST}",
    f" GET /{REST}",
    f"\tGET /{REST}",
    f"\x0cGET /{REST}",
    f"\xa0GET /{REST}",
    f"GET\x0b/{REST}",
    f"GET\t/{REST}",
    f"PO\0ST /{REST}",
    f"POST /\0x{REST}",
    f"POST /\xe9{REST}",
    f"VERYLONGMETHODTHATNOBODYKNOWS /{REST}",
    f"GET http://denied.test/{TOKEN} HTTP/1.0\r\n\r\n",
    f"GET http://denied.test/{TOKEN}\r\n",
    f"GET http://denied.test/{TOKEN}\n",
    f"GET /{TOKEN}\r\n",
    f"CONNECT denied.test:80 HTTP/1.1\r\nX: {TOKEN}\r\n\r\n",
    f"PROXY TCP4 1.2.3.4 5.6.7.8 80 80\r\nGET /{REST}",
    f"RTSP rtsp://denied.test/{TOKEN} HTTP/1.0\r\n\r\n",
    f"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{TOKEN}",
    f"POST /\0{'a' * 9000}{REST}",
]
HELLO = hello(TOKEN + ".denied.test")
ALERT = b"\x15\3\1\0\2\1\x5a"
# What may come before TLS, for some server.
SECURE = [
    HELLO,
    ALERT + HELLO,
    ALERT * 3 + HELLO,
    b"\x14\3\1\0\1\1" + HELLO,
    b"\x17\3\1\0\1\0" + HELLO,
    b"\0\0\0\x08\x04\xd2\x16\x2f" + HELLO,
    b"EHLO allowed.test\r\nSTARTTLS\r\n" + HELLO,
]
FIRST += [data.decode("latin-1") for data in SECURE]


def control():
    side_by_side(lambda data: send("allowed.test", 9000, data), FIRST)


def attack():
    patience(0.3)
    side_by_side(every_way, FIRST)
    patience(LONG)
    say("plain", send_for("allowed.test", 9000, "some other protocol\r\n", "protocol\r\n"))
    say("plain", send_for("allowed.test", 9000, bytes(range(256)), b"\xff"))


def every_way(data):
    say("at once", send("allowed.test", 9000, data))
    say("tunnel", tunnel("allowed.test:9000", data))
    say("bytewise", attempt(bytewise, data))
    say("in two", attempt(in_two, data))
    say("ended", attempt(ended, data))


def bytewise(data):
    """Sends the first bytes one by one."""
    with dial("allowed.test", 9000) as stream:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in data_of(data)[:12]:
            stream.sendall(bytes([byte]))
            time.sleep(0.002)
        stream.sendall(data_of(data)[12:])
        return read(stream)


def in_two(data):
    """Sends the second half after a pause, as if something had been agreed on."""
    first, _, second = data_of(data).partition(HELLO)
    second = HELLO if HELLO in data_of(data) else first[len(first) // 2 :]
    first = first if second is HELLO else first[: len(first) // 2]
    with dial("allowed.test", 9000) as stream:
        stream.sendall(first)
        time.sleep(0.2)
        stream.sendall(second)
        return read(stream)


def ended(data):
    """Leaves the last line without its end."""
    with dial("allowed.test", 9000) as stream:
        stream.sendall(data_of(data).rstrip(b"\r\n"))
        stream.shutdown(socket.SHUT_WR)
        return read(stream)


start(attack, control)
