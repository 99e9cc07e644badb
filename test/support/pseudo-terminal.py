"""Runs a command in a pseudo-terminal: pseudo-terminal.py COLUMNS COMMAND…

What comes by stdin are its keys, what it shows goes to stdout; SIGTERM is passed on to it. In the end file 3 gets a JSON text: the exit code, or the number of the signal
that ended it; whether the terminal is as it was before; and how wide each line is that it showed, in cells, by Unicode's tables.
"""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import unicodedata


def width(text):
    cells = 0
    for character in text:
        if unicodedata.category(character) in ("Mn", "Me", "Cf", "Cc"):
            continue
        cells += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return cells


def start(command, slave):
    child = os.fork()
    if child != 0:
        return child
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for number in (0, 1, 2):
        os.dup2(slave, number)
    os.closerange(3, 64)
    os.execvp(command[0], command)


def main():
    columns, command = int(sys.argv[1]), sys.argv[2:]
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    before = termios.tcgetattr(slave)
    child = start(command, slave)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    shown, sources, status = b"", [master, 0], None
    while True:
        ready, _, _ = select.select(sources, [], [], 0.02)
        if master in ready:
            part = os.read(master, 65536)
            shown += part
            os.write(1, part)
        if 0 in ready:
            keys = os.read(0, 65536)
            if keys == b"":
                sources.remove(0)
            else:
                os.write(master, keys)
        if status is None:
            ended, found = os.waitpid(child, os.WNOHANG)
            status = found if ended == child else None
        elif not ready:
            break
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    result = {
        "code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        "isRestored": before == termios.tcgetattr(slave),
        "widths": [width(line) for line in re.split(r"\r*\n|\r", text)],
    }
    os.write(3, json.dumps(result).encode())


main()
