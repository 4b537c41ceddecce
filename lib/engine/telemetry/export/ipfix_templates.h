// SPDX-License-Identifier: BSD-3-Clause
//
// Templates of the exported records, with information elements from IANA's registry "IP Flow
// Information Export (IPFIX) Entities". Each record is about one KeySpec.
//
// Bounds are confidence limits (RFC 5477, section 8.6), in options records whose scope is the
// bounded value. The sampling probability is not exported: counts are already estimates of all
// packets, and a collector would scale them again.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/telemetry/export/ipfix_message.h"
#include "engine/telemetry/key_spec.h"

namespace sluice::engine::telemetry {

/// Identifiers of information elements.
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

/// Set IDs (RFC 7011, section 3.3.2) and template IDs of an observation domain.
enum class IpfixSet : uint16_t {
  kTemplates = 2,
  kOptionsTemplates = 3,
  kIpv4Flows = 256,
  kIpv6Flows = 257,
  /// Limits of a number in a flow record, identified by flowId and informationElementId.
  kLimits = 258,
  kTotals = 259,  ///< All traffic of an epoch in the observation domain.
};

/// A field of a template.
struct IpfixField {
  IpfixElement element;
  uint16_t bytes;
};

/// Returns the fields of the data set `set`, for flows of `spec`.
std::vector<IpfixField> IpfixFields(IpfixSet set, const KeySpec& spec);

/// Returns the number of leading fields that are the scope; 0 if the template is not an options
/// template.
uint16_t IpfixScopeFields(IpfixSet set);

/// Returns the template record of `set`, to be added to kTemplates or kOptionsTemplates.
IpfixRecord IpfixTemplateRecord(IpfixSet set, const KeySpec& spec);

}  // namespace sluice::engine::telemetry
