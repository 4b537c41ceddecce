// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/export/ipfix_encoder.h"

#include <algorithm>
#include <cmath>

#include "packet/ethernet.h"

namespace sluice::engine::telemetry {

namespace {

using enum IpfixElement;

/// Rounds to the nearest uint64_t. NaN, which should not occur in estimates, becomes 0.
uint64_t Count(double value) {
  if (!(value > 0)) return 0;
  return value >= 0x1p64 ? UINT64_MAX : static_cast<uint64_t>(std::round(value));
}

const Estimate& Limited(const FlowRecord& flow, IpfixElement element) {
  return element == kPacketDeltaCount ? flow.packets : flow.bytes;
}

}  // namespace

void IpfixEncoder::Begin(const EpochReport& report, size_t key, uint32_t export_time_s) {
  report_ = &report;
  key_ = &report.keys[key];
  export_time_s_ = export_time_s;
  items_.clear();
  next_item_ = 0;
  // The unsigned difference is also large if the clock was set back.
  if (!templates_sent_s_ || export_time_s - *templates_sent_s_ >= options_.template_refresh_s) {
    templates_sent_s_ = export_time_s;
    for (const IpfixSet set :
         {IpfixSet::kIpv4Flows, IpfixSet::kIpv6Flows, IpfixSet::kLimits, IpfixSet::kTotals}) {
      items_.push_back({.set = set, .is_template = true});
    }
  }
  items_.push_back({.set = IpfixSet::kTotals});
  const std::vector<FlowRecord>& flows = key_->heavy_hitters;
  first_flow_id_ = next_flow_id_;
  next_flow_id_ += flows.size();
  for (const uint8_t ip_version : {uint8_t{4}, uint8_t{6}}) {
    for (uint32_t i = 0; i < flows.size(); ++i) {
      if (flows[i].key.ip_version != ip_version) continue;
      items_.push_back(
          {.set = ip_version == 4 ? IpfixSet::kIpv4Flows : IpfixSet::kIpv6Flows, .flow = i});
    }
  }
  for (uint32_t i = 0; i < flows.size(); ++i) {
    for (const IpfixElement element : {kPacketDeltaCount, kLayer2OctetDeltaCount}) {
      if (!(Limited(flows[i], element).bound > 0)) continue;  // Exact.
      items_.push_back({.set = IpfixSet::kLimits, .flow = i, .element = element});
    }
  }
}

std::span<const uint8_t> IpfixEncoder::Next(std::span<uint8_t> room) {
  if (room.size() < kLeastRoomBytes) return {};
  IpfixMessage message(room);
  uint32_t data_records = 0;
  for (; next_item_ < items_.size(); ++next_item_) {
    const Item& item = items_[next_item_];
    IpfixSet set = item.set;
    if (item.is_template) {
      set = IpfixScopeFields(item.set) == 0 ? IpfixSet::kTemplates : IpfixSet::kOptionsTemplates;
    }
    if (!message.Add(static_cast<uint16_t>(set), RecordOf(item).bytes())) break;
    data_records += item.is_template ? 0 : 1;
  }
  const auto bytes = message.Finish(export_time_s_, sequence_, options_.domain);
  sequence_ += data_records;
  return bytes;
}

IpfixRecord IpfixEncoder::RecordOf(const Item& item) const {
  if (item.is_template) return IpfixTemplateRecord(item.set, key_->spec);
  IpfixRecord record;
  for (const IpfixField& field : IpfixFields(item.set, key_->spec)) {
    Write(field.element, item, &record);
  }
  return record;
}

void IpfixEncoder::Write(IpfixElement element, const Item& item, IpfixRecord* record) const {
  const bool totals = item.set == IpfixSet::kTotals;
  static constexpr FlowRecord kNoFlow{};
  const FlowRecord& flow = totals ? kNoFlow : key_->heavy_hitters[item.flow];
  const Estimate& limited = Limited(flow, item.element);
  switch (element) {
    case kSourceIpv4Address:
    case kSourceIpv4Prefix:
      return record->Put(flow.key.source.data(), 4);
    case kSourceIpv6Address:
    case kSourceIpv6Prefix:
      return record->Put(flow.key.source.data(), 16);
    case kDestinationIpv4Address:
    case kDestinationIpv4Prefix:
      return record->Put(flow.key.destination.data(), 4);
    case kDestinationIpv6Address:
    case kDestinationIpv6Prefix:
      return record->Put(flow.key.destination.data(), 16);
    case kSourceIpv4PrefixLength:
    case kDestinationIpv4PrefixLength:
      return record->U8(key_->spec.ipv4_bits);
    case kSourceIpv6PrefixLength:
    case kDestinationIpv6PrefixLength:
      return record->U8(key_->spec.ipv6_bits);
    case kSourceTransportPort:
      return record->U16(flow.key.source_port);
    case kDestinationTransportPort:
      return record->U16(flow.key.destination_port);
    case kProtocolIdentifier:
      return record->U8(flow.key.protocol);
    case kFlowId:
      return record->U64(first_flow_id_ + item.flow);
    case kObservationDomainId:
      return record->U32(options_.domain);
    case kFlowStartMilliseconds:
      return record->U64((options_.clock_unix_ns + report_->start_ns) / 1'000'000);
    case kFlowEndMilliseconds:
      return record->U64((options_.clock_unix_ns + report_->end_ns) / 1'000'000);
    case kPacketDeltaCount:
      return record->U64(totals ? report_->total.pkts : Count(flow.packets.value));
    case kLayer2OctetDeltaCount:
      return record->U64(totals ? report_->total.bytes : Count(flow.bytes.value));
    case kOctetDeltaCount:
      return record->U64(
          Count(flow.bytes.value - packet::kEthernetHeaderBytes * flow.packets.value));
    case kInformationElementId:
      return record->U16(static_cast<uint16_t>(item.element));
    case kLowerCiLimit:
      return record->F64(std::max(0.0, limited.value - limited.bound));
    case kUpperCiLimit:
      return record->F64(limited.value + limited.bound);
    case kConfidenceLevel:
      return record->F64(options_.confidence);
  }
}

}  // namespace sluice::engine::telemetry
