// SPDX-License-Identifier: BSD-3-Clause
//
// Sends reports to an IPFIX collector over a kernel UDP socket. Used by one thread; never blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/telemetry/epoch_report.h"
#include "engine/telemetry/export/ipfix_encoder.h"

namespace sluice::telemetry {

class IpfixSender {
 public:
  /// Sent messages, and messages that failed: no route, a full buffer, or no listener.
  struct Counters {
    uint64_t messages = 0;
    uint64_t failed = 0;
  };

  /// Returns whether `where` is ADDRESS:PORT, with an IPv6 address in brackets.
  static bool IsAddress(const std::string& where);
  /// The fix that is reported if IsAddress returns false.
  static constexpr char kAddressFix[] =
      "give ADDRESS:PORT, an IPv6 address in brackets; IANA's port is 4739";

  /// `where`: ADDRESS:PORT, with an IPv6 address in brackets. `first`: options of the first of
  /// `keys` keys; each key has a separate observation domain. Returns null and sets `error` if the
  /// address is invalid or unreachable.
  static std::unique_ptr<IpfixSender> Open(const std::string& where,
                                           const engine::telemetry::IpfixEncoder::Options& first,
                                           size_t keys, std::string* error);
  ~IpfixSender();
  IpfixSender(const IpfixSender&) = delete;
  IpfixSender& operator=(const IpfixSender&) = delete;

  void Send(const engine::telemetry::EpochReport& report, uint64_t unix_ns);
  const Counters& counters() const { return counters_; }
  /// Returns the maximum size of a message in bytes, which depends on the path's MTU.
  size_t message_bytes() const { return room_.size(); }

 private:
  explicit IpfixSender(int socket) : socket_(socket) {}
  void SendMessage(std::span<const uint8_t> message);

  int socket_;
  std::vector<uint8_t> room_;
  std::vector<engine::telemetry::IpfixEncoder> encoders_;  ///< Indexed by key.
  Counters counters_;
};

}  // namespace sluice::telemetry
