"""Ten thousand connections: most say nothing, some are used."""

import threading

from probe import *


def attack():
    address, done = socket.gethostbyname("allowed.test"), []

    def connects(count):
        for number in range(count):
            try:
                socket.create_connection((address, 80), 5).close()
                done.append(1)
            except OSError as fault:
                say("failed", fault)

    def requests(count):
        for number in range(count):
            answer = send(address, 80, request("allowed.test", "/many"))
            if "hello from" not in answer:
                say("failed", answer)

    parts = [threading.Thread(target=connects, args=(2400,)) for number in range(4)]
    parts += [threading.Thread(target=requests, args=(200,)) for number in range(2)]
    for part in parts:
        part.start()
    for part in parts:
        part.join()
    say("done", len(done))


start(attack)
