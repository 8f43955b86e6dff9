#pragma once
// What Glibc's module leaves out: Linux's descriptors for events, signals and processes.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>
#include <pthread.h>

// `accept4` hides behind _GNU_SOURCE, which modules do not get.
int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags);

// So does `pthread_setname_np`.
int pthread_setname_np(pthread_t thread, const char *name);
static inline void CLinux_name_thread(pthread_t thread, const char *name) {
  pthread_setname_np(thread, name);
}

// `syscall` and `prctl` are variadic, which Swift cannot call.
static inline int CLinux_memfd_create(const char *name, unsigned int flags) {
  return (int)syscall(SYS_memfd_create, name, flags);
}

// A worker must not outlive its supervisor.
static inline int CLinux_die_with_parent(int signal) {
  return prctl(PR_SET_PDEATHSIG, (unsigned long)signal, 0, 0, 0);
}
