"""The scheduled backup of the guide, its verification, and recovery to a point in time."""

import os
import re
import shutil
import subprocess
import time
import unittest

import writing
from cases import Case
from guide import commands
from machine import AS_POSTGRES, IS_ROOT, wait_until

BACKUP = writing.ROOT / "deploy/backup"


class Backup(Case):
    def setUp(self):
        folder = self.site.folder
        self.repository, self.work = folder / "repository", folder / "pgbackrest"
        for path in [self.repository, self.work]:
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir()
            if IS_ROOT:
                shutil.chown(path, "postgres")
        text = (BACKUP / "pgbackrest.conf").read_text()
        for before, after in [
            ("/var/lib/pgbackrest", str(self.repository)), ("CIPHER_PASSWORD", "a long secret"),
            ("/var/lib/postgresql/15/main", str(folder / "postgres")),
        ]:
            self.assertIn(before, text)
            text = text.replace(before, after)
        (self.work / "conf").write_text(text)
        self.metrics = self.work / "backup.prom"
        # The defaults of Debian's packages.
        self.environment = {
            **os.environ, "HOME": "/nonexistent", "PGHOST": str(folder), "PGUSER": "owner",
            "PGBACKREST_CONFIG": str(self.work / "conf"),
            "PGBACKREST_PG1_SOCKET_PATH": str(folder), "PGBACKREST_PG1_USER": "owner",
            **{f"PGBACKREST_{name}_PATH": str(self.work) for name in ["LOG", "LOCK", "SPOOL"]}}

    def archive(self):
        """Has PostgreSQL archive its WAL, with the settings of the guide."""
        settings = self.site.folder / "postgres/postgresql.conf"
        added = (BACKUP / "postgresql.conf").read_text()
        if added not in settings.read_text():
            with settings.open("a") as file:
                file.write(added)
        self.site.stop_postgres()
        self.start_postgres()

    def start_postgres(self):
        # The archive command reads its settings at Debian's path, or here.
        kept = dict(os.environ)
        os.environ.update({name: value for name, value in self.environment.items()
                           if name.startswith("PGBACKREST_")})
        try:
            self.site.start_postgres()
        finally:
            os.environ.clear()
            os.environ.update(kept)
        self.site.wait_until_ready()

    def pgbackrest(self, *words, **options):
        return subprocess.run(
            [*AS_POSTGRES, "pgbackrest", "--stanza=dossier", *words], env=self.environment,
            cwd="/", capture_output=True, text=True, **options)

    def back_up(self):
        return subprocess.run([BACKUP / "backup", "dossier", self.metrics], env=self.environment,
                              capture_output=True, text=True)

    def test_backup_and_recovery_to_a_point_in_time(self):
        # Without an archive, the backup fails and has no metric.
        self.pgbackrest("stanza-create", check=True)
        refused = self.back_up()
        self.assertNotEqual(refused.returncode, 0, refused.stdout)
        self.assertIn("archive_mode", refused.stdout + refused.stderr)
        self.assertFalse(self.metrics.exists())

        self.archive()
        early = self.verified("early@example.com")
        made = self.back_up()
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
        self.assertRegex(self.metrics.read_text(),
                         r"(?m)^dossier_backup_completed_timestamp_seconds \d{10}$")
        # pgBackRest compares whole seconds: the moment must be in a later one than the end of the backup.
        ended = int(self.metrics.read_text().split()[-1])
        wait_until(lambda: time.time() >= ended + 1, what="the second after the backup")
        # This user is only in the WAL.
        self.expect(self.register("middle@example.com"), 201)
        moment = self.site.sql("select clock_timestamp()")
        self.expect(self.register("late@example.com"), 201)
        # A second backup builds on the first.
        self.assertEqual(self.back_up().returncode, 0)

        # The commands of the guide.
        script, = commands("Restore the database as it was at a moment")
        restore = re.search(r"(?m)^.* (pgbackrest .*--type=time.*)$", script)[1]
        self.site.stop_postgres()
        words = re.sub(r'"--target=.*?"', "", restore).split()[1:]
        restored = self.pgbackrest(*[word for word in words if "stanza" not in word],
                                   f"--target={moment}")
        self.assertEqual(restored.returncode, 0, restored.stdout + restored.stderr)
        self.start_postgres()
        self.expect(self.me(early), 200)
        self.expect(self.login("early@example.com"), 200)
        self.expect(self.login("middle@example.com"), 200)
        self.expect(self.login("late@example.com"), 401, "wrong_credentials")
        # The new timeline is archived, and backed up.
        self.assertEqual(self.site.sql("select pg_is_in_recovery()"), "f")
        again = self.back_up()
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)

        # The verification detects later damage. The metric stays that of the last good backup.
        kept = self.metrics.read_text()
        largest = max((path for path in self.repository.glob("backup/**/*.gz")
                       if not path.is_symlink()), key=lambda path: path.stat().st_size)
        with largest.open("r+b") as file:
            file.seek(100)
            file.write(bytes(20))
        damaged = self.back_up()
        self.assertEqual(damaged.returncode, 1)
        self.assertIn("the backups are damaged", damaged.stderr)
        self.assertEqual(self.metrics.read_text(), kept)


if __name__ == "__main__":
    unittest.main()
