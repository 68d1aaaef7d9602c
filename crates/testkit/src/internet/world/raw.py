"""Servers that speak no protocol anybody knows."""


def echo(connection, seen):
    """Sends back what it gets, and writes it down."""
    total = 0
    while data := connection.recv(65536):
        total += len(data)
        if total <= 65536:
            seen("raw", data=data.decode("latin-1"))
        connection.sendall(data)


def greets(connection, seen):
    """Speaks first, as mail and database servers do."""
    connection.sendall(b"220 ready\r\n")
    echo(connection, seen)
