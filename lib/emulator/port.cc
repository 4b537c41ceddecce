// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/port.h"

#include <rte_errno.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "packet/partial_checksum.h"

namespace sluice::emulator {
namespace {

constexpr uint32_t kPoolMbufs = 4095;
constexpr uint32_t kPoolCache = 256;
constexpr uint16_t kDescriptors = 512;

std::string Complaint(const std::string& port, std::string_view what) {
  return "wire=port:" + port + ": " + std::string(what);
}

}  // namespace

std::unique_ptr<PortWire> PortWire::Create(const std::string& port, std::string_view name,
                                           std::string* error) {
  uint16_t port_id = 0;
  if (rte_eth_dev_get_port_by_name(port.c_str(), &port_id) != 0) {
    *error = Complaint(port, "no such ethdev: create it before this device on the command line");
    return nullptr;
  }
  std::string other;
  auto owned = dpdk::OwnedPort::Acquire(port_id, "wire of " + std::string(name), &other);
  if (owned == nullptr) {
    *error = Complaint(port, other.empty() ? "all ethdev owner ids are in use"
                                           : "owned by \"" + other + "\"; give another port");
    return nullptr;
  }
  std::unique_ptr<PortWire> wire(new PortWire(std::move(owned)));
  if (!wire->Open(port, name, error)) return nullptr;
  return wire;
}

bool PortWire::Open(const std::string& port, std::string_view name, std::string* error) {
  const auto fail = [&](const char* step, int code) {
    *error =
        Complaint(port, std::string(step) + " failed: " + rte_strerror(code < 0 ? -code : code));
    return false;
  };
  const int socket = rte_eth_dev_socket_id(port_id_);
  const std::string pool_name = "wire_" + std::string(name.substr(0, RTE_MEMPOOL_NAMESIZE - 8));
  pool_ = rte_pktmbuf_pool_create(pool_name.c_str(), kPoolMbufs, kPoolCache, 0,
                                  RTE_MBUF_DEFAULT_BUF_SIZE, socket);
  if (pool_ == nullptr) return fail("creating the mbuf pool", rte_errno);
  rte_eth_dev_info info = {};
  if (const int code = rte_eth_dev_info_get(port_id_, &info); code != 0) {
    return fail("querying the port's capabilities", code);
  }
  partial_checksums_ = packet::HidesPartialChecksums(info.driver_name);
  const rte_eth_conf config = {};
  if (const int code = rte_eth_dev_configure(port_id_, 1, 1, &config); code != 0) {
    return fail("configuring the port", code);
  }
  uint16_t rx_descriptors = kDescriptors;
  uint16_t tx_descriptors = kDescriptors;
  rte_eth_dev_adjust_nb_rx_tx_desc(port_id_, &rx_descriptors, &tx_descriptors);
  if (const int code = rte_eth_rx_queue_setup(port_id_, 0, rx_descriptors,
                                              static_cast<unsigned>(socket), nullptr, pool_);
      code != 0) {
    return fail("setting up the receive queue", code);
  }
  if (const int code = rte_eth_tx_queue_setup(port_id_, 0, tx_descriptors,
                                              static_cast<unsigned>(socket), nullptr);
      code != 0) {
    return fail("setting up the transmit queue", code);
  }
  rte_ether_addr address = {};
  rte_eth_macaddr_get(port_id_, &address);
  std::copy_n(address.addr_bytes, mac_.size(), mac_.begin());
  if (const int code = rte_eth_dev_start(port_id_); code != 0) return fail("starting it", code);
  started_ = true;
  rte_eth_promiscuous_enable(port_id_);
  return true;
}

PortWire::~PortWire() {
  rte_pktmbuf_free_bulk(received_.data() + first_, last_ - first_);
  if (!owned_->gone()) {
    if (started_) rte_eth_dev_stop(port_id_);
    owned_.reset();
    // The queues keep mbufs from the pool until the port is closed or reconfigured. This object is
    // the pool's last user, so it must close the port.
    rte_eth_dev_close(port_id_);
  }
  rte_mempool_free(pool_);
}

bool PortWire::MakePlain(rte_mbuf* mbuf) {
  if (mbuf->nb_segs > 1 && rte_pktmbuf_linearize(mbuf) != 0) return false;
  const uint16_t length = rte_pktmbuf_data_len(mbuf);
  if (length >= kMinFrameBytes) return true;
  const uint16_t missing = static_cast<uint16_t>(kMinFrameBytes - length);
  char* padding = rte_pktmbuf_append(mbuf, missing);
  if (padding == nullptr) return false;
  std::memset(padding, 0, missing);
  return true;
}

std::span<const device::WireFrame> PortWire::Pull(uint64_t, uint32_t max) {
  if (first_ == last_ && !owned_->gone()) {
    first_ = last_ = 0;
    const uint16_t count = rte_eth_rx_burst(port_id_, 0, received_.data(), kBurst);
    for (uint16_t i = 0; i < count; ++i) {
      rte_mbuf* mbuf = received_[i];
      if (!MakePlain(mbuf)) {
        rte_pktmbuf_free(mbuf);
        ++counters_[kRxUnusable].value;
        continue;
      }
      if (partial_checksums_) {
        packet::CompletePartialChecksum(rte_pktmbuf_mtod(mbuf, uint8_t*),
                                        rte_pktmbuf_data_len(mbuf));
      }
      received_[last_] = mbuf;
      frames_[last_++] = {rte_pktmbuf_mtod(mbuf, const uint8_t*), rte_pktmbuf_data_len(mbuf)};
    }
  }
  return {frames_.data() + first_, std::min(max, last_ - first_)};
}

void PortWire::Consumed(uint32_t count) {
  rte_pktmbuf_free_bulk(received_.data() + first_, count);
  first_ += count;
  totals_.offered += count;
}

void PortWire::Deliver(uint64_t, std::span<const device::WireFrame> frames) {
  if (owned_->gone()) {
    counters_[kTxFull].value += frames.size();
    return;
  }
  for (size_t first = 0; first < frames.size(); first += kBurst) {
    Send(frames.subspan(first, std::min<size_t>(kBurst, frames.size() - first)));
  }
}

void PortWire::Send(std::span<const device::WireFrame> frames) {
  rte_mbuf* burst[kBurst];
  uint16_t count = 0;
  for (const device::WireFrame& frame : frames) {
    const uint32_t length = std::max(frame.length, kMinFrameBytes);
    rte_mbuf* mbuf = rte_pktmbuf_alloc(pool_);
    if (mbuf == nullptr) {
      ++counters_[kTxNoMbuf].value;
      continue;
    }
    if (length > rte_pktmbuf_tailroom(mbuf)) {
      ++counters_[kTxOversize].value;
      rte_pktmbuf_free(mbuf);
      continue;
    }
    uint8_t* bytes =
        reinterpret_cast<uint8_t*>(rte_pktmbuf_append(mbuf, static_cast<uint16_t>(length)));
    std::memcpy(bytes, frame.data, frame.length);
    std::memset(bytes + frame.length, 0, length - frame.length);
    burst[count++] = mbuf;
  }
  uint16_t sent = 0;
  for (uint32_t tries = 0; sent < count && tries < kTransmitTries; ++tries) {
    sent = static_cast<uint16_t>(
        sent + rte_eth_tx_burst(port_id_, 0, burst + sent, static_cast<uint16_t>(count - sent)));
  }
  rte_pktmbuf_free_bulk(burst + sent, static_cast<unsigned>(count - sent));
  counters_[kTxFull].value += static_cast<uint64_t>(count - sent);
}

bool PortWire::LinkUp(uint64_t now_ns) {
  if (owned_->gone()) return false;
  if (link_read_ns_ == 0 || now_ns - link_read_ns_ >= kLinkPeriod_ns) {
    rte_eth_link link = {};
    if (rte_eth_link_get_nowait(port_id_, &link) == 0) {
      link_up_ = link.link_status == RTE_ETH_LINK_UP;
    }
    link_read_ns_ = std::max<uint64_t>(now_ns, 1);
  }
  return link_up_;
}

}  // namespace sluice::emulator
