#pragma once
// Linux functions that Glibc's module omits: descriptors for events, signals, processes and memory.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/prctl.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>
#include <pthread.h>

// `accept4` requires _GNU_SOURCE, which modules cannot define.
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

// Sends a signal to the process when its parent ends, so that no worker outlives its supervisor.
static inline int CLinux_die_with_parent(int signal) {
  return prctl(PR_SET_PDEATHSIG, (unsigned long)signal, 0, 0, 0);
}

// Hides the memory of the process from core files and from other processes of the user.
static inline int CLinux_hide_memory(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

// Creates a file in memory with a fixed size. A write beyond the size fails.
static inline int CLinux_make_sealed_file(const char *name, off_t size) {
  int descriptor = (int)syscall(SYS_memfd_create, name, 3 /* MFD_CLOEXEC | MFD_ALLOW_SEALING */);
  if (descriptor >= 0 && ftruncate(descriptor, size) == 0)
    fcntl(descriptor, 1033 /* F_ADD_SEALS */, 6 /* F_SEAL_SHRINK | F_SEAL_GROW */);
  return descriptor;
}

// Prevents new privileges, and hides the memory, for the program that decodes clients' files.
static inline int CLinux_give_up_privileges(void) {
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) : -1;
}

// This one requires _GNU_SOURCE too.
int pipe2(int descriptors[2], int flags);
// Returns the process and the user of the peer of a Unix socket.
static inline int CLinux_peer(int socket, pid_t *process, uid_t *user) {
  struct { pid_t process; uid_t user; gid_t group; } peer;
  socklen_t size = sizeof peer;
  int result = getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  if (result == 0) *process = peer.process, *user = peer.user;
  return result;
}
static inline void CLinux_make_nonblocking(int descriptor) {
  fcntl(descriptor, F_SETFL, O_NONBLOCK);
}
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first);
static inline int CLinux_close_from(unsigned int first) {
  return (int)syscall(SYS_close_range, first, ~0U, 0);
}
// The identity of a file. `struct stat` is not used, since its members are visible in Swift only
// together with certain other modules.
typedef struct {
  int exists, is_socket;
  unsigned long long device, inode;
} CLinux_file;
static inline CLinux_file CLinux_file_at(const char *path) {
  struct stat found;
  CLinux_file file = {0, 0, 0, 0};
  if (lstat(path, &found) == 0) {
    file.exists = 1;
    file.is_socket = S_ISSOCK(found.st_mode);
    file.device = found.st_dev;
    file.inode = found.st_ino;
  }
  return file;
}
// Returns the length of an open file, or -1 for pipes, terminals and other files without one.
static inline long long CLinux_file_length(int descriptor) {
  struct stat found;
  if (fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) return -1;
  return found.st_size;
}
// Returns when the state of an open file last changed, in nanoseconds since 1970; 0 if it is unknown. For
// a file in memory, that is its creation.
static inline unsigned long long CLinux_file_changed(int descriptor) {
  struct stat found;
  if (fstat(descriptor, &found) != 0) return 0;
  return (unsigned long long)found.st_ctim.tv_sec * 1000000000ULL + found.st_ctim.tv_nsec;
}
static inline int CLinux_open_process(pid_t process) {
  return (int)syscall(SYS_pidfd_open, process, 0);
}

// The hook of Swift's concurrency runtime for jobs without an executor. It is declared in the
// runtime's swift/Runtime/Concurrency.h, and must be set before the first task.
extern void (*swift_task_enqueueGlobal_hook)(void *job, void *original)
  __attribute__((swiftcall));
// Implemented in Swift, in EventLoop.
void EventLoop_take_global_job(void *job);
__attribute__((swiftcall)) static inline void CLinux_pass_global_job(void *job, void *original) {
  (void)original;
  EventLoop_take_global_job(job);
}
static inline void CLinux_take_global_jobs(void) {
  swift_task_enqueueGlobal_hook = CLinux_pass_global_job;
}
