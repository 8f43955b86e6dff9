// The classic FastCGI program. Each thread waits for a request, then for the database.
//
//   yardstick_threads [-t THREADS] [SOCKET]     without SOCKET it listens on descriptor 0

#include "yardstick.h"

#include <pthread.h>
#include <unistd.h>

static int listener = 0;

static void *serve(void *unused) {
  (void)unused;
  PGconn *database = open_database();
  FCGX_Request request;
  FCGX_InitRequest(&request, listener, 0);
  while (FCGX_Accept_r(&request) >= 0) {
    Caller caller;
    if (!read_caller(&request, &caller)) {
      answer_empty(&request, "401 Unauthorized");
    } else {
      const char *values[] = {caller.user, caller.session};
      PGresult *result = PQexecPrepared(database, "me", 2, values, NULL, NULL, 0);
      answer_result(&request, result);
      PQclear(result);
      if (PQstatus(database) != CONNECTION_OK) fail("database", PQerrorMessage(database));
    }
    FCGX_Finish_r(&request);
  }
  fail("accept", "failed");
}

int main(int count, char **arguments) {
  int threads = 8, option;
  while ((option = getopt(count, arguments, "t:")) != -1)
    if (option != 't' || (threads = atoi(optarg)) < 1)
      fail("usage", "yardstick_threads [-t THREADS] [SOCKET]");
  start_fastcgi();
  if (optind < count && (listener = FCGX_OpenSocket(arguments[optind], 4096)) < 0)
    fail(arguments[optind], "cannot listen");
  for (int index = 1; index < threads; index++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve, NULL) != 0) fail("thread", "cannot start");
  }
  serve(NULL);
}
