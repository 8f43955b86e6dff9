"""Programs, ports and variables of the machine that runs the tests."""

import fcntl
import os
import pathlib
import random
import shutil
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("DOSSIER_TEST_BUILD", ROOT / ".build/debug"))
# Programs that only tests use.
TOOLS_FOLDER = pathlib.Path(os.environ.get("DOSSIER_TEST_TOOLS", ROOT / ".build/test-tools"))
# The folder of PostgreSQL's programs; see `run.py --postgresql`.
TOOLS = pathlib.Path(os.environ.get("DOSSIER_TEST_POSTGRESQL", "/usr/lib/postgresql/15/bin"))
IS_ROOT = os.geteuid() == 0
# Whether the extension Citus is installed.
HAS_CITUS = (TOOLS.parent / "lib/citus.so").exists()
# Whether that PostgreSQL can use TLS; some builds of PyPI cannot.
HAS_TLS = b"libssl" in (TOOLS / "postgres").read_bytes()
AS_POSTGRES = (
    ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups",
     "env", "HOME=/nonexistent"] if IS_ROOT else []
)
# A busy machine may take minutes to start a server.
os.environ.setdefault("PGCTLTIMEOUT", "600")


# The texts of the checkout.
TEXTS = {"DOSSIER_LANGUAGE_FOLDER": str(ROOT / "deploy/languages")}

# The environment without our variables, since dossierd refuses settings that it does not know.
FOREIGN = {
    **{name: value for name, value in os.environ.items() if not name.startswith("DOSSIER_")}, **TEXTS,
}


def functions(script, *arguments, **options):
    """Runs a script with the functions of deploy/ on the tested checkout."""
    head = f'set -euo pipefail; here={ROOT}; programs={BUILD}; . "$here/deploy/functions"; '
    return subprocess.run(
        ["bash", "-c", head + script, "bash", *map(str, arguments)],
        text=True, stdout=subprocess.PIPE, env=FOREIGN, **options)


# A build makes one file of programs, without the links of its other names.
functions('link_programs "$programs"', check=True)
# As what deploy/up starts dossierd; no words when that is who runs the tests.
SERVER_USER = functions("server_user", check=True).stdout.strip()
AS_SERVER = functions("as_server", check=True).stdout.split()


def new_folder():
    """Makes a folder, in memory if there is room: files are made many times as fast there."""
    memory = pathlib.Path("/dev/shm")
    has_room = memory.is_dir() and shutil.disk_usage(memory).free > 4 << 30
    folder = tempfile.mkdtemp(prefix=f"dossier-test-{os.getpid()}-", dir=memory if has_room else "/tmp")
    folder = pathlib.Path(folder)
    folder.chmod(0o755)
    return folder


# The locks of the ports that this process has taken, until it ends.
TAKEN = []


def free_port():
    """Returns a free port that neither the system nor a parallel test takes."""
    folder = pathlib.Path(f"/tmp/dossier-test-ports-{os.getuid()}")
    folder.mkdir(exist_ok=True)
    while True:
        # Chromium refuses 10080.
        port = random.randrange(10_100, 32_000)
        lock = open(folder / str(port), "w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            lock.close()
            continue
        TAKEN.append(lock)
        return port


def wait_until(condition, seconds=120, what="the condition"):
    # The time limit only prevents a hang.
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(f"{what} did not come true within {seconds} s")


def is_listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
