// SPDX-License-Identifier: BSD-3-Clause
//
// Host memory that a device reaches by messages alone: what its thread sees of it is a copy, which
// holds what was asked for and has arrived. A device whose DmaSpace has such memory asks before it
// reads, says when it has read, and says what it wrote.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::bar {

/// Called by the device's thread; never waits. Pointers are what DmaSpace::Translate returned; for
/// memory that is not remote there is nothing to do, and nothing is done.
class RemoteMemory {
 public:
  virtual ~RemoteMemory() = default;

  /// How many of the `bytes` at `at` may be read, `least` or more: they are as the host had them at
  /// some time since this was first asked for. 0: they are on their way; to be asked again, at the
  /// next step.
  virtual size_t Ready(const void* at, size_t bytes, size_t least) = 0;
  bool Ready(const void* at, size_t bytes) { return Ready(at, bytes, bytes) != 0; }
  /// What Ready said of these bytes was used: the next question asks the host again.
  virtual void Done(const void* at) = 0;
  /// The same of all that was ever asked for: what a place means has changed.
  virtual void Forget() = 0;
  /// The device has written these bytes. The host sees what is told here in this order.
  virtual void Stored(const void* at, size_t bytes) = 0;
  /// So much is on its way to the host that no more may be written.
  virtual bool congested() const = 0;
  /// Whether the host does not see a store, nor the device one of the host's, as they are made.
  virtual bool Holds(const void* at) const = 0;
};

}  // namespace sluice::bar
