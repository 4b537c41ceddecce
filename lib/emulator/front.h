// SPDX-License-Identifier: BSD-3-Clause
//
// What serves a model to hosts in other processes, one at a time: the device's own socket
// (server.h), or a bus (vfio_user/bus_server.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace sluice::emulator {

/// Used by one thread. Destruction disconnects the host.
class Front {
 public:
  virtual ~Front() = default;

  /// Serves until `wake` is readable, or for `patience`.
  void Serve(int wake, std::chrono::milliseconds patience) {
    using std::chrono::steady_clock;
    const auto end = steady_clock::now() + patience;
    for (auto now = steady_clock::now(); now < end; now = steady_clock::now()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - now);
      if (!Turn(wake, left)) return;
    }
  }
  /// Handles what hosts have to say by now, or the first that they say within `patience`.
  /// False if `wake` is readable.
  virtual bool Turn(int wake, std::chrono::milliseconds patience) = 0;
  /// Ends the connection with the host; the device is in its power-on state.
  virtual void Reset() = 0;

  /// Who is attached, for people; empty: nobody.
  virtual std::string Attached() const = 0;
  virtual uint64_t hosts() const = 0;  ///< Connections that became hosts.
};

}  // namespace sluice::emulator
