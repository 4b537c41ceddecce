// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/export/ipfix_templates.h"

namespace sluice::engine::telemetry {

namespace {

using enum IpfixElement;

std::vector<IpfixField> KeyFields(const KeySpec& spec, bool ipv6) {
  const uint16_t bytes = ipv6 ? 16 : 4;
  const bool whole = ipv6 ? spec.ipv6_bits == 128 : spec.ipv4_bits == 32;
  const IpfixField source{ipv6 ? kSourceIpv6Address : kSourceIpv4Address, bytes};
  const IpfixField destination{ipv6 ? kDestinationIpv6Address : kDestinationIpv4Address, bytes};
  switch (spec.kind) {
    case KeyKind::kFiveTuple:
      return {source,
              destination,
              {kSourceTransportPort, 2},
              {kDestinationTransportPort, 2},
              {kProtocolIdentifier, 1}};
    case KeyKind::kSource:
      if (whole) return {source};
      return {{ipv6 ? kSourceIpv6Prefix : kSourceIpv4Prefix, bytes},
              {ipv6 ? kSourceIpv6PrefixLength : kSourceIpv4PrefixLength, 1}};
    case KeyKind::kDestination:
      if (whole) return {destination};
      return {{ipv6 ? kDestinationIpv6Prefix : kDestinationIpv4Prefix, bytes},
              {ipv6 ? kDestinationIpv6PrefixLength : kDestinationIpv4PrefixLength, 1}};
  }
  return {};
}

}  // namespace

std::vector<IpfixField> IpfixFields(IpfixSet set, const KeySpec& spec) {
  if (set == IpfixSet::kLimits) {
    return {{kFlowId, 8},
            {kInformationElementId, 2},
            {kLowerCiLimit, 8},
            {kUpperCiLimit, 8},
            {kConfidenceLevel, 8}};
  }
  if (set == IpfixSet::kTotals) {
    return {{kObservationDomainId, 4},
            {kFlowStartMilliseconds, 8},
            {kFlowEndMilliseconds, 8},
            {kPacketDeltaCount, 8},
            {kLayer2OctetDeltaCount, 8}};
  }
  std::vector<IpfixField> fields = KeyFields(spec, set == IpfixSet::kIpv6Flows);
  fields.insert(fields.end(), {{kFlowId, 8},
                               {kPacketDeltaCount, 8},
                               {kOctetDeltaCount, 8},
                               {kLayer2OctetDeltaCount, 8},
                               {kFlowStartMilliseconds, 8},
                               {kFlowEndMilliseconds, 8}});
  return fields;
}

uint16_t IpfixScopeFields(IpfixSet set) {
  switch (set) {
    case IpfixSet::kLimits:
      return 2;
    case IpfixSet::kTotals:
      return 1;
    default:
      return 0;
  }
}

IpfixRecord IpfixTemplateRecord(IpfixSet set, const KeySpec& spec) {
  const std::vector<IpfixField> fields = IpfixFields(set, spec);
  IpfixRecord record;
  record.U16(static_cast<uint16_t>(set));
  record.U16(static_cast<uint16_t>(fields.size()));
  if (const uint16_t scope = IpfixScopeFields(set); scope != 0) record.U16(scope);
  for (const IpfixField& field : fields) {
    record.U16(static_cast<uint16_t>(field.element));
    record.U16(field.bytes);
  }
  return record;
}

}  // namespace sluice::engine::telemetry
