#pragma once
#include <errno.h>
#include <sched.h>
#include <seccomp.h>

// A macro with an argument.
static inline unsigned int CSeccomp_refuse(int code) { return SCMP_ACT_ERRNO(code); }

// `sched.h` shows it only to _GNU_SOURCE.
enum CSeccompFlag : unsigned long { CSeccompFlagThread = 0x00010000 };
