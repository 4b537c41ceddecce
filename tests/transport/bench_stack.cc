// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the cost of a received segment and of a tick, with different numbers of connections. Run
// `bench_transport_stack` with the numbers of connections as arguments.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/parse.h"
#include "packet/rewrite.h"
#include "transport/stack.h"

namespace sluice::transport {
namespace {

using packet::LoadBe32;
using packet::StoreBe16;
using packet::StoreBe32;

constexpr uint32_t kHeaderBytes = 54;

/// A server, and peers that consist only of frames: each peer sends the same segment with its next
/// sequence number.
class Server : public Events {
 public:
  Server(uint32_t connections, uint32_t segment_bytes) {
    StackOptions options;
    std::string error;
    options.own.Add("10.0.0.2", &error);
    options.own.set_mac({2, 0, 0, 0, 0, 2});
    stack_ = Stack::Create(options, *this, &error);
    if (stack_ == nullptr || !stack_->Listen(80)) std::abort();
    for (uint32_t i = 0; i < connections; ++i) Open(i, segment_bytes);
    if (stack_->connections() != connections) std::abort();
  }

  Stack& stack() { return *stack_; }

  /// Passes the next segment of a peer.
  void Input(uint32_t peer) {
    std::vector<uint8_t>& frame = frames_[peer];
    stack_->Input(frame.data(), static_cast<uint32_t>(frame.size()));
    const uint32_t bytes = static_cast<uint32_t>(frame.size()) - kHeaderBytes;
    StoreBe32(frame.data() + 38, LoadBe32(frame.data() + 38) + bytes);
    packet::Store<uint16_t>(frame.data() + 50, 0);
    const uint64_t sum =
        packet::PseudoHeaderSumIpv4(frame.data() + 14, 6, static_cast<uint16_t>(20 + bytes));
    packet::Store(frame.data() + 50,
                  packet::FinishChecksum(packet::SumBytes(frame.data() + 34, 20 + bytes, sum)));
  }

  bool Output(const uint8_t* frame, uint32_t) override {
    sequence_ = LoadBe32(frame + 38);
    return true;
  }
  bool Opened(ConnectionId, const Peer&) override { return true; }
  void Received(ConnectionId id, const uint8_t*, uint32_t bytes) override {
    stack_->Consume(id, bytes);
  }
  void HalfClosed(ConnectionId) override {}
  void RoomFreed(ConnectionId) override {}
  void Closed(ConnectionId, End) override { std::abort(); }

 private:
  std::vector<uint8_t> Segment(uint32_t peer, uint8_t flags, uint32_t sequence, uint32_t ack,
                               uint32_t bytes) {
    std::vector<uint8_t> frame(kHeaderBytes + bytes);
    uint8_t* f = frame.data();
    f[0] = f[6] = 2, f[5] = 2, f[11] = 1;
    StoreBe16(f + 12, 0x0800);
    f[14] = 0x45;
    StoreBe16(f + 16, static_cast<uint16_t>(40 + bytes));
    f[22] = 64, f[23] = 6;
    StoreBe32(f + 26, 0x0a010000 + peer / 1000);
    StoreBe32(f + 30, 0x0a000002);
    packet::Store(f + 24, packet::FinishChecksum(packet::SumBytes(f + 14, 20)));
    StoreBe16(f + 34, static_cast<uint16_t>(1024 + peer % 1000));
    StoreBe16(f + 36, 80);
    StoreBe32(f + 38, sequence);
    StoreBe32(f + 42, ack);
    f[46] = 0x50, f[47] = flags;
    StoreBe16(f + 48, 0xffff);
    const uint64_t sum = packet::PseudoHeaderSumIpv4(f + 14, 6, static_cast<uint16_t>(20 + bytes));
    packet::Store(f + 50, packet::FinishChecksum(packet::SumBytes(f + 34, 20 + bytes, sum)));
    return frame;
  }
  void Open(uint32_t peer, uint32_t bytes) {
    const auto syn = Segment(peer, 2, 1, 0, 0);
    stack_->Input(syn.data(), static_cast<uint32_t>(syn.size()));
    const auto ack = Segment(peer, 16, 2, sequence_ + 1, 0);
    stack_->Input(ack.data(), static_cast<uint32_t>(ack.size()));
    frames_.push_back(Segment(peer, 24, 2, sequence_ + 1, bytes));
  }

  uint32_t sequence_ = 0;  ///< Sequence number of the last frame that the stack sent.
  std::vector<std::vector<uint8_t>> frames_;
  std::unique_ptr<Stack> stack_;
};

void Segment(benchmark::State& state) {
  const auto connections = static_cast<uint32_t>(state.range(0));
  Server server(connections, static_cast<uint32_t>(state.range(1)));
  uint32_t peer = 0;
  for (auto _ : state) {
    server.Input(peer);
    peer = (peer + 1) % connections;
  }
}
BENCHMARK(Segment)->ArgNames({"connections", "bytes"})->ArgsProduct({{1, 100, 10000}, {64, 1460}});

void Tick(benchmark::State& state) {
  Server server(static_cast<uint32_t>(state.range(0)), 64);
  uint64_t now = 0;
  server.stack().Advance(now);
  for (auto _ : state) server.stack().Advance(now += Stack::kTickNs);
}
BENCHMARK(Tick)->ArgName("connections")->Arg(1)->Arg(100)->Arg(10000)->Iterations(100);

}  // namespace
}  // namespace sluice::transport

BENCHMARK_MAIN();
