// SPDX-License-Identifier: BSD-3-Clause
//
// Sums and copies of queue counters, for reports. Control path.
#include "nic/frame_queue.h"

namespace sluice::nic {

namespace {

// Applies `f(to, from)` to every total of two sets of counters.
template <typename To, typename From, typename F>
void ForEach(To& to, From& from, F f) {
  f(to.rx_pkts, from.rx_pkts);
  f(to.rx_bytes, from.rx_bytes);
  f(to.sent_pkts, from.sent_pkts);
  f(to.tx_pkts, from.tx_pkts);
  f(to.tx_bytes, from.tx_bytes);
  f(to.consumed_pkts, from.consumed_pkts);
  f(to.passed_pkts, from.passed_pkts);
  for (uint32_t i = 0; i < QueueCounters::kMaxReasons; ++i) {
    f(to.engine_drops[i], from.engine_drops[i]);
  }
  f(to.rx_scattered, from.rx_scattered);
  f(to.rx_bad_entry, from.rx_bad_entry);
  f(to.tx_full, from.tx_full);
  f(to.tx_unframeable, from.tx_unframeable);
  f(to.no_exception_port, from.no_exception_port);
  f(to.rx_desync, from.rx_desync);
}

}  // namespace

QueueCounters QueueCounters::Snapshot() const {
  QueueCounters copy;
  ForEach(copy, *this, [](uint64_t& to, const uint64_t& from) { to = Load(from); });
  return copy;
}

QueueCounters& QueueCounters::operator+=(const QueueCounters& other) {
  ForEach(*this, other, [](uint64_t& to, const uint64_t& from) { to += from; });
  return *this;
}

uint64_t QueueCounters::DroppedPkts() const {
  uint64_t dropped = rx_scattered + rx_bad_entry + tx_full + tx_unframeable + no_exception_port;
  for (uint64_t drops : engine_drops) dropped += drops;
  return dropped;
}

}  // namespace sluice::nic
