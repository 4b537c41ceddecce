// SPDX-License-Identifier: BSD-3-Clause
//
// The device's interface to the operating system: requests, and traces of answered calls. The
// device answers loads in the endpoints' memory, without this interface.
#pragma once

#include <cstdint>
#include <optional>

#include "device/rpc/placement.h"

namespace sluice::device::rpc {

/// The way in which a call reached its process.
enum class Path : uint8_t {
  kDirect,    ///< A core was waiting in the process.
  kQueued,    ///< The call waited until a core of the process was free.
  kSwitched,  ///< A core was switched to the process.
};

/// Trace of a call. Times are in nanoseconds on the device's clock.
struct CallTrace {
  uint32_t xid = 0;
  ProcessId process = 0;
  CoreId core = 0;
  Path path = Path::kDirect;
  bool buffer = false;          ///< The arguments were in a buffer instead of in lines.
  uint64_t code = 0;            ///< Address of the procedure.
  uint32_t argument_bytes = 0;  ///< Bytes of the unmarshalled arguments.
  uint32_t result_bytes = 0;    ///< Bytes of the results before marshalling.
  uint64_t arrived_ns = 0;
  uint64_t delivered_ns = 0;
  uint64_t answered_ns = 0;
};

/// Called by the device's thread. Implementations must not call the device.
class HostPort {
 public:
  virtual ~HostPort() = default;

  /// Signals the process that is running on `core` to end its handler.
  virtual void Interrupt(CoreId core, ProcessId process) = 0;
  /// Requests that the process be killed; RpcNic::Gone must follow.
  virtual void Kill(ProcessId process) = 0;
  /// Requests that the kernel on a retired core loads its endpoint again.
  virtual void Wake(CoreId core) = 0;
  /// See Dispatcher::Starved. Returns nullopt if the device's clock is unrelated to the clock of
  /// the host's CPUs.
  virtual std::optional<uint64_t> Starved(CoreId /*core*/, ProcessId /*process*/) { return {}; }
  /// Reports an answered call. Called only if RpcNicConfig::traces is set.
  virtual void Answered(const CallTrace& trace) = 0;
};

}  // namespace sluice::device::rpc
