#!/bin/sh
# Makes the role of the server, once; the image of PostgreSQL runs it in a new cluster.
set -e
psql -v ON_ERROR_STOP=1 -v "password=$SERVER_PASSWORD" <<'SQL'
create role dossier login password :'password';
SQL
