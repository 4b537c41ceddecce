// SPDX-License-Identifier: BSD-3-Clause
//
// Interface for the assignment of cores to processes. The dispatcher calls it; the program that
// contains the device implements it with a policy of the operating system.
#pragma once

#include <cstdint>
#include <optional>

namespace sluice::device::rpc {

/// Number of a service's process in the device; less than kMaxProcesses.
using ProcessId = uint16_t;
/// Number of a core that may run services; less than kMaxCores.
using CoreId = uint16_t;

inline constexpr uint32_t kMaxProcesses = 64;
inline constexpr uint32_t kMaxCores = 32;

/// A policy that assigns cores to processes. Used by one thread. Not consulted for calls whose
/// process has a waiting core, and thus not per call in the common case. All times are the
/// device's.
class Placement {
 public:
  virtual ~Placement() = default;

  /// Reports that `process` has calls that none of its cores will run soon: it wants one more core.
  /// Not repeated until Next has returned the process or Withdraw was called. `preempted` means
  /// that the process lost its last core to preemption, not because the core was idle.
  virtual void Wants(ProcessId process, bool preempted, uint64_t now_ns) = 0;
  /// Reports that the process no longer wants a core.
  virtual void Withdraw(ProcessId process) = 0;
  /// Returns the process that gets the free `core`, or nullopt if no process that wants a core may
  /// have it. The process owns the core from then on.
  virtual std::optional<ProcessId> Next(CoreId core, uint64_t now_ns) = 0;
  /// Returns whether the process on `core` should yield to one that wants a core.
  virtual bool Preempts(CoreId core, uint64_t now_ns) = 0;
  /// Reports that the process has left `core`. Called once for each process that Next returned.
  virtual void Left(CoreId core, uint64_t now_ns) = 0;
};

}  // namespace sluice::device::rpc
