#pragma once
// What Glibc's module leaves out: Linux's descriptors for events, signals and processes.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/prctl.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
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

// What a process has in its memory is not for core files, nor for others of the same user.
static inline int CLinux_hide_memory(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

// A file in memory that stays as large as it is: what is written beyond fails.
static inline int CLinux_make_sealed_file(const char *name, off_t size) {
  int descriptor = (int)syscall(SYS_memfd_create, name, 3 /* MFD_CLOEXEC | MFD_ALLOW_SEALING */);
  if (descriptor >= 0 && ftruncate(descriptor, size) == 0)
    fcntl(descriptor, 1033 /* F_ADD_SEALS */, 6 /* F_SEAL_SHRINK | F_SEAL_GROW */);
  return descriptor;
}

// Nor must what decodes strangers' files gain rights, or be looked into by what does.
static inline int CLinux_give_up_privileges(void) {
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) : -1;
}

// Behind _GNU_SOURCE too.
int pipe2(int descriptors[2], int flags);
// Who is at the other end of a Unix socket.
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
// Which file a path names. Not `struct stat`: whether Swift finds its members depends on which other
// modules a program is made of.
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
// How long an open file is; -1 for a pipe, a terminal and whatever else has no length.
static inline long long CLinux_file_length(int descriptor) {
  struct stat found;
  if (fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) return -1;
  return found.st_size;
}
static inline int CLinux_open_process(pid_t process) {
  return (int)syscall(SYS_pidfd_open, process, 0);
}

// The variable by which Swift's concurrency runtime lets a program run the jobs that belong to no
// executor; declared in its swift/Runtime/Concurrency.h, and set before the first task is made.
extern void (*swift_task_enqueueGlobal_hook)(void *job, void *original)
  __attribute__((swiftcall));
// In Swift, in EventLoop.
void EventLoop_take_global_job(void *job);
__attribute__((swiftcall)) static inline void CLinux_pass_global_job(void *job, void *original) {
  (void)original;
  EventLoop_take_global_job(job);
}
static inline void CLinux_take_global_jobs(void) {
  swift_task_enqueueGlobal_hook = CLinux_pass_global_job;
}
