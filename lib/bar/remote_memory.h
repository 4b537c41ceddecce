// SPDX-License-Identifier: BSD-3-Clause
//
// Host memory that a device accesses only through messages. The device's thread sees a copy, which
// contains the requested bytes after they have arrived. A device with such memory in its DmaSpace
// requests bytes before it reads them, and reports completed reads and its writes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::bar {

/// Called by the device's thread; never blocks. Pointers must come from DmaSpace::Translate. Calls
/// for memory that is not remote have no effect.
class RemoteMemory {
 public:
  virtual ~RemoteMemory() = default;

  /// Returns the number of bytes that may be read at `at`, out of `bytes`: at least `least`, or 0.
  /// They show the host's memory as it was at some time since the first request. If 0 is returned,
  /// the bytes have been requested, and the device must call again in its next step.
  virtual size_t Ready(const void* at, size_t bytes, size_t least) = 0;
  bool Ready(const void* at, size_t bytes) { return Ready(at, bytes, bytes) != 0; }
  /// Reports that the device has used the bytes that Ready made available. The next Ready requests
  /// them again.
  virtual void Done(const void* at) = 0;
  /// Discards all requested bytes, because the meaning of the memory has changed.
  virtual void Forget() = 0;
  /// Reports that the device has written these bytes. The host sees the writes in the order in
  /// which they are reported.
  virtual void Stored(const void* at, size_t bytes) = 0;
  /// Returns true if the device must not write more for now, because too many bytes are in flight
  /// to the host.
  virtual bool congested() const = 0;
  /// Returns whether the memory at `at` is remote: stores by one side are not immediately visible
  /// to the other.
  virtual bool Holds(const void* at) const = 0;
};

}  // namespace sluice::bar
