// SPDX-License-Identifier: BSD-3-Clause
#include "transport/instance.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

// The library file, which image.cc contains.
extern "C" const char sluice_lwip_image[];
extern "C" const char sluice_lwip_image_end[];

namespace sluice::transport {
namespace {

bool WriteAll(int file, const char* bytes, const char* end) {
  while (bytes != end) {
    const ssize_t written = write(file, bytes, static_cast<size_t>(end - bytes));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
  }
  return true;
}

}  // namespace

bool Instance::Available() { return true; }

std::unique_ptr<Instance> Instance::Load(std::string* error) {
  std::unique_ptr<Instance> instance(new Instance);
  instance->file_ = memfd_create("lwip", MFD_CLOEXEC);
  if (instance->file_ < 0 || !WriteAll(instance->file_, sluice_lwip_image, sluice_lwip_image_end)) {
    *error = std::string("cannot write a copy of lwIP to memory: ") + std::strerror(errno);
    return nullptr;
  }
  // Debuggers open this path too, so it must not be a /proc/self path.
  const std::string path =
      "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(instance->file_);
  instance->handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (instance->handle_ == nullptr) {
    *error = std::string("cannot load a copy of lwIP: ") + dlerror();
    return nullptr;
  }
  using Function = const tcp_library* (*)();
  const auto library = reinterpret_cast<Function>(dlsym(instance->handle_, "sluice_tcp_library"));
  instance->tcp_ = library();
  return instance;
}

Instance::~Instance() {
  if (handle_ != nullptr) dlclose(handle_);
  if (file_ >= 0) close(file_);
}

}  // namespace sluice::transport
