// Counts the allocations of a process in a file that other processes may read. Preload it with
// ALLOCATIONS=FILE. FILE.PID then holds two 64-bit numbers: allocations and requested bytes.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t *counts;
static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static int (*next_memalign)(void **, size_t, size_t);
// For dlsym, which allocates while it finds the allocator.
static char early[65536];
static size_t early_used;

static void find_next(void) {
  static int is_searching;
  if (is_searching) return;
  is_searching = 1;
  next_malloc = dlsym(RTLD_NEXT, "malloc");
  next_calloc = dlsym(RTLD_NEXT, "calloc");
  next_realloc = dlsym(RTLD_NEXT, "realloc");
  next_memalign = dlsym(RTLD_NEXT, "posix_memalign");
}

__attribute__((constructor)) static void open_counts(void) {
  const char *name = getenv("ALLOCATIONS");
  char path[4096];
  if (!name) return;
  snprintf(path, sizeof path, "%s.%d", name, (int)getpid());
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0 || ftruncate(file, 2 * sizeof *counts) != 0) return;
  void *memory = mmap(NULL, 2 * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory != MAP_FAILED) counts = memory;
  close(file);
}

static void count(size_t size) {
  if (!counts) return;
  __atomic_fetch_add(&counts[0], 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&counts[1], size, __ATOMIC_RELAXED);
}

void *malloc(size_t size) {
  if (!next_malloc) find_next();
  count(size);
  return next_malloc(size);
}

void *calloc(size_t number, size_t size) {
  if (!next_calloc) find_next();
  if (!next_calloc) {
    void *start = early + early_used;
    early_used += (number * size + 15) & ~(size_t)15;
    return early_used <= sizeof early ? start : NULL;
  }
  count(number * size);
  return next_calloc(number, size);
}

void *realloc(void *start, size_t size) {
  if (!next_realloc) find_next();
  // A block that grows counts once.
  if (!start) count(size);
  return next_realloc(start, size);
}

int posix_memalign(void **start, size_t alignment, size_t size) {
  if (!next_memalign) find_next();
  count(size);
  return next_memalign(start, alignment, size);
}
