"""The chapters of the operator's guide about failures, backups and restores; see test_guide."""

import json
import re

from guide import commands
from machine import wait_until

REGISTER = ("curl -s -X POST http://127.0.0.1:8080/v1/register -H 'Content-Type: application/json' "
            "-d '{\"email\":\"%s\",\"password\":\"correct horse battery\"}'")


class Repairs:
    """Tests of a class that follows the guide on a machine: `there`, `step` and `ready`."""

    def test_a_killed_nginx_or_postgresql_is_started_again(self):
        for unit in ["nginx", "postgresql@15-main"]:
            show = f"systemctl show -P MainPID {unit}"
            killed = self.there(show)
            # 0 would name this process too.
            self.assertGreater(int(killed), 0)
            self.there(f"kill -9 {killed}")
            wait_until(lambda: self.there(show) not in (killed, "0\n"), what=f"another {unit}")
            wait_until(self.ready, what="readiness")
            # One that is stopped stays so.
            self.there(f"systemctl stop {unit}")
            self.assertEqual(self.there(f"systemctl is-failed {unit} || true"), "inactive\n")
            self.there(f"systemctl start {unit}")
            wait_until(self.ready, what="readiness")

    def test_the_commands_of_repairs_and_of_a_stop(self):
        self.there(*commands("Recover from failures"))
        wait_until(self.ready, what="readiness")
        said = self.there(*commands("Reload and stop dossierd"))
        self.assertIn("ready\n", said)
        self.assertEqual(self.there("systemctl is-active dossierd dossierd.socket || true"),
                         "inactive\ninactive\n")
        self.step(7)
        wait_until(self.ready, what="readiness")

    def test_scheduled_backups_allow_recovery_to_a_point_in_time(self):
        schedule, look = commands("Schedule backups")
        restore, = commands("Restore the database as it was at a moment")
        self.there(schedule.replace("apt install ", "apt-get install -y -q "))
        # pgBackRest compares whole seconds: the moment must be in a later one than the end of the backup.
        ended = int(self.there("date +%s"))
        wait_until(lambda: int(self.there("date +%s")) > ended, what="the second after the backup")
        self.assertIn("dossier-backup.timer", self.there(look))
        self.assertEqual(self.there("systemctl is-active dossier-backup.timer").strip(), "active")
        wait_until(self.ready, what="readiness")
        early = json.loads(self.there(REGISTER % "early@example.com"))
        moment = self.there("cd / && runuser -u postgres -- psql -Atqc 'select clock_timestamp()'")
        self.there(REGISTER % "late@example.com")
        target = re.search(r"--target=([^\"]*)", restore)[1]
        self.there(restore.replace(target, moment.strip()))
        wait_until(self.ready, what="readiness")
        self.there(f"curl -sf http://127.0.0.1:8080/v1/me -H 'Authorization: Bearer {early['access_token']}'")
        shown = self.there("dossier user show late@example.com 2>&1", check=False)
        self.assertIn("No user has the address", shown)
        # The job continues with the restored database.
        self.there("systemctl start dossier-backup")

    def test_a_backup_is_restored_on_a_bare_machine(self):
        grant = json.loads(self.there(REGISTER % "saved@example.com"))
        save, restore = commands("Back up and restore")
        self.there(save)
        # Nothing remains on the machine.
        self.there("systemctl stop dossierd.socket dossierd\napt-get purge -y -q dossier\n"
                   "rm -r /etc/dossier\ncd /\nrunuser -u postgres -- dropdb dossier\n"
                   "runuser -u postgres -- dropuser dossier\n"
                   "runuser -u postgres -- dropuser dossier-owner")
        self.step(2)
        self.step(4)
        self.there(restore)
        self.step(7)
        self.step(8)
        self.assertEqual(self.step(9).splitlines()[-1], "ready")
        self.assertEqual(json.loads(self.there("dossier user show saved@example.com --json"))["id"],
                         grant["user_id"])
        self.there(f"curl -sf http://127.0.0.1:8080/v1/me -H 'Authorization: Bearer {grant['access_token']}'")
