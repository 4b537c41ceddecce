// SPDX-License-Identifier: BSD-3-Clause
//
// Reports to an IPFIX collector, over UDP of the kernel's. One thread; never waits for anybody.
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
  /// What was sent, and what the kernel did not take: no route, no room, nobody there.
  struct Counters {
    uint64_t messages = 0;
    uint64_t failed = 0;
  };

  /// Whether `where` is ADDRESS:PORT, an IPv6 address in brackets.
  static bool IsAddress(const std::string& where);
  /// What to give instead, for who gave something else.
  static constexpr char kAddressFix[] =
      "give ADDRESS:PORT, an IPv6 address in brackets; IANA's port is 4739";

  /// `where` is ADDRESS:PORT, an IPv6 address in brackets; `first` of the first of `keys` keys,
  /// each of which has an observation domain of its own. Null, with one line in `error`, if it
  /// is none of that or there is no way to it.
  static std::unique_ptr<IpfixSender> Open(const std::string& where,
                                           const engine::telemetry::IpfixEncoder::Options& first,
                                           size_t keys, std::string* error);
  ~IpfixSender();
  IpfixSender(const IpfixSender&) = delete;
  IpfixSender& operator=(const IpfixSender&) = delete;

  void Send(const engine::telemetry::EpochReport& report, uint64_t unix_ns);
  const Counters& counters() const { return counters_; }
  /// Largest UDP payload that is sent in one piece.
  size_t message_bytes() const { return room_.size(); }

 private:
  explicit IpfixSender(int socket) : socket_(socket) {}
  void SendMessage(std::span<const uint8_t> message);

  int socket_;
  std::vector<uint8_t> room_;
  std::vector<engine::telemetry::IpfixEncoder> encoders_;  ///< Of each key.
  Counters counters_;
};

}  // namespace sluice::telemetry
