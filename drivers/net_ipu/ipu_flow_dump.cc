// SPDX-License-Identifier: BSD-3-Clause
//
// Prints rules as text for inspection of a running port (testpmd: flow dump).
#include <arpa/inet.h>
#include <rte_ether.h>

#include <cinttypes>

#include "net_ipu/ipu_flow_parse.h"

namespace sluice::net_ipu {

using namespace regs::ipu;  // NOLINT: this file speaks that register map

namespace {

void PrintEther(FILE* file, const char* which, const std::array<uint8_t, 8>& address) {
  std::fprintf(file, " %s " RTE_ETHER_ADDR_PRT_FMT, which, address[0], address[1], address[2],
               address[3], address[4], address[5]);
}

void PrintIp(FILE* file, const char* which, bool v6, const std::array<uint8_t, 16>& address) {
  char text[INET6_ADDRSTRLEN];
  inet_ntop(v6 ? AF_INET6 : AF_INET, address.data(), text, sizeof(text));
  std::fprintf(file, " %s %s", which, text);
}

}  // namespace

void DumpFlow(const rte_flow& flow, FILE* file) {
  const bool v6 = flow.protocol >> 8 == 6;
  const auto has = [&](uint32_t field) { return (flow.fields & field) != 0; };
  if (has(kFlowMatchEtherSource)) PrintEther(file, "ether source", flow.ether_source);
  if (has(kFlowMatchEtherDestination))
    PrintEther(file, "ether destination", flow.ether_destination);
  if (has(kFlowMatchTags)) std::fprintf(file, " tags %u", flow.shape >> kFlowShapeTagsShift & 3);
  if (has(kFlowMatchVlan)) std::fprintf(file, " vlan %u", flow.shape & kFlowShapeVlan);
  std::fprintf(file, " ipv%d", v6 ? 6 : 4);
  if (has(kFlowMatchFragment)) std::fprintf(file, " whole");
  if (has(kFlowMatchSource)) PrintIp(file, "source", v6, flow.source);
  if (has(kFlowMatchDestination)) PrintIp(file, "destination", v6, flow.destination);
  if (has(kFlowMatchProtocol)) std::fprintf(file, " protocol %u", flow.protocol & 0xff);
  if (has(kFlowMatchSourcePort)) std::fprintf(file, " source port %u", flow.ports >> 16);
  if (has(kFlowMatchDestinationPort)) {
    std::fprintf(file, " destination port %u", flow.ports & 0xffff);
  }
  if (flow.action & kFlowActionDrop) {
    std::fprintf(file, ": drop");
  } else if (flow.action & kFlowActionQueue) {
    std::fprintf(file, ": queue %u", flow.action & kFlowActionQueueMask);
  } else {
    std::fprintf(file, ": rss");
  }
  if (flow.action & kFlowActionMark) std::fprintf(file, ", mark %" PRIu32, flow.mark);
  if (flow.action & kFlowActionFlag) std::fprintf(file, ", flag");
  if (flow.count) std::fprintf(file, ", count");
  if (flow.age_s != 0) std::fprintf(file, ", age %" PRIu32 " s", flow.age_s);
  std::fprintf(file, "\n");
}

}  // namespace sluice::net_ipu
