// SPDX-License-Identifier: BSD-3-Clause
//
// Information from the device: supported packet types, version, and a register dump.
#include <rte_dev_info.h>
#include <rte_mbuf_ptype.h>

#include <cerrno>
#include <cstdio>

#include "net_ipu/ipu_adapter.h"

namespace sluice::net_ipu {

using namespace regs::ipu;  // NOLINT: this file speaks that register map

namespace {

/// Layout of a dump: the port page up to the end of the statistics, then for every queue pair the
/// registers of its RX ring and of its TX ring, kRingBase to kRingTail.
constexpr uint32_t kPortWords = StatisticRegister(kStatisticCount) / 4;
constexpr uint32_t kRingWords = kRingTail / 4 + 1;

}  // namespace

const uint32_t* SupportedPacketTypes(rte_eth_dev*) {
  static constexpr uint32_t kTypes[] = {
      RTE_PTYPE_L2_ETHER, RTE_PTYPE_L2_ETHER_ARP, RTE_PTYPE_L2_ETHER_VLAN, RTE_PTYPE_L2_ETHER_QINQ,
      RTE_PTYPE_L3_IPV4,  RTE_PTYPE_L3_IPV4_EXT,  RTE_PTYPE_L3_IPV6,       RTE_PTYPE_L3_IPV6_EXT,
      RTE_PTYPE_L4_TCP,   RTE_PTYPE_L4_UDP,       RTE_PTYPE_L4_FRAG,       RTE_PTYPE_L4_SCTP,
      RTE_PTYPE_L4_ICMP,  RTE_PTYPE_L4_NONFRAG,   RTE_PTYPE_UNKNOWN};
  return kTypes;
}

int FirmwareVersion(rte_eth_dev* dev, char* text, size_t bytes) {
  const uint32_t version = AdapterOf(dev).registers.Read32(kFirmware);
  if (version == UINT32_MAX) return -EIO;
  const int length =
      std::snprintf(text, bytes, "%u.%u.%u", version >> 16, version >> 8 & 0xff, version & 0xff);
  const auto needed = static_cast<size_t>(length) + 1;
  return needed > bytes ? static_cast<int>(needed) : 0;
}

int DumpRegisters(rte_eth_dev* dev, rte_dev_reg_info* info) {
  Adapter& adapter = AdapterOf(dev);
  const uint32_t words = kPortWords + adapter.max_queues * 2 * kRingWords;
  info->width = sizeof(uint32_t);
  info->version = kDeviceIdValue;
  if (info->data == nullptr) {
    info->length = words;
    return 0;
  }
  // Only a complete dump is supported.
  if (info->offset != 0 || (info->length != 0 && info->length != words)) return -ENOTSUP;
  info->length = words;
  auto* word = static_cast<uint32_t*>(info->data);
  const auto read = [&](uint32_t from, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) *word++ = adapter.registers.Read32(from + 4 * i);
  };
  read(0, kPortWords);
  for (uint32_t queue = 0; queue < adapter.max_queues; ++queue) {
    read(QueuePage(queue) + kRxBlock, kRingWords);
    read(QueuePage(queue) + kTxBlock, kRingWords);
  }
  return 0;
}

}  // namespace sluice::net_ipu
