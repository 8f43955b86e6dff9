// One thread, one epoll and one pipelined connection: the speed limit of libfcgi and libpq on one
// core. Listens on descriptor 0.

#define _GNU_SOURCE
#include "yardstick.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

// libfcgi closes with select, whose sets have this size.
#define MAX_PEERS 1024

typedef struct {
  FCGX_Request request;
  int busy, unwatched;
} Peer;

static Peer peers[MAX_PEERS];
static int poller;
static PGconn *database;

// The expected results, in order: descriptors of peers, or SYNC. Each peer occurs at most once, and
// each sync follows at least one of them.
enum { SYNC = -1, MAX_OWED = 2 * MAX_PEERS };
static int owed[MAX_OWED];
static unsigned first_owed, next_owed;
static int unsynced, wants_write;

static void watch(int descriptor, int operation, unsigned events) {
  struct epoll_event event = {.events = events, .data.fd = descriptor};
  if (epoll_ctl(poller, operation, descriptor, &event) != 0) fail("epoll_ctl", strerror(errno));
}

static void accept_peers(void) {
  int descriptor;
  while ((descriptor = accept4(0, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
    if (descriptor >= MAX_PEERS) {
      close(descriptor);
      continue;
    }
    // libfcgi reads and writes with blocking calls.
    struct timeval patience = {.tv_sec = 5};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    Peer *peer = &peers[descriptor];
    memset(peer, 0, sizeof *peer);
    FCGX_InitRequest(&peer->request, -1, 0);
    peer->request.ipcFd = descriptor;
    peer->request.keepConnection = 1;
    watch(descriptor, EPOLL_CTL_ADD, EPOLLIN);
  }
}

static void finish(int descriptor) {
  Peer *peer = &peers[descriptor];
  // Reads the end of the input now. Otherwise it would count as the next request.
  while (FCGX_GetChar(peer->request.in) != EOF) {}
  FCGX_Finish_r(&peer->request);
  peer->busy = 0;
  // Adding the descriptor reports input that has arrived meanwhile.
  if (peer->unwatched && peer->request.ipcFd >= 0) watch(descriptor, EPOLL_CTL_ADD, EPOLLIN);
  peer->unwatched = 0;
}

static void begin(int descriptor) {
  Peer *peer = &peers[descriptor];
  if (peer->busy) {
    // The web server has closed the connection. Removing it stops repeated reports.
    if (!peer->unwatched) watch(descriptor, EPOLL_CTL_DEL, 0);
    peer->unwatched = 1;
    return;
  }
  // At the end of the connection, this call fails and closes it.
  if (FCGX_Accept_r(&peer->request) != 0) return;
  peer->busy = 1;
  Caller caller;
  if (!read_caller(&peer->request, &caller)) {
    answer_empty(&peer->request, "401 Unauthorized");
    finish(descriptor);
    return;
  }
  const char *values[] = {caller.user, caller.session};
  if (!PQsendQueryPrepared(database, "me", 2, values, NULL, NULL, 0))
    fail("send", PQerrorMessage(database));
  owed[next_owed++ % MAX_OWED] = descriptor;
  unsynced = 1;
}

static void flush(void) {
  int left = PQflush(database);
  if (left < 0) fail("flush", PQerrorMessage(database));
  if (left == wants_write) return;
  wants_write = left;
  watch(PQsocket(database), EPOLL_CTL_MOD, EPOLLIN | (left ? EPOLLOUT : 0));
}

static void take_results(void) {
  if (!PQconsumeInput(database)) fail("database", PQerrorMessage(database));
  while (first_owed != next_owed && !PQisBusy(database)) {
    int descriptor = owed[first_owed % MAX_OWED];
    PGresult *result = PQgetResult(database);
    if (descriptor == SYNC) {
      if (PQresultStatus(result) != PGRES_PIPELINE_SYNC) fail("sync", PQerrorMessage(database));
      first_owed++;
    } else if (result) {
      answer_result(&peers[descriptor].request, result);
      finish(descriptor);
    } else {
      // A null result ends the results of a statement.
      first_owed++;
    }
    PQclear(result);
  }
}

int main(void) {
  start_fastcgi();
  database = open_database();
  if (PQsetnonblocking(database, 1) != 0 || !PQenterPipelineMode(database))
    fail("pipeline", PQerrorMessage(database));
  if ((poller = epoll_create1(EPOLL_CLOEXEC)) < 0) fail("epoll_create1", strerror(errno));
  fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_NONBLOCK);
  watch(0, EPOLL_CTL_ADD, EPOLLIN);
  watch(PQsocket(database), EPOLL_CTL_ADD, EPOLLIN);
  for (;;) {
    struct epoll_event events[256];
    int count = epoll_wait(poller, events, 256, -1);
    if (count < 0 && errno != EINTR) fail("epoll_wait", strerror(errno));
    for (int index = 0; index < count; index++) {
      int descriptor = events[index].data.fd;
      if (descriptor == 0) accept_peers();
      else if (descriptor == PQsocket(database)) take_results();
      else begin(descriptor);
    }
    if (unsynced) {
      if (!PQpipelineSync(database)) fail("sync", PQerrorMessage(database));
      owed[next_owed++ % MAX_OWED] = SYNC;
      unsynced = 0;
    }
    flush();
  }
}
