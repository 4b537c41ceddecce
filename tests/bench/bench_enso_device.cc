// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the cost of stepping the Ensō NIC model in one thread, without a worker: a burst is
// received into pipes and sent from there, as in an echo. `rx_cycles` and `tx_cycles` are TSC
// cycles per frame of Receive and of Transmit, as medians over bursts.
//
//   arguments: frame bytes (0: random 60 … 1514) / flows / pipes / frames per TX
//   slot / flits per pipe
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "bar/dma.h"
#include "cpu/clock.h"
#include "device/enso/enso_nic.h"
#include "device_bench.h"

namespace sluice::device::enso {
namespace {

using namespace regs::enso;  // NOLINT

constexpr uint32_t kNbEntries = 4096;

class Echo {
 public:
  explicit Echo(const benchmark::State& state)
      : bytes_(static_cast<uint32_t>(state.range(0))),
        pipes_(static_cast<uint32_t>(state.range(2))),
        slot_frames_(static_cast<uint32_t>(state.range(3))),
        pipe_flits_(static_cast<uint32_t>(state.range(4))),
        arrivals_(bytes_, static_cast<uint32_t>(state.range(1))) {
    const size_t ring_bytes = size_t{pipe_flits_} * kFlitBytes;
    const size_t nb_bytes = size_t{kNbEntries} * kFlitBytes;
    const size_t total = ring_bytes * pipes_ + 2 * nb_bytes;
    memory_.reset(static_cast<uint8_t*>(std::aligned_alloc(2u << 20, (total | 0x1f'ffff) + 1)));
    std::memset(memory_.get(), 0, total);
    dma_->Add(Bus(0), memory_.get(), total);
    const EnsoConfig config = {.pipe_flits = pipe_flits_, .nb_entries = kNbEntries};
    nic_ = std::make_unique<EnsoNic>(*dma_, config);
    nic_->WriteRegister(NbPage(0) + kRxMemLo, 8, Bus(ring_bytes * pipes_));
    nic_->WriteRegister(NbPage(0) + kTxMemLo, 8, Bus(ring_bytes * pipes_ + nb_bytes));
    slots_ = memory_.get() + ring_bytes * pipes_ + nb_bytes;
    for (uint32_t p = 0; p < pipes_; ++p) {
      nic_->WriteRegister(PipePage(p) + kRxMemLo, 8, Bus(ring_bytes * p));
    }
    const FallbackConfig fallback = {kSignalConfig, 4, pipes_, pipes_ - 1, 0, {}};
    PutSlot(&fallback);
    StoreTail();
    nic_->Transmit(sink, 1);
    heads_.resize(pipes_);
  }

  /// Echoes one burst. Returns false if frames were lost.
  bool Step() {
    const auto frames = arrivals_.Next();
    const uint64_t start = cpu::Cycles();
    const bool taken = nic_->Receive(frames, false) == burst();
    rx_cycles.push_back(cpu::Cycles() - start);
    for (uint32_t p = 0; p < pipes_; ++p) SendNew(p);
    StoreTail();
    const uint64_t middle = cpu::Cycles();
    const uint32_t sent = nic_->Transmit(sink, 10 * burst());
    tx_cycles.push_back(cpu::Cycles() - middle);
    nic_->WriteRegister(NbPage(0) + kRxHead, 4, nic_->ReadRegister(NbPage(0) + kRxTail, 4));
    return taken && sent == burst();
  }

  uint32_t burst() const { return arrivals_.burst(); }

  bench::Sink sink;
  std::vector<uint64_t> rx_cycles, tx_cycles;  ///< Cycles of each burst.

 private:
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };

  static uint64_t Bus(size_t offset) { return (uint64_t{1} << 40) + offset; }

  void PutSlot(const void* slot) {
    std::memcpy(slots_ + tx_tail_ * kFlitBytes, slot, kFlitBytes);
    tx_tail_ = (tx_tail_ + 1) % kNbEntries;
  }
  void StoreTail() { nic_->WriteRegister(NbPage(0) + kTxTail, 4, tx_tail_); }
  /// Sends the frames that a pipe has received since its head, and frees their space.
  void SendNew(uint32_t pipe) {
    const uint32_t tail = static_cast<uint32_t>(nic_->ReadRegister(PipePage(pipe) + kRxTail, 4));
    uint32_t& head = heads_[pipe];
    if (head == tail) return;
    const uint32_t step = slot_frames_ * (bytes_ != 0 ? Flits(bytes_) : pipe_flits_);
    while (head != tail) {
      const uint32_t linear = tail > head ? tail - head : pipe_flits_ - head;
      const uint32_t flits = std::min(linear, step);
      const uint64_t ring = uint64_t{pipe} * pipe_flits_;
      const TxNotification slot = {
          kSignalData, Bus((ring + head) * kFlitBytes), uint64_t{flits} * kFlitBytes, {}};
      PutSlot(&slot);
      head = (head + flits) % pipe_flits_;
    }
    nic_->WriteRegister(PipePage(pipe) + kRxHead, 4, head);
  }

  const uint32_t bytes_, pipes_, slot_frames_, pipe_flits_;
  bench::Arrivals arrivals_;
  std::unique_ptr<uint8_t, Free> memory_;
  std::unique_ptr<bar::DmaSpace> dma_ = std::make_unique<bar::DmaSpace>();
  std::unique_ptr<EnsoNic> nic_;
  uint8_t* slots_ = nullptr;
  uint32_t tx_tail_ = 0;
  std::vector<uint32_t> heads_;
};

void EnsoEcho(benchmark::State& state) { bench::MeasureEcho<Echo>(state); }
BENCHMARK(EnsoEcho)
    ->Iterations(500)
    ->Args({60, 1, 1, 1'000'000, 512})    // Fits in the L1 cache.
    ->Args({60, 1, 1, 1'000'000, 32768})  // One pipe of 2 MiB.
    ->Args({60, 1, 1, 1, 32768})          // One slot per frame, as with mbufs.
    ->Args({60, 1000, 64, 1'000'000, 1024})
    // These runs use the 8 pipes of a worker, with increasing sizes.
    ->ArgsProduct({{60, 508, 1514, 0}, {1000}, {8}, {1'000'000}, {1024, 2048, 4096, 8192, 32768}});

}  // namespace
}  // namespace sluice::device::enso

BENCHMARK_MAIN();
