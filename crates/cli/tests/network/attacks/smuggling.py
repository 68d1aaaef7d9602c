"""Requests that one reader takes for one, and another for two.

What must not arrive carries the token.
"""

from probe import *

SECOND = f"GET /{TOKEN} HTTP/1.1\r\nHost: denied.test\r\n\r\n"
CHUNKED = "0\r\n\r\n" + SECOND
LENGTH = f"Content-Length: {len(CHUNKED)}"
TE = "Transfer-Encoding: chunked"


def post(headers, body):
    return "\r\n".join(["POST /first HTTP/1.1", "Host: allowed.test", *headers, "", body])


def get(*headers, method="GET", version="HTTP/1.1"):
    return "\r\n".join([f"{method} /first {version}", "Host: allowed.test", *headers, "", ""])


LENGTHS = {
    "length and chunks": post([LENGTH, TE], CHUNKED),
    "chunks and length": post([TE, LENGTH], CHUNKED),
    "short length and chunks": post(
        ["Content-Length: 4", TE], f"{len(SECOND):x}\r\n{SECOND}\r\n0\r\n\r\n"
    ),
    "two lengths": post(["Content-Length: 0", f"Content-Length: {len(SECOND)}"], SECOND),
    "two equal lengths": post(["Content-Length: 0", "Content-Length: 0"], SECOND),
    "lengths in a list": post([f"Content-Length: 0, {len(SECOND)}"], SECOND),
    "signed length": post([f"Content-Length: +{len(SECOND)}"], SECOND),
    "negative length": post(["Content-Length: -1"], SECOND),
    "length in hex": post([f"Content-Length: 0x{len(SECOND):x}"], SECOND),
    "length with blanks": post(["Content-Length: 0 0"], SECOND),
    "huge length": post(["Content-Length: 18446744073709551616"], SECOND),
    "empty length": post(["Content-Length:"], SECOND),
    "blank before colon": post(
        ["Content-Length : 0", f"Content-Length: {len(SECOND)}"], SECOND
    ),
    "folded length": post(["Content-Length:", f" {len(SECOND)}"], SECOND),
    "name with zero": post(["Content-Length\0: 0"], SECOND),
}
CODINGS = {
    "chunks before colon": post(["Transfer-Encoding : chunked"], CHUNKED),
    "chunks after a tab": post(["Transfer-Encoding:\tchunked", "Content-Length: 5"], CHUNKED),
    "odd chunks": post(["Transfer-Encoding: xchunked", "Content-Length: 0"], SECOND),
    "chunks twice": post([TE, TE], CHUNKED),
    "chunks and identity": post([TE, "Transfer-Encoding: identity"], CHUNKED),
    "identity": post(["Transfer-Encoding: identity"], SECOND),
    "chunks in a list": post(["Transfer-Encoding: gzip, chunked"], CHUNKED),
    "chunks after nothing": post(["Transfer-Encoding: , chunked"], CHUNKED),
    "chunks not last": post(["Transfer-Encoding: chunked, gzip"], CHUNKED),
    "quoted chunks": post(['Transfer-Encoding: "chunked"'], CHUNKED),
    "vertical tab": post(["Transfer-Encoding: \x0bchunked"], CHUNKED),
    "folded": post(["Transfer-Encoding:", " chunked", "Content-Length: 0"], CHUNKED),
}
LINES = {
    "lines end in LF": post([], "").replace("\r\n", "\n") + SECOND,
    "one line ends in LF": "POST / HTTP/1.1\nHost: allowed.test\r\n\r\n" + SECOND,
    "head ends in LF": "POST / HTTP/1.1\r\nHost: allowed.test\r\n\n" + SECOND,
    "bare CR": "POST / HTTP/1.1\r\nHost: allowed.test\r\nA: b\r\r\n" + SECOND,
    "empty lines first": "\r\n\r\n" + SECOND,
    "too many headers": get(*[f"X-{n}: {TOKEN}" for n in range(200)]),
    "huge head": get("X: " + "a" * 70000 + TOKEN),
}
CHUNKS = {
    "size signed": "+0\r\n\r\n" + SECOND,
    "size in hex": "0x0\r\n\r\n" + SECOND,
    "size and blank": "0 \r\n\r\n" + SECOND,
    "no size": "\r\n\r\n" + SECOND,
    "size huge": "ffffffffffffffff0\r\n" + SECOND,
    "size wraps": "10000000000000000\r\n\r\n" + SECOND,
    "size ends in LF": "0\n\r\n" + SECOND,
    "extension with LF": "0;a\n\r\n" + SECOND,
    "extension with CR": "0;a\rb\r\n\r\n" + SECOND,
    "extension": f"1;{TOKEN}\r\na\r\n0\r\n\r\n",
    "data runs on": "1\r\naa\r\n0\r\n\r\n" + SECOND,
    "data ends in LF": "1\r\na\n0\r\n\r\n" + SECOND,
    "trailer": f"0\r\nHost: denied.test\r\n{TOKEN}: a\r\n\r\n",
}
NEXT = {
    "to another host": get() + SECOND,
    "without a host": get() + f"GET /{TOKEN} HTTP/1.1\r\n\r\n",
    "after a body": get("Content-Length: 3") + "abc" + SECOND,
    "after head": get(method="HEAD") + SECOND,
    "after options": get(method="OPTIONS") + SECOND,
    "after an old one": get("Connection: keep-alive", version="HTTP/1.0") + SECOND,
    "after close": get("Connection: close") + SECOND,
    "connection names host": get("Connection: Host") + SECOND,
    "connection names length": get("Connection: Content-Length", "Content-Length: 3")
    + "abc"
    + SECOND,
    "after expect": get("Expect: 100-continue", "Content-Length: 0") + SECOND,
    "after an upgrade": get("Connection: Upgrade", "Upgrade: h2c") + SECOND,
}
REQUESTS = LENGTHS | CODINGS | LINES | NEXT | {k: post([TE], v) for k, v in CHUNKS.items()}


def control():
    patience(1)
    side_by_side(lambda data: send("allowed.test", 80, data), REQUESTS.values())


def attack():
    # An answer to the first request may come; the second must not arrive.
    patience(1)
    side_by_side(every_way, REQUESTS)


def every_way(kind):
    data = REQUESTS[kind]
    say("direct", kind, send("allowed.test", 80, data))
    say("tunnel", kind, tunnel("allowed.test:80", data))
    say("proxy", kind, to_proxy(data.replace(" /", " http://allowed.test/", 1)))


start(attack, control)
