// SPDX-License-Identifier: BSD-3-Clause
//
// What the device asks of the operating system beside answering loads, and what it can tell about
// a call that has ended.
#pragma once

#include <cstdint>
#include <optional>

#include "device/rpc/placement.h"

namespace sluice::device::rpc {

/// How a call came to its process.
enum class Path : uint8_t {
  kDirect,    ///< A core waited in the process.
  kQueued,    ///< It waited until a core of the process was done.
  kSwitched,  ///< A core was switched to the process.
};

/// A call from its first byte to its last; nanoseconds of the device's clock.
struct CallTrace {
  uint32_t xid = 0;
  ProcessId process = 0;
  CoreId core = 0;
  Path path = Path::kDirect;
  bool buffer = false;          ///< Its arguments went through a buffer, not through lines.
  uint64_t code = 0;            ///< Where the host jumped to.
  uint32_t argument_bytes = 0;  ///< As the host found them.
  uint32_t result_bytes = 0;    ///< As the host left them.
  uint64_t arrived_ns = 0;
  uint64_t delivered_ns = 0;
  uint64_t answered_ns = 0;
};

/// Called by the device's thread. Nothing here calls the device back.
class HostPort {
 public:
  virtual ~HostPort() = default;

  /// A signal for the process that runs on `core`: it is to end its handler.
  virtual void Interrupt(CoreId core, ProcessId process) = 0;
  /// The process is to be ended; RpcNic::Gone follows when it is.
  virtual void Kill(ProcessId process) = 0;
  /// The kernel of a retired core is to load again.
  virtual void Wake(CoreId core) = 0;
  /// Dispatcher::Starved. Nothing: the device's time is not that of the host's CPUs.
  virtual std::optional<uint64_t> Starved(CoreId /*core*/, ProcessId /*process*/) { return {}; }
  /// A call was answered. Only if RpcNicConfig::traces.
  virtual void Answered(const CallTrace& trace) = 0;
};

}  // namespace sluice::device::rpc
