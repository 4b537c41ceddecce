// SPDX-License-Identifier: BSD-3-Clause
//
// libcuda.so.1 without a GPU (fake_cuda.h). The functions have the library's types and names.
#include "fake_cuda.h"

#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

namespace {

using namespace sluice::device::grid;  // NOLINT: all of this file is about this folder.

constexpr int kSuccess = 0, kInvalid = 1, kOutOfMemory = 2, kNotReady = 600, kRegistered = 712,
              kNotRegistered = 713;

FakeCuda state;
std::map<void*, Card*> streams;
std::map<unsigned long long, size_t> allocations;  // NOLINT: the library's type.

}  // namespace

extern "C" {

FakeCuda* sluice_fake_cuda() { return &state; }

int cuInit(unsigned) { return kSuccess; }
int cuDeviceGet(int* device, int index) {
  *device = index;
  return kSuccess;
}
int cuDeviceGetCount(int* count) {
  *count = state.devices;
  return kSuccess;
}
int cuDeviceGetName(char* name, int bytes, int) {
  std::strncpy(name, "fake", static_cast<size_t>(bytes));
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int, int) {
  *value = state.processors;
  return kSuccess;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  const std::scoped_lock lock(state.mutex);
  ++state.contexts;
  *context = &state;
  return kSuccess;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  const std::scoped_lock lock(state.mutex);
  if (state.contexts == 0) return kInvalid;
  --state.contexts;
  return kSuccess;
}
int cuCtxSetCurrent(void*) { return kSuccess; }
int cuModuleLoadData(void** module, const void*) {
  *module = &state;
  return kSuccess;
}
int cuModuleGetFunction(void** function, void*, const char*) {
  *function = &state;
  return kSuccess;
}
int cuFuncSetAttribute(void*, int, int) { return kSuccess; }

int cuMemHostRegister_v2(void* begin, size_t bytes, unsigned) {
  const std::scoped_lock lock(state.mutex);
  const auto first = reinterpret_cast<uintptr_t>(begin);
  const auto next = state.registered.lower_bound(first);
  if (next != state.registered.end() && next->first < first + bytes) return kRegistered;
  if (next != state.registered.begin() &&
      std::prev(next)->first + std::prev(next)->second > first) {
    return kRegistered;
  }
  if (state.refused >= first && state.refused < first + bytes) return kOutOfMemory;
  state.registered[first] = bytes;
  return kSuccess;
}
int cuMemHostUnregister(void* begin) {
  const std::scoped_lock lock(state.mutex);
  const bool known = state.registered.erase(reinterpret_cast<uintptr_t>(begin)) == 1;
  return known ? kSuccess : kNotRegistered;
}
int cuMemHostGetDevicePointer_v2(unsigned long long* at, void* begin, unsigned) {  // NOLINT
  *at = reinterpret_cast<uintptr_t>(begin) + state.pointer_offset;
  return kSuccess;
}

int cuMemAlloc_v2(unsigned long long* at, size_t bytes) {  // NOLINT: the library's type.
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return kOutOfMemory;
  *at = reinterpret_cast<uintptr_t>(memory);
  const std::scoped_lock lock(state.mutex);
  allocations[*at] = bytes;
  return kSuccess;
}
int cuMemFree_v2(unsigned long long at) {  // NOLINT: the library's type.
  const std::scoped_lock lock(state.mutex);
  munmap(reinterpret_cast<void*>(at), allocations[at]);
  allocations.erase(at);
  return kSuccess;
}
// New memory is zero, and callers do not set any other value.
int cuMemsetD8_v2(unsigned long long, unsigned char value, size_t) {  // NOLINT
  return value == 0 ? kSuccess : kInvalid;
}
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) {  // NOLINT
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return kSuccess;
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {  // NOLINT
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return kSuccess;
}

int cuStreamCreate(void** stream, unsigned) {
  static std::atomic<uintptr_t> next{1};
  *stream = reinterpret_cast<void*>(next++);
  return kSuccess;
}
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   void* stream, void** arguments, void**) {
  const std::scoped_lock lock(state.mutex);
  Card* const card = *static_cast<Card**>(arguments[0]);
  streams[stream] = card;
  state.running.insert(card);
  return kSuccess;
}
int cuStreamQuery(void* stream) {
  const std::scoped_lock lock(state.mutex);
  Card* const card = streams[stream];
  if (!state.running.contains(card)) return kSuccess;
  if (Load(&card->control->stop) != 0) {
    state.running.erase(card);
    return kSuccess;
  }
  Store(&card->report->served, Load(&card->control->request));
  return kNotReady;
}
int cuStreamSynchronize(void* stream) {
  while (cuStreamQuery(stream) == kNotReady) {
  }
  return kSuccess;
}
int cuGetErrorName(int, const char** name) {
  *name = "CUDA_ERROR_OF_THE_FAKE";
  return kSuccess;
}

}  // extern "C"
