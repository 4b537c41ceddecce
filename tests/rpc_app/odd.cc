// SPDX-License-Identifier: BSD-3-Clause
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "one_cpu.h"

// These structures equal rpcgen's declarations for odd.x.
struct Shape {
  int32_t kind;
  union {
    char* name;
    struct {
      uint32_t length;
      uint32_t* value;
    } sides;
  };
};

struct Bulk {
  uint32_t length;
  uint8_t* value;
};
struct Repetition {
  uint32_t bytes;
  Bulk pattern;
};

extern "C" {

int crash_1_svc(void*, void*, void*) { abort(); }

int hang_1_svc(void*, void*, void*) {
  for (;;) pause();
}

int fail_1_svc(void*, void*, void*) { return 0; }

// The result is longer than a datagram.
int long_1_svc(void*, char** result, void*) {
  static char text[100'001];
  for (char& c : text) c = 'x';
  text[100'000] = '\0';
  *result = text;
  return 1;
}

// Removes the first character of a name, and doubles the sides.
int turn_1_svc(Shape* shape, Shape* result, void*) {
  static thread_local uint32_t doubled[4];
  *result = *shape;
  if (shape->kind == 1) result->name = shape->name + 1;
  if (shape->kind == 5) {
    for (uint32_t i = 0; i < shape->sides.length; ++i) doubled[i] = 2 * shape->sides.value[i];
    result->sides.value = doubled;
  }
  return 1;
}

// Returns the requested number of bytes by repeating a pattern.
int repeat_1_svc(Repetition* asked, Bulk* result, void*) {
  static thread_local uint8_t bytes[70'000];
  if (asked->bytes > sizeof(bytes) || asked->pattern.length == 0) return 0;
  for (uint32_t i = 0; i < asked->bytes; ++i)
    bytes[i] = asked->pattern.value[i % asked->pattern.length];
  *result = {asked->bytes, bytes};
  return 1;
}

int fine_1_svc(void*, void*, void*) { return 1; }

// Sleeps for the given milliseconds. Returns whether it was interrupted.
int wait_1_svc(uint32_t* milliseconds, uint32_t* result, void*) {
  const timespec time = {*milliseconds / 1000, *milliseconds % 1000 * 1'000'000L};
  *result = nanosleep(&time, nullptr) != 0;
  return 1;
}

// Fills the 512 bytes before the arguments' line with ones. If the line is the first of its
// endpoint, these bytes contain the words that the NIC reads. Then waits so that the NIC can read
// these words.
int stomp_1_svc(uint8_t* arguments, void*, void*) {
  std::memset(arguments - 24 - 512, 0xff, 512);
  usleep(100'000);
  return 1;
}

// Consumes the given CPU time, in milliseconds, with SCHED_IDLE on the first CPU that the process
// may use.
int spin_1_svc(uint32_t* milliseconds, uint32_t* result, void*) {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  const cpu_set_t first = FirstAllowedCpu();
  const sched_param none{};
  sched_setaffinity(0, sizeof first, &first);
  sched_setscheduler(0, SCHED_IDLE, &none);
  timespec begin{}, now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1'000'000 <
           *milliseconds);
  sched_setscheduler(0, SCHED_OTHER, &none);
  sched_setaffinity(0, sizeof allowed, &allowed);
  *result = *milliseconds;
  return 1;
}

// Replaces the memory that this process shares with the supervisor, so that it reads as zeroes.
int wipe_1_svc(uint8_t* arguments, void*, void*) {
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  const auto inside = reinterpret_cast<uintptr_t>(arguments);
  uintptr_t begin = 0, end = 0;
  while (maps != nullptr && !(begin <= inside && inside < end) &&
         std::fscanf(maps, "%lx-%lx%*[^\n] ", &begin, &end) == 2) {
  }
  for (;;) {
    std::memset(reinterpret_cast<void*>(begin), 0, end - begin);
    usleep(20);
  }
}

// Ends the calling thread.
int quit_1_svc(void*, void*, void*) {
  syscall(SYS_exit, 0);
  return 1;
}
}
