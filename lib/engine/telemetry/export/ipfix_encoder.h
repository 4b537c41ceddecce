// SPDX-License-Identifier: BSD-3-Clause
//
// Reports as IPFIX over UDP (RFC 7011; limits by RFC 5477). Every KeySpec counts the same traffic
// once more, so that each is an observation domain of its own, with an encoder of its own: no
// collector adds up what is one. Pure; one thread.
//
// octetDeltaCount has the octets of IP packets. Frames are counted, not their headers: it is the
// frames' bytes less 14 for each packet, which is true of frames without tags and padding.
// layer2OctetDeltaCount has the bytes of frames as they were counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/telemetry/epoch_report.h"
#include "engine/telemetry/export/ipfix_message.h"
#include "engine/telemetry/export/ipfix_templates.h"

namespace sluice::engine::telemetry {

class IpfixEncoder {
 public:
  /// Enough room for any one record, so that an export ends.
  static constexpr size_t kLeastRoomBytes = kIpfixHeaderBytes + kIpfixSetHeaderBytes + 128;

  struct Options {
    uint32_t domain = 1;               ///< Observation domain of the key.
    uint32_t template_refresh_s = 10;  ///< Templates are repeated over UDP (RFC 7011, section 8.4).
    double confidence = 0.95;          ///< Setup::confidence.
    uint64_t clock_unix_ns = 0;        ///< Since 1970, at the 0 of the reports' clock.
  };

  explicit IpfixEncoder(const Options& options) : options_(options) {}

  /// Starts on what `report`, which stays until Next says that all is done, says of its key
  /// number `key`. What is left of a report before is not exported.
  void Begin(const EpochReport& report, size_t key, uint32_t export_time_s);

  /// The next message, in `room`, of kLeastRoomBytes at least; empty: that was all.
  std::span<const uint8_t> Next(std::span<uint8_t> room);

 private:
  /// A record that waits to be written.
  struct Item {
    IpfixSet set;  ///< Its own; of a template, that which it describes.
    bool is_template = false;
    uint32_t flow = 0;  ///< Of flows and limits: place among the heavy hitters.
    IpfixElement element = IpfixElement::kPacketDeltaCount;  ///< Of limits: what they are of.
  };

  IpfixRecord RecordOf(const Item& item) const;
  void Write(IpfixElement element, const Item& item, IpfixRecord* record) const;

  const Options options_;
  const EpochReport* report_ = nullptr;
  const KeyReport* key_ = nullptr;
  uint32_t export_time_s_ = 0;
  std::optional<uint32_t> templates_sent_s_;
  uint32_t sequence_ = 0;       ///< Data records in messages before.
  uint64_t first_flow_id_ = 0;  ///< Of this report.
  uint64_t next_flow_id_ = 1;
  std::vector<Item> items_;
  size_t next_item_ = 0;
};

}  // namespace sluice::engine::telemetry
