"""More of everything than is allowed: limits.py bare TOKEN WHAT."""

from probe import *


def attack():
    {"connections": connections, "out": out, "into": into}[sys.argv[3]]()


def connections():
    for number in range(8):
        say("get", hello_in(send("allowed.test", 80, request("allowed.test", "/x"))))


def out():
    say("out", len(send("allowed.test", 9000, bytes(400000))))


def into():
    with dial("allowed.test", 80) as stream:
        stream.sendall(request("allowed.test", "/big?bytes=8000000"))
        say("in", len(read(stream, 9000000)))


start(attack)
