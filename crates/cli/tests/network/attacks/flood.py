"""More names than there are addresses to give."""

from probe import *


def attack():
    found = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(3)
        sock.connect(("127.0.0.1", 53))
        for number in range(6000):
            sock.send(question(f"{TOKEN}{number}.allowed.test", number=number))
            found += int.from_bytes(sock.recv(512)[6:8], "big")
    say("found", found)


start(attack)
