// SPDX-License-Identifier: BSD-3-Clause
//
// A library to preload into EAL programs under ThreadSanitizer. EAL is not instrumented, so
// ThreadSanitizer does not know that a worker ends before rte_eal_wait_lcore() returns. This
// library tells ThreadSanitizer about that order.
#include <dlfcn.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <array>

extern "C" void __tsan_acquire(void* address);  // NOLINT: the name that libtsan exports.
extern "C" void __tsan_release(void* address);  // NOLINT

namespace {

struct Lcore {
  lcore_function_t* function;
  void* argument;
};
std::array<Lcore, RTE_MAX_LCORE> lcores;

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int Run(void* lcore) {
  const Lcore run = *static_cast<Lcore*>(lcore);
  const int result = run.function(run.argument);
  __tsan_release(lcore);
  return result;
}

}  // namespace

extern "C" {

int rte_eal_remote_launch(lcore_function_t* function, void* argument, unsigned lcore) {
  static auto* const next = Next<decltype(rte_eal_remote_launch)>("rte_eal_remote_launch");
  lcores[lcore] = {function, argument};
  return next(&Run, &lcores[lcore], lcore);
}

int rte_eal_wait_lcore(unsigned lcore) {
  static auto* const next = Next<decltype(rte_eal_wait_lcore)>("rte_eal_wait_lcore");
  const int result = next(lcore);
  __tsan_acquire(&lcores[lcore]);
  return result;
}

void rte_eal_mp_wait_lcore() {
  unsigned lcore;
  RTE_LCORE_FOREACH_WORKER(lcore) rte_eal_wait_lcore(lcore);
}
}
