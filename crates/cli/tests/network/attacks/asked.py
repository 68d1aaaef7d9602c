"""Names that somebody is asked about, again and again."""

import threading

from probe import *

NAMES = [f"name{number}.allowed.test" for number in range(30)]


def attack():
    say("first", tunnel("name0.allowed.test:80", request("name0.allowed.test", "/" + TOKEN)))
    parts = [threading.Thread(target=ask_all) for number in range(4)]
    for part in parts:
        part.start()
    for part in parts:
        part.join()


def ask_all():
    for turn in range(3):
        for name in NAMES:
            tunnel(name + ":80", request(name, "/" + TOKEN))
            send(name, 80, request(name, "/" + TOKEN))


start(attack)
