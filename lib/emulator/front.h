// SPDX-License-Identifier: BSD-3-Clause
//
// Serves a model to hosts in other processes, one at a time, either through the device's socket
// (server.h) or as a bus (vfio_user/bus_server.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace sluice::emulator {

/// A server of one model. Used by one thread. The destructor disconnects the host.
class Front {
 public:
  virtual ~Front() = default;

  /// Serves until `wake` is readable, for at most `patience`.
  void Serve(int wake, std::chrono::milliseconds patience) {
    using std::chrono::steady_clock;
    const auto end = steady_clock::now() + patience;
    for (auto now = steady_clock::now(); now < end; now = steady_clock::now()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - now);
      if (!Turn(wake, left)) return;
    }
  }
  /// Handles pending input from hosts, or waits up to `patience` for the first input. Returns false
  /// if `wake` is readable.
  virtual bool Turn(int wake, std::chrono::milliseconds patience) = 0;
  /// Ends the connection with the host and resets the device to its power-on state.
  virtual void Reset() = 0;

  /// Returns a display name for the attached host; empty if there is none.
  virtual std::string Attached() const = 0;
  virtual uint64_t hosts() const = 0;  ///< Returns the number of connections that have become
                                       ///< hosts.
};

}  // namespace sluice::emulator
