// SPDX-License-Identifier: BSD-3-Clause
//
// Runs blocks on a GPU through the driver's library, libcuda.so.1, which is opened on demand. No
// CUDA toolkit or header is needed, because the functions below have a stable ABI (CUDA Driver API
// reference): handles are pointers, devices are ints, and results are 0 or an error number.
#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

#include "emulator/grid/executor.h"
#include "emulator/grid/gpu_share.h"

namespace sluice::emulator {
namespace {

using device::grid::Card;
using device::grid::Roles;

using Result = int;
using Context = void*;
using Module = void*;
using Function = void*;
using Stream = void*;
using DevicePointer = unsigned long long;  // NOLINT: the library's own type.

constexpr Result kOutOfMemory = 2, kNotReady = 600;
constexpr unsigned kRegisterPortable = 1, kRegisterMapped = 2;
constexpr int kMultiprocessors = 16;  // A CUdevice_attribute.
constexpr int kMaxSharedBytes = 8;    // A CUfunction_attribute.
constexpr unsigned kNonBlocking = 1;

/// The functions of libcuda.so.1, by their exported names.
struct Library {
  Result (*init)(unsigned);
  Result (*device_get)(int*, int);
  Result (*device_count)(int*);
  Result (*device_name)(char*, int, int);
  Result (*device_attribute)(int*, int, int);
  Result (*retain)(Context*, int);
  Result (*release)(int);
  Result (*set_current)(Context);
  Result (*load)(Module*, const void*);
  Result (*function)(Function*, Module, const char*);
  Result (*function_attribute)(Function, int, int);
  Result (*launch)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   Stream, void**, void**);
  Result (*host_register)(void*, size_t, unsigned);
  Result (*host_unregister)(void*);
  Result (*device_pointer)(DevicePointer*, void*, unsigned);
  Result (*allocate)(DevicePointer*, size_t);
  Result (*free)(DevicePointer);
  Result (*set_bytes)(DevicePointer, unsigned char, size_t);
  Result (*to_card)(DevicePointer, const void*, size_t);
  Result (*to_host)(void*, DevicePointer, size_t);
  Result (*stream_create)(Stream*, unsigned);
  Result (*stream_synchronize)(Stream);
  Result (*stream_query)(Stream);
  Result (*error_name)(Result, const char**);

  /// Opens the library. If it does not exist or lacks a function, returns null and sets `error` to
  /// a one-line message.
  static const Library* Open(std::string* error) {
    // With lazy loading, a second kernel cannot be loaded while one is running.
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    void* const handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      errno = ENODEV;
      *error =
          "on=gpu: this host has no NVIDIA driver (libcuda.so.1 cannot be opened): omit on=gpu";
      return nullptr;
    }
    static Library library;
    bool complete = true;
    const auto find = [&](auto* function, const char* name) {
      void* const symbol = dlsym(handle, name);
      if (symbol == nullptr && complete) {
        *error = std::string("on=gpu: libcuda.so.1 has no ") + name + "; install a newer driver";
        errno = ENODEV;
        complete = false;
      }
      *function = reinterpret_cast<std::remove_reference_t<decltype(*function)>>(symbol);
    };
    find(&library.init, "cuInit");
    find(&library.device_get, "cuDeviceGet");
    find(&library.device_count, "cuDeviceGetCount");
    find(&library.device_name, "cuDeviceGetName");
    find(&library.device_attribute, "cuDeviceGetAttribute");
    find(&library.retain, "cuDevicePrimaryCtxRetain");
    find(&library.release, "cuDevicePrimaryCtxRelease_v2");
    find(&library.set_current, "cuCtxSetCurrent");
    find(&library.load, "cuModuleLoadData");
    find(&library.function, "cuModuleGetFunction");
    find(&library.function_attribute, "cuFuncSetAttribute");
    find(&library.launch, "cuLaunchKernel");
    find(&library.host_register, "cuMemHostRegister_v2");
    find(&library.host_unregister, "cuMemHostUnregister");
    find(&library.device_pointer, "cuMemHostGetDevicePointer_v2");
    find(&library.allocate, "cuMemAlloc_v2");
    find(&library.free, "cuMemFree_v2");
    find(&library.set_bytes, "cuMemsetD8_v2");
    find(&library.to_card, "cuMemcpyHtoD_v2");
    find(&library.to_host, "cuMemcpyDtoH_v2");
    find(&library.stream_create, "cuStreamCreate");
    find(&library.stream_synchronize, "cuStreamSynchronize");
    find(&library.stream_query, "cuStreamQuery");
    find(&library.error_name, "cuGetErrorName");
    return complete ? &library : nullptr;
  }

  std::string Name(Result result) const {
    const char* name = nullptr;
    if (error_name(result, &name) == 0 && name != nullptr) return name;
    return "error " + std::to_string(result);
  }
};

class GpuExecutor final : public Executor {
 public:
  explicit GpuExecutor(const Library& library) : cuda_(library) {}
  ~GpuExecutor() override {
    if (context_ == nullptr) return;
    Join();
    cuda_.set_current(context_);
    for (const DevicePointer memory : memory_) cuda_.free(memory);
    cuda_.release(device_);
    GpuShare::OfProcess().blocks.Return(device_, blocks_);
  }

  bool Open(uint32_t index, const GridProgram& program, const Roles& roles, std::string* error) {
    int count = 0;
    if (!Check(cuda_.init(0), "cuInit", error)) return false;
    if (!Check(cuda_.device_count(&count), "cuDeviceGetCount", error)) return false;
    if (index >= static_cast<uint32_t>(count)) {
      errno = ENODEV;
      *error = "on=gpu:index=" + std::to_string(index) + ": this host has " +
               std::to_string(count) + " GPU(s), numbered from 0: give one of these numbers";
      return false;
    }
    int processors = 0;
    char name[256] = "";
    if (!Check(cuda_.device_get(&device_, static_cast<int>(index)), "cuDeviceGet", error) ||
        !Check(cuda_.device_name(name, sizeof(name), device_), "cuDeviceGetName", error) ||
        !Check(cuda_.device_attribute(&processors, kMultiprocessors, device_),
               "cuDeviceGetAttribute", error) ||
        !Check(cuda_.retain(&context_, device_), "cuDevicePrimaryCtxRetain", error) ||
        !Check(cuda_.set_current(context_), "cuCtxSetCurrent", error)) {
      return false;
    }
    name_ = name;
    block_bytes_ = static_cast<unsigned>(program.block_bytes);
    const uint32_t blocks = device::grid::Blocks(roles);
    if (!GpuShare::OfProcess().blocks.Reserve(device_, blocks, static_cast<uint32_t>(processors),
                                              error)) {
      errno = EINVAL;
      return false;
    }
    blocks_ = blocks;
    return Check(cuda_.load(&module_, program.ptx), "cuModuleLoadData", error) &&
           Check(cuda_.function(&function_, module_, program.kernel), "cuModuleGetFunction",
                 error) &&
           Check(cuda_.function_attribute(function_, kMaxSharedBytes,
                                          static_cast<int>(program.block_bytes)),
                 "cuFuncSetAttribute", error) &&
           Check(cuda_.stream_create(&stream_, kNonBlocking), "cuStreamCreate", error);
  }

  void* Allocate(size_t bytes, std::string* error) override {
    DevicePointer memory = 0;
    if (!Current(error) || !Check(cuda_.allocate(&memory, bytes), "cuMemAlloc", error)) {
      return nullptr;
    }
    memory_.push_back(memory);
    if (!Check(cuda_.set_bytes(memory, 0, bytes), "cuMemsetD8", error)) return nullptr;
    return reinterpret_cast<void*>(memory);
  }
  bool Write(void* card, const void* host, size_t bytes) override {
    std::string error;
    return Current(&error) && cuda_.to_card(Pointer(card), host, bytes) == 0;
  }
  bool Read(void* host, const void* card, size_t bytes) override {
    std::string error;
    return Current(&error) && cuda_.to_host(host, Pointer(card), bytes) == 0;
  }

  bool Register(void* begin, size_t bytes, std::string* error) override {
    const auto pin = [this](void* at, size_t length, std::string* why) {
      return Pin(at, length, why);
    };
    const auto check = [this](void* at, std::string* why) { return IsMapped(at, why); };
    return GpuShare::OfProcess().memory.Acquire(begin, bytes, pin, check, error);
  }
  void Unregister(void* begin, size_t bytes) override {
    GpuShare::OfProcess().memory.Release(begin, bytes);
  }

  bool Start(Card* card, const Roles& roles, std::string* error) override {
    Roles copy = roles;
    void* arguments[] = {&card, &copy};
    if (!Current(error)) return false;
    started_ =
        Check(cuda_.launch(function_, device::grid::Blocks(roles), 1, 1, device::grid::kTeamThreads,
                           1, 1, block_bytes_, stream_, arguments, nullptr),
              "cuLaunchKernel", error);
    return started_;
  }
  void Join() override {
    std::string error;
    if (started_ && Current(&error)) cuda_.stream_synchronize(stream_);
    started_ = false;
  }
  bool Running() override {
    std::string error;
    return started_ && Current(&error) && cuda_.stream_query(stream_) == kNotReady;
  }
  std::string Describe() const override { return name_; }

 private:
  static DevicePointer Pointer(const void* at) { return reinterpret_cast<DevicePointer>(at); }

  bool Check(Result result, const char* call, std::string* error) const {
    if (result == 0) return true;
    *error = std::string("on=gpu: ") + call + " fails: " + cuda_.Name(result);
    errno = result == kOutOfMemory ? ENOMEM : ENODEV;
    return false;
  }
  /// Registers memory. The registration keeps the GPU's context alive, because executors of other
  /// NICs may use the memory after this one has been destroyed.
  PinnedMemory::Undo Pin(void* begin, size_t bytes, std::string* error) {
    Context context = nullptr;
    if (!Check(cuda_.retain(&context, device_), "cuDevicePrimaryCtxRetain", error)) return nullptr;
    if (!Current(error) ||
        !Check(cuda_.host_register(begin, bytes, kRegisterPortable | kRegisterMapped),
               "cuMemHostRegister", error)) {
      cuda_.release(device_);
      return nullptr;
    }
    return [&cuda = cuda_, context, device = device_, begin] {
      cuda.set_current(context);
      cuda.host_unregister(begin);
      cuda.release(device);
    };
  }
  /// Returns whether this GPU accesses registered memory at the same addresses as the host.
  bool IsMapped(void* begin, std::string* error) const {
    DevicePointer at = 0;
    if (!Current(error) ||
        !Check(cuda_.device_pointer(&at, begin, 0), "cuMemHostGetDevicePointer", error)) {
      return false;
    }
    if (at == Pointer(begin)) return true;
    *error = "on=gpu: the GPU maps host memory at different addresses than the host";
    return false;
  }
  /// Makes the context current on the calling thread, because several threads call this object.
  bool Current(std::string* error) const {
    return Check(cuda_.set_current(context_), "cuCtxSetCurrent", error);
  }

  const Library& cuda_;
  int device_ = 0;
  std::string name_;
  Context context_ = nullptr;
  Module module_ = nullptr;
  Function function_ = nullptr;
  Stream stream_ = nullptr;
  unsigned block_bytes_ = 0;
  uint32_t blocks_ = 0;  ///< Blocks that this executor has reserved in GpuBlocks.
  bool started_ = false;
  std::vector<DevicePointer> memory_;
};

}  // namespace

std::unique_ptr<Executor> MakeGpuExecutor(uint32_t index, const GridProgram& program,
                                          const Roles& roles, std::string* error) {
  if (program.ptx[0] == '\0') {
    *error =
        "on=gpu: this build has no code for GPUs, since it was made without clang: omit on=gpu";
    errno = EINVAL;
    return nullptr;
  }
  const Library* const library = Library::Open(error);
  if (library == nullptr) return nullptr;
  auto executor = std::make_unique<GpuExecutor>(*library);
  if (executor->Open(index, program, roles, error)) return executor;
  const int reason = errno;
  executor.reset();
  errno = reason;
  return nullptr;
}

}  // namespace sluice::emulator
