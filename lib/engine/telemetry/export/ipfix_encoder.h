// SPDX-License-Identifier: BSD-3-Clause
//
// Encodes reports as IPFIX over UDP (RFC 7011; limits as in RFC 5477). Every KeySpec counts the
// same traffic. Therefore each KeySpec is a separate observation domain with a separate encoder, so
// that collectors do not add up the counts of different KeySpecs. Pure; used by one thread.
//
// octetDeltaCount is the number of octets in IP packets. Frames are counted without parsing their
// headers, so it is computed as the frames' bytes minus 14 per packet, which is exact for frames
// without tags and padding. layer2OctetDeltaCount is the number of bytes in frames.
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
  /// Minimum size of the buffer for a message. Any single record fits into such a buffer, so an
  /// export always terminates.
  static constexpr size_t kLeastRoomBytes = kIpfixHeaderBytes + kIpfixSetHeaderBytes + 128;

  struct Options {
    uint32_t domain = 1;               ///< Observation domain of the key.
    uint32_t template_refresh_s = 10;  ///< Seconds between templates (RFC 7011, section 8.4).
    double confidence = 0.95;          ///< Equals Setup::confidence.
    uint64_t clock_unix_ns = 0;  ///< Time at which the reports' clock was 0, in ns since 1970.
  };

  explicit IpfixEncoder(const Options& options) : options_(options) {}

  /// Begins the export of key number `key` of `report`, which must stay valid until Next returns an
  /// empty span. Discards the rest of an earlier report.
  void Begin(const EpochReport& report, size_t key, uint32_t export_time_s);

  /// Returns the next message, written to `room`, which must have at least kLeastRoomBytes; empty
  /// at the end.
  std::span<const uint8_t> Next(std::span<uint8_t> room);

 private:
  /// A record to be written.
  struct Item {
    IpfixSet set;  ///< The record's set; for a template, the set that it describes.
    bool is_template = false;
    uint32_t flow = 0;  ///< Flows and limits: index of the heavy hitter.
    /// Limits: the element that is limited.
    IpfixElement element = IpfixElement::kPacketDeltaCount;
  };

  IpfixRecord RecordOf(const Item& item) const;
  void Write(IpfixElement element, const Item& item, IpfixRecord* record) const;

  const Options options_;
  const EpochReport* report_ = nullptr;
  const KeyReport* key_ = nullptr;
  uint32_t export_time_s_ = 0;
  std::optional<uint32_t> templates_sent_s_;
  uint32_t sequence_ = 0;       ///< Data records in earlier messages.
  uint64_t first_flow_id_ = 0;  ///< First flowId of this report.
  uint64_t next_flow_id_ = 1;
  std::vector<Item> items_;
  size_t next_item_ = 0;
};

}  // namespace sluice::engine::telemetry
