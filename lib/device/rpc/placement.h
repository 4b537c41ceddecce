// SPDX-License-Identifier: BSD-3-Clause
//
// Who gets which core: the question that the dispatcher asks. Whoever composes a device answers
// it, with a policy of the operating system's; the device knows none.
#pragma once

#include <cstdint>
#include <optional>

namespace sluice::device::rpc {

/// A service's process, as the device numbers them: below kMaxProcesses.
using ProcessId = uint16_t;
/// A core that may run services: below kMaxCores.
using CoreId = uint16_t;

inline constexpr uint32_t kMaxProcesses = 64;
inline constexpr uint32_t kMaxCores = 32;

/// One thread. Not asked for calls that find a core of their process waiting, so never per call in
/// the common case. All times are the device's.
class Placement {
 public:
  virtual ~Placement() = default;

  /// `process` has calls that no core of its own will take soon: it wants a core, or one more.
  /// Not again before Next has named it, or Withdraw. `preempted`: it lost its last core to
  /// another, rather than having gone idle.
  virtual void Wants(ProcessId process, bool preempted, uint64_t now_ns) = 0;
  /// It no longer wants one.
  virtual void Withdraw(ProcessId process) = 0;
  /// Who should have `core`, which is free; nobody, if none of those that want one may. The
  /// process has the core from now on.
  virtual std::optional<ProcessId> Next(CoreId core, uint64_t now_ns) = 0;
  /// Whether the process that has `core` should make way for one that wants a core.
  virtual bool Preempts(CoreId core, uint64_t now_ns) = 0;
  /// The process that had `core` is off it. Once for each answer of Next.
  virtual void Left(CoreId core, uint64_t now_ns) = 0;
};

}  // namespace sluice::device::rpc
