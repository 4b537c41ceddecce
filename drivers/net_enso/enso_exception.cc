// SPDX-License-Identifier: BSD-3-Clause
#include "net_enso/enso_exception.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sluice::net_enso {
namespace {

constexpr uint16_t kDescriptors = 512;

}  // namespace

std::unique_ptr<ExceptionPort> ExceptionPort::Own(const std::string& name, const char* owner,
                                                  std::string* error) {
  uint16_t port;
  if (rte_eth_dev_get_port_by_name(name.c_str(), &port) != 0) {
    *error = "exception=" + name + ": no such port: add it to the EAL arguments";
    return nullptr;
  }
  std::string other;
  auto owned = dpdk::OwnedPort::Acquire(port, owner, &other);
  if (owned == nullptr) {
    *error = "exception=" + name + ": is owned by '" + other + "': give a port without an owner";
    return nullptr;
  }
  return std::unique_ptr<ExceptionPort>(new ExceptionPort(std::move(owned)));
}

ExceptionPort::~ExceptionPort() { Stop(); }

int ExceptionPort::Start(uint16_t mtu, rte_mempool* pool) {
  if (port_->gone()) return -ENODEV;
  const uint16_t port = port_->id();
  rte_eth_dev_info info{};
  int error = rte_eth_dev_info_get(port, &info);
  rte_eth_conf conf{};
  conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
  takes_segments_ = conf.txmode.offloads != 0;
  if (error == 0) error = rte_eth_dev_configure(port, pool != nullptr ? 1 : 0, 1, &conf);
  rte_eth_dev_set_mtu(port, mtu);  // Failures are ignored.
  uint16_t received = kDescriptors, sent = kDescriptors;
  if (error == 0) error = rte_eth_dev_adjust_nb_rx_tx_desc(port, &received, &sent);
  const int socket = rte_eth_dev_socket_id(port);
  if (error == 0) error = rte_eth_tx_queue_setup(port, 0, sent, socket, nullptr);
  if (error == 0 && pool != nullptr) {
    error = rte_eth_rx_queue_setup(port, 0, received, socket, nullptr, pool);
  }
  if (error == 0) error = rte_eth_dev_start(port);
  started_ = error == 0;
  return error;
}

void ExceptionPort::Stop() {
  if (started_ && !port_->gone()) rte_eth_dev_stop(port_->id());
  started_ = false;
}

bool ExceptionPort::Send(rte_mbuf* frame) {
  if (port_->gone() || (frame->nb_segs > 1 && !takes_segments_)) return false;
  rte_pktmbuf_refcnt_update(frame, 1);
  rte_spinlock_lock(&lock_);
  const bool sent = rte_eth_tx_burst(port_->id(), 0, &frame, 1) == 1;
  rte_spinlock_unlock(&lock_);
  if (!sent) rte_pktmbuf_refcnt_update(frame, -1);
  return sent;
}

}  // namespace sluice::net_enso
