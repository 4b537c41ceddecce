// SPDX-License-Identifier: BSD-3-Clause
//
// Interface for assigning cores to processes. The dispatcher calls it; the program that contains
// the device implements it with the operating system's policy.
#pragma once

#include <cstdint>
#include <optional>

namespace sluice::device::rpc {

/// A service process's number in the device; less than kMaxProcesses.
using ProcessId = uint16_t;
/// Number of a core that can run services; less than kMaxCores.
using CoreId = uint16_t;

inline constexpr uint32_t kMaxProcesses = 64;
inline constexpr uint32_t kMaxCores = 32;

/// A policy that assigns cores to processes. Used by one thread. Not consulted for calls whose
/// process has a waiting core, so the common case does not call it. All times are on the device's
/// clock.
class Placement {
 public:
  virtual ~Placement() = default;

  /// Reports that `process` has calls that none of its cores will run soon: it wants one more core.
  /// Not repeated until Next has returned the process or Withdraw has been called. `preempted`
  /// means that the process lost its last core to preemption, not because the core was idle.
  virtual void Wants(ProcessId process, bool preempted, uint64_t now_ns) = 0;
  /// Reports that the process no longer wants a core.
  virtual void Withdraw(ProcessId process) = 0;
  /// Returns the process that gets the free `core`, or nullopt if no process that wants a core may
  /// have this one. From then on, the process owns the core.
  virtual std::optional<ProcessId> Next(CoreId core, uint64_t now_ns) = 0;
  /// Returns whether the process on `core` should yield to one that wants a core.
  virtual bool Preempts(CoreId core, uint64_t now_ns) = 0;
  /// Reports that the process has left `core`. Called once for each process that Next returned.
  virtual void Left(CoreId core, uint64_t now_ns) = 0;
};

}  // namespace sluice::device::rpc
