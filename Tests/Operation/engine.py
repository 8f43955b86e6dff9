"""podman with a storage of its own."""

import os
import pathlib
import shutil
import subprocess
import tempfile

# Without systemd, podman reports an error for each timer of a health check.
PODMAN = ["podman", "--log-level=fatal"]


class Engine:
    """Runs images. runc and these settings also work where systemd does not manage control groups."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dossier-engine-", dir="/var/tmp"))
        # podman asks for more than a machine may allow.
        (self.folder / "containers.conf").write_text(
            '[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n'
            '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n')
        (self.folder / "storage.conf").write_text(
            f'[storage]\ndriver = "overlay"\ngraphroot = "{self.folder}/storage"\nrunroot = "{self.folder}/run"\n')
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("DOSSIER_")},
            "CONTAINERS_CONF": f"{self.folder}/containers.conf",
            "CONTAINERS_STORAGE_CONF": f"{self.folder}/storage.conf"}

    def start(self, *arguments, **more):
        """Starts a command of podman, and returns it."""
        return subprocess.Popen([*PODMAN, *arguments], env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, **more)

    def ask(self, *arguments, check=True):
        """Runs a command of podman, and returns what it printed."""
        run = subprocess.run([*PODMAN, *arguments], env=self.environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        if check and run.returncode != 0:
            raise AssertionError(f"podman {' '.join(map(str, arguments))}: {run.returncode}\n{run.stdout[-4000:]}")
        return run.stdout

    def load(self, file):
        """Loads an image from a compressed file, as README does."""
        subprocess.run(["bash", "-ec", 'zcat "$1" | podman load -q', "bash", file], env=self.environment, check=True,
                       stdout=subprocess.DEVNULL)

    def is_healthy(self, name):
        """Returns whether the health check of the image passes in a container."""
        return subprocess.run(["podman", "healthcheck", "run", name], env=self.environment,
                              capture_output=True).returncode == 0

    def remove(self):
        self.ask("rm", "--all", "--force", "--time", "0", check=False)
        self.ask("volume", "prune", "--force", check=False)
        # A mounted folder cannot be removed.
        self.ask("unmount", "--all", "--force", check=False)
        subprocess.run(["umount", self.folder / "storage/overlay"], stderr=subprocess.DEVNULL)
        shutil.rmtree(self.folder, ignore_errors=True)
