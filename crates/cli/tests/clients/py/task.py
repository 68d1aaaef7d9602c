"""The task of the agents: list, read a note, write a summary, run a command.

The models are no models: they make the next call of this list, and check that they
got what they need for it.
"""

CALLS = [
    ("list_files", {"path": "/"}),
    ("read_file", {"path": "/notes/a.txt"}),
    # The first try is refused, and says where it would work.
    ("write_file", {"path": "/notes/summary.txt", "content": "one line, hello"}),
    ("write_file", {"path": "/out/summary.txt", "content": "one line, hello\n"}),
    ("write_file", {"path": "/ask/summary.txt", "content": "one line, hello\n"}),
    ("shell", {"command": "wc -l /notes/a.txt /out/summary.txt"}),
]
FINAL = "The summary is in /out/summary.txt."
