"""Unattended upgrades on a bare Debian, with the settings of the guide."""

import os
import subprocess
import unittest

from debian import Debian
from guide import CONFIGURATION, commands

# A repository in a folder, from which unattended-upgrade installs.
REPOSITORY = """
mkdir repository && mv later.deb repository && cd repository
apt-ftparchive packages . >Packages
apt-ftparchive -o APT::FTPArchive::Release::Origin=Later release . >Release
echo "deb [trusted=yes] file:/root/repository ./" >/etc/apt/sources.list.d/later.list
echo 'Unattended-Upgrade::Origins-Pattern { "origin=Later"; };' >/etc/apt/apt.conf.d/99later
apt-get update -q
"""


@unittest.skipIf(os.geteuid() != 0, "debootstrap and chroot are for root")
class Unattended(unittest.TestCase):
    def setUp(self):
        self.machine = Debian()
        self.addCleanup(self.machine.remove)
        self.inside = self.machine.run

    def version(self):
        return self.inside("dpkg-query -W -f '${Version}' dossier")

    def make_later_package(self):
        """Makes a later version of the package, with other settings in the file."""
        package, = self.machine.folder.glob("dossier_*.deb")
        folder = self.machine.folder / "later"
        subprocess.run(["dpkg-deb", "-R", package, folder], check=True)
        for path, before, after in [
            ("DEBIAN/control", f"Version: {self.version()}", f"Version: {self.version()}.1"),
            (CONFIGURATION[1:], "app = default", "app = default\n# New in this version."),
        ]:
            text = (folder / path).read_text()
            self.assertIn(before, text)
            (folder / path).write_text(text.replace(before, after))
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", folder,
                        self.machine.root / "root/later.deb"], check=True,
                       stdout=subprocess.DEVNULL)

    def test_changed_files_are_kept_and_do_not_block_an_upgrade(self):
        script, *_ = commands("Set up unattended upgrades")
        install, rest = script.split("\n", 1)
        self.inside("apt-get install -y -q --no-install-recommends ./dossier_*.deb apt-utils\n"
                    + install.replace("apt install", "apt-get install -y -q --no-install-recommends"))
        before = self.version()
        self.make_later_package()
        self.inside(REPOSITORY)
        self.inside(f"echo '# mine' >>{CONFIGURATION}")
        # Without the settings, the package stays unchanged.
        self.assertIn("conffile", self.inside("unattended-upgrade --verbose"))
        self.assertEqual(self.version(), before)
        self.assertIn("dossier", self.inside(rest))
        self.assertEqual(self.version(), before)
        self.inside("unattended-upgrade --verbose")
        self.assertEqual(self.version(), f"{before}.1")
        settings = self.inside(f"cat {CONFIGURATION}")
        self.assertIn("# mine", settings)
        self.assertNotIn("# New", settings)
        self.assertIn("# New", self.inside(f"cat {CONFIGURATION}.dpkg-dist"))
        # needrestart reads its settings.
        self.assertNotIn("Error", self.inside("needrestart -b 2>&1"))


if __name__ == "__main__":
    unittest.main()
