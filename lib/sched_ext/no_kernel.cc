// SPDX-License-Identifier: BSD-3-Clause
//
// For builds without libbpf.
#include "sched_ext/thread_kernel.h"

namespace sluice::sched_ext {

std::unique_ptr<ThreadKernel> StartThreadKernel(const ThreadKernelOptions&, std::string* error) {
  *error = "the build had no libbpf: install libbpf-dev and clang, and build again";
  return nullptr;
}

}  // namespace sluice::sched_ext
