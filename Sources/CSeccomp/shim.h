#pragma once
#include <errno.h>
#include <sched.h>
#include <seccomp.h>

// Swift does not import macros with arguments.
static inline unsigned int CSeccomp_refuse(int code) { return SCMP_ACT_ERRNO(code); }

// `sched.h` declares it only for _GNU_SOURCE.
enum CSeccompFlag : unsigned long { CSeccompFlagThread = 0x00010000 };
