#!/usr/bin/env python3
"""Listens on a Unix socket and becomes a program that has it as descriptor 0.

usage: spawn.py SOCKET PROGRAM [ARGUMENT ...]
"""

import os
import socket
import sys

if len(sys.argv) < 3:
    sys.exit(__doc__)
path, program = sys.argv[1], sys.argv[2:]
if os.path.lexists(path):
    os.unlink(path)
listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
listener.bind(path)
# nginx may run as another user.
os.chmod(path, 0o666)
listener.listen(4096)
os.dup2(listener.fileno(), 0)
os.execvp(program[0], program)
