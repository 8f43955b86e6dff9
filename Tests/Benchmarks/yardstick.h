// The common part of both yardsticks, which differ only in how they wait.
#pragma once

#include <fcgiapp.h>
#include <libpq-fe.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The product's query, with its two columns swapped.
#define QUERY \
  "select c.version, json_build_object(" \
  "'id', c.user_id, 'created_at', c.created_at, 'updated_at', c.updated_at, " \
  "'version', c.version, 'anonymous', c.anonymous, 'blocked', c.blocked_at is not null, " \
  "'email', c.email, 'email_verified', c.email_verified, 'name', c.name, " \
  "'given_name', c.given_name, 'family_name', c.family_name, 'nickname', c.nickname, " \
  "'phone', c.phone, 'locale', c.locale, 'zone', c.zone, " \
  "'picture', '/v1/pictures/' || c.picture)::text " \
  "from users c where c.user_id = $1 and ($2::text = 'app:' || c.app_id " \
  "or c.blocked_at is null and exists (select 1 from sessions s where s.user_id = $1 " \
  "and s.session_id = $2::text and s.ended_at is null and s.expires_at > now()))"
#define ID_LENGTH 24

typedef struct {
  char user[ID_LENGTH + 1], session[ID_LENGTH + 1];
} Caller;

_Noreturn static inline void fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

// libfcgi handles these signals itself, and then only interrupts a blocked accept.
static inline void start_fastcgi(void) {
  if (FCGX_Init() != 0) fail("libfcgi", "cannot start");
  signal(SIGTERM, SIG_DFL);
  signal(SIGHUP, SIG_DFL);
  signal(SIGUSR1, SIG_DFL);
}

static inline PGconn *open_database(void) {
  const char *conninfo = getenv("YARDSTICK_DATABASE");
  if (!conninfo) fail("YARDSTICK_DATABASE", "not set");
  PGconn *database = PQconnectdb(conninfo);
  if (PQstatus(database) != CONNECTION_OK) fail("database", PQerrorMessage(database));
  PGresult *result = PQprepare(database, "me", QUERY, 2, NULL);
  if (PQresultStatus(result) != PGRES_COMMAND_OK) fail("prepare", PQerrorMessage(database));
  PQclear(result);
  return database;
}

// Parses `Authorization: Bearer USERID.SESSIONID`. Returns 0 without it.
static inline int read_caller(FCGX_Request *request, Caller *caller) {
  const char *value = FCGX_GetParam("HTTP_AUTHORIZATION", request->envp);
  if (!value || strncmp(value, "Bearer ", 7) != 0) return 0;
  value += 7;
  if (strlen(value) != 2 * ID_LENGTH + 1 || value[ID_LENGTH] != '.') return 0;
  memcpy(caller->user, value, ID_LENGTH);
  memcpy(caller->session, value + ID_LENGTH + 1, ID_LENGTH);
  caller->user[ID_LENGTH] = caller->session[ID_LENGTH] = 0;
  return 1;
}

static inline void answer_empty(FCGX_Request *request, const char *status) {
  FCGX_FPrintF(request->out, "Status: %s\r\nContent-Length: 0\r\n\r\n", status);
}

// Responds with the version and the body of the row, or with 401 without a row.
static inline void answer_result(FCGX_Request *request, const PGresult *result) {
  if (PQresultStatus(result) != PGRES_TUPLES_OK) {
    answer_empty(request, "503 Service Unavailable");
  } else if (PQntuples(result) == 0) {
    answer_empty(request, "401 Unauthorized");
  } else {
    int length = PQgetlength(result, 0, 1);
    FCGX_FPrintF(
      request->out,
      "Status: 200 OK\r\nContent-Type: application/json\r\nETag: \"%s\"\r\n"
      "Cache-Control: private, no-cache\r\nContent-Length: %d\r\n\r\n",
      PQgetvalue(result, 0, 0), length);
    FCGX_PutStr(PQgetvalue(result, 0, 1), length, request->out);
  }
}
