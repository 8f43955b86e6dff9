"""Loads users with the rows that a user of a real app has, and measures what they take."""

import concurrent.futures
import os
import sys
import time

BATCH = 50_000
# The users signed up in the last two years, at equal distances.
SECONDS = 2 * 365 * 86_400

# The shapes are those of users that were made by the API: a user who verified the address, filled in
# the profile, and is signed in on one device of a native app. Ids and hashes are as random as real
# ones: `h` has 32 random digits, and `w` the same as letters.
USERS = """
insert into users (user_id, app_id, anonymous, email, email_verified, name, given_name, family_name,
  locale, zone, version, created_at, updated_at, last_login_at, login_count)
select lpad(to_hex(s), 8, '0') || substr(h, 1, 16), '{app}', false,
  substr(w, 1, 6) || '.' || substr(w, 7, 8) || g % 100 || '@'
    || (array['example.com', 'mail.example.org', 'example.net'])[1 + g % 3], true,
  'G' || substr(w, 1, 5) || ' F' || substr(w, 7, 7), 'G' || substr(w, 1, 5), 'F' || substr(w, 7, 7),
  'en-GB', 'Europe/London', 2, to_timestamp(s), to_timestamp(s + 60), to_timestamp(s + 3600), 6
from (select g, s, h, translate(h, '0123456789abcdef', 'aeioubdfgklmnrst') as w
  from (select g, {start} + g * {seconds} / {users} as s, md5(g::text) as h
    from generate_series({first}::bigint, {last}) as g offset 0) as hashed offset 0) as made
"""

# The other tables have these rows for a user `u`. The user's id ends with the 16 random digits `r`.
ROWS = {
    "identities": """
(user_id, identity_id, app_id, provider, subject, created_at)
select user_id, substr(user_id, 1, 8) || reverse(r), app_id, 'password', email, created_at""",
    "identity_subjects": """
(app_id, provider, subject, user_id, identity_id)
select app_id, 'email', email, user_id, substr(user_id, 1, 8) || reverse(r)""",
    "passwords": """
(user_id, hash, changed_at)
select user_id, '$argon2id$v=19$m=19456,t=2,p=1$' || substr(md5(r), 1, 22) || '$'
  || md5(user_id) || substr(r, 6), created_at""",
    "devices": """
(device_id, app_id, secret_hash, created_at, last_seen_at, previous_hash, replaced_at, user_ids)
select substr(user_id, 1, 8) || substr(md5(r), 1, 16), app_id, sha256(r::bytea), created_at, created_at,
  sha256(user_id::bytea), created_at, array[user_id]""",
    "device_accounts": """
(user_id, device_id, activated_at)
select user_id, substr(user_id, 1, 8) || substr(md5(r), 1, 16), created_at""",
    "sessions": """
(user_id, session_id, app_id, device_id, provider, scope, refresh_salt, refreshed_at,
  refresh_theoretical_arrival_at, created_at, expires_at, address, agent, authenticated_at, amr)
select user_id, substr(user_id, 1, 8) || substr(md5(r), 17, 16), app_id,
  substr(user_id, 1, 8) || substr(md5(r), 1, 16), 'password',
  'read:current_user update:current_user_metadata update:current_user_identities', decode(md5(r), 'hex'),
  created_at, created_at, created_at, to_timestamp({now} + hashtext(r) % 2000000 + 3000000),
  '10.1.2.3', 'Notes/4.12.3 CFNetwork/1496.0.7 Darwin/23.5.0', created_at, 'pwd'""",
    "documents": """
(user_id, kind, body, version, created_at, updated_at)
select user_id, kind, case when kind = 'metadata' then ('{{"theme": "dark", "counter": 0, "group": '
    || (hashtext(user_id) & 65535) || ', "language": "en", "onboarding": {{"done": true, "step": 7}},'
    || '"notifications": {{"sms": false, "mail": true, "push": false}}, "home": {{"city": "'
    || r || '", "lat": 52.' || (hashtext(r) & 65535) || ', "lon": 4.' || (hashtext(email) & 65535)
    || '}}, "referrer": "' || md5(r) || '"}}')::jsonb
  else ('{{"plan": "pro", "customer": "cus_' || r || '", "renews": "2027-03-01", "balance": '
    || (hashtext(user_id) & 65535) || ', "tags": ["' || substr(r, 1, 6) || '", "' || substr(r, 7, 6)
    || '"], "address": {{"street": "' || substr(email, 1, 18) || '", "number": 12, "city": "'
    || substr(r, 2, 11) || '", "postcode": "' || substr(r, 5, 6) || '", "country": "GB"}}, "flags": '
    || '{{"beta": false, "staff": false, "newsletter": true}}, "note": "' || user_id || user_id || r
    || '", "scores": [' || (hashtext(r) & 8191) || ', ' || (hashtext(email) & 8191)
    || ', 17, 4711], "favourites": ["' || substr(r, 9, 8) || '", "' || substr(r, 3, 8)
    || '"]}}')::jsonb end, 1, created_at, created_at""",
    "properties": """
(user_id, key, value, version, created_at, updated_at)
select user_id, key, case when key = 'level' then (hashtext(r) & 1023)::text
  when key = 'onboarded' then 'true' else '"pro-' || substr(r, 1, 8) || '"' end, version, created_at, created_at""",
    "audit": """
(user_id, event_id, app_id, at, action, actor, session_id, device_id, address, agent, detail)
select user_id, substr(user_id, 1, 8) || substr(md5(r), 9, 16), app_id, created_at, 'login', 'user',
  substr(user_id, 1, 8) || substr(md5(r), 17, 16), substr(user_id, 1, 8) || substr(md5(r), 1, 16),
  '10.1.2.3', 'Notes/4.12.3 CFNetwork/1496.0.7 Darwin/23.5.0', '{{"provider": "password"}}'""",
}
# The keys of tables that have several rows of a user.
KEYS = {"documents": "(values ('metadata'), ('custom_data')) as k (kind)",
        "properties": "(values ('level', 1), ('onboarded', 2), ('plan', 3)) as k (key, version)"}
TABLES = ["users", *ROWS]


def batches(site, users):
    """Yields the statements of each batch of users: those of the first group come first."""
    now = int(time.time())
    start = now - SECONDS
    values = {"app": site.sql("select app_id from apps where name = 'default'"), "users": users, "now": now,
              "start": start, "seconds": SECONDS}
    for first in range(0, users, BATCH):
        last = min(first + BATCH, users) - 1
        low, high = (f"{start + number * SECONDS // users:08x}" for number in (first, last + 1))
        source = ("(select user_id, app_id, email, created_at, substr(user_id, 9) as r from users "
                  f"where user_id >= '{low}' and user_id < '{high}') as u")
        rows = [f"insert into {table} {rows.format(**values)} from "
                + ", ".join([source, *([KEYS[table]] if table in KEYS else [])])
                for table, rows in ROWS.items()]
        yield [USERS.format(first=first, last=last, **values)], rows


def everywhere(site, *statements):
    """Executes statements on each node."""
    for _, port in site.nodes():
        for statement in statements:
            site.sql(statement, port)


# Each of these settings makes the servers repeat work during a load.
REPEATED = ["autovacuum", "full_page_writes"]


def load(site, users):
    """Loads users. Their foreign keys are not checked, since the rows belong together."""
    started = time.monotonic()
    # The setting counts for new connections.
    everywhere(site, "alter database dossier set session_replication_role = replica",
               *(f"alter system set {name} = off" for name in REPEATED), "select pg_reload_conf()")

    def execute(batch):
        for statements in batch:
            site.sql("; ".join(statements))

    # On as many connections as this machine has processors.
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, _ in enumerate(pool.map(execute, batches(site, users)), 1):
            if number % 20 == 0:
                print(f"{number * BATCH} users in {time.monotonic() - started:.0f} s",
                      file=sys.stderr)
    everywhere(site, "alter database dossier reset session_replication_role",
               *(f"alter system reset {name}" for name in REPEATED), "select pg_reload_conf()")
    for table in TABLES:
        site.sql(f"vacuum analyze {table}")
    print(f"loaded {users} users in {time.monotonic() - started:.0f} s", file=sys.stderr)
