// SPDX-License-Identifier: BSD-3-Clause
//
// One of two processes that exchange the same frames forever. Each process changes a byte of every
// frame and returns the frame. The process with --serve sends the first frames. The report contains
// the frame rate between two processes over any connection (scripts/bench/cable_comparison.py).
// Each process receives every frame once per round.
#include <gflags/gflags.h>
#include <rte_ethdev.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "engine/echo/echo.h"
#include "packet/frame.h"
#include "packet/outbox.h"
#include "runtime/command_line.h"
#include "runtime/session.h"
#include "udp_headers.h"

DEFINE_uint32(serve, 0, "Frames to send first; 0: the other process starts");
DEFINE_uint32(bytes, 64, "Size of these frames in bytes, with FCS: 64 to 1518");

namespace {

constexpr uint32_t kFlows = 64;  // Number of UDP flows, enough to use every pipe of a worker.
// If no frame arrives for this number of TSC cycles, all frames are considered lost and are sent
// again.
constexpr uint64_t kQuietCycles = 500'000'000;

class Player final : public sluice::packet::Engine {
 public:
  explicit Player(uint16_t port) : port_(port) {}
  void set_outbox(sluice::packet::Outbox outbox) override { outbox_ = outbox; }

  sluice::packet::Verdict Process(sluice::packet::Frame& frame, uint64_t now) {
    last_ = now;
    return echo_.Process(frame, now);
  }

  void AtRest(uint64_t now) override {
    if (FLAGS_serve == 0 || now - last_ < kQuietCycles) return;
    last_ = now;
    // net_memif crashes if it sends while it connects.
    rte_eth_link link{};
    if (rte_eth_link_get_nowait(port_, &link) != 0 || link.link_status != RTE_ETH_LINK_UP) return;
    for (uint32_t i = 0; i < FLAGS_serve; ++i) Serve(i % kFlows);
  }

 private:
  void Serve(uint8_t flow) {
    std::array<uint8_t, 1514> frame{};
    const uint32_t length = FLAGS_bytes - 4;
    sluice::runtime_test::WriteUdpHeaders(frame.data(), length);
    frame[29] = frame[33] = flow;
    frame[35] = frame[37] = flow;
    outbox_.Send(frame.data(), length);
  }

  const uint16_t port_;
  sluice::engine::IncrementEcho echo_;
  sluice::packet::Outbox outbox_;
  uint64_t last_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 0;
  auto line = sluice::runtime::ReadCommandLine(
      "volley", "one of two processes that throw frames at each other", argc, argv, &exit_code);
  if (!line) return exit_code;
  if (FLAGS_bytes < 64 || FLAGS_bytes > 1518) {
    return sluice::runtime::BadFlag("bytes", "give 64 to 1518");
  }
  line->options.promiscuous = true;  // The peer's frames have no valid destination address.
  const auto session = sluice::runtime::Session::Start(*std::move(line), &exit_code);
  if (session == nullptr) return exit_code;
  return session->Run([&](const sluice::runtime::WorkerInfo&) { return Player(session->port()); });
}
