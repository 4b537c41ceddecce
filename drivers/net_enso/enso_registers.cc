// SPDX-License-Identifier: BSD-3-Clause
//
// A dump of the registers that the port uses. It does not include the NIC's version, which only its
// JTAG tool can read.
#include <rte_dev_info.h>

#include <cerrno>
#include <mutex>
#include <vector>

#include "net_enso/enso_port.h"

namespace sluice::net_enso {

namespace {

using namespace regs::enso;  // NOLINT: this file speaks that register map

/// Returns the register pages of a dump in order, each of kWords: for every receive queue its
/// notification buffer and its pipes, for every transmit queue its buffer. Empty while the port is
/// stopped.
std::vector<uint32_t> Pages(const Port& port) {
  std::vector<uint32_t> pages;
  for (const auto& queue : port.rx) {
    if (queue == nullptr || queue->nb == nullptr) continue;
    pages.push_back(NbPage(queue->nb->id()));
    for (const Pipe* const pipe : queue->nb->pipes()) pages.push_back(PipePage(pipe->id));
  }
  for (const auto& queue : port.tx) {
    if (queue != nullptr && queue->nb != nullptr) pages.push_back(NbPage(queue->nb->id()));
  }
  return pages;
}

constexpr uint32_t kWords = kTxMemHi / 4 + 1;

}  // namespace

int DumpRegisters(rte_eth_dev* dev, rte_dev_reg_info* info) {
  Port& port = Port::Of(dev);
  const std::scoped_lock lock(port.device->mutex());
  const std::vector<uint32_t> pages = Pages(port);
  const auto words = static_cast<uint32_t>(pages.size()) * kWords;
  info->width = sizeof(uint32_t);
  info->version = uint32_t{kPciVendor} << 16 | kPciDevice;
  if (info->data != nullptr) {
    // Only a complete dump is supported.
    if (info->offset != 0 || (info->length != 0 && info->length != words)) return -ENOTSUP;
    auto* word = static_cast<uint32_t*>(info->data);
    for (const uint32_t page : pages) {
      for (uint32_t i = 0; i < kWords; ++i) *word++ = port.device->bar().Read32(page + 4 * i);
    }
  }
  info->length = words;
  return 0;
}

}  // namespace sluice::net_enso
