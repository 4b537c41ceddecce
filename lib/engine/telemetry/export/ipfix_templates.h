// SPDX-License-Identifier: BSD-3-Clause
//
// What the records of an export consist of: information elements of IANA's registry "IP Flow
// Information Export (IPFIX) Entities", in templates. Everything about one KeySpec.
//
// Bounds are confidence limits (RFC 5477, section 8.6), which stand in options records scoped to
// what they are of. The probability of sampling is not announced: counts are estimates of all
// packets already, and a collector that knew it would multiply them again.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/telemetry/export/ipfix_message.h"
#include "engine/telemetry/key_spec.h"

namespace sluice::engine::telemetry {

/// Numbers of information elements.
enum class IpfixElement : uint16_t {
  kOctetDeltaCount = 1,
  kPacketDeltaCount = 2,
  kProtocolIdentifier = 4,
  kSourceTransportPort = 7,
  kSourceIpv4Address = 8,
  kSourceIpv4PrefixLength = 9,
  kDestinationTransportPort = 11,
  kDestinationIpv4Address = 12,
  kDestinationIpv4PrefixLength = 13,
  kSourceIpv6Address = 27,
  kDestinationIpv6Address = 28,
  kSourceIpv6PrefixLength = 29,
  kDestinationIpv6PrefixLength = 30,
  kSourceIpv4Prefix = 44,
  kDestinationIpv4Prefix = 45,
  kFlowId = 148,
  kObservationDomainId = 149,
  kFlowStartMilliseconds = 152,
  kFlowEndMilliseconds = 153,
  kDestinationIpv6Prefix = 169,
  kSourceIpv6Prefix = 170,
  kInformationElementId = 303,
  kUpperCiLimit = 336,
  kLowerCiLimit = 337,
  kConfidenceLevel = 338,
  kLayer2OctetDeltaCount = 352,
};

/// Sets (RFC 7011, section 3.3.2) and templates of an observation domain.
enum class IpfixSet : uint16_t {
  kTemplates = 2,
  kOptionsTemplates = 3,
  kIpv4Flows = 256,
  kIpv6Flows = 257,
  kLimits = 258,  ///< Of a number of a flow record, which flowId and informationElementId name.
  kTotals = 259,  ///< Of the observation domain: all traffic of an epoch.
};

/// A field of a template.
struct IpfixField {
  IpfixElement element;
  uint16_t bytes;
};

/// The fields of `set`, one of the data sets, for flows of `spec`.
std::vector<IpfixField> IpfixFields(IpfixSet set, const KeySpec& spec);

/// How many of them, the first, are a scope; 0: the template is none of options.
uint16_t IpfixScopeFields(IpfixSet set);

/// The template record of `set`, which belongs into kTemplates or kOptionsTemplates.
IpfixRecord IpfixTemplateRecord(IpfixSet set, const KeySpec& spec);

}  // namespace sluice::engine::telemetry
