// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/enso_nic.h"

#include <array>
#include <bit>
#include <cassert>

#include "device/enso/clocked.h"
#include "device/enso/configure.h"
#include "device/enso/counters.h"
#include "device/enso/descriptor_fetch.h"
#include "device/enso/framer.h"
#include "device/enso/notification.h"
#include "device/enso/receive.h"
#include "device/enso/register_file.h"
#include "device/enso/steering.h"
#include "device/enso/transmit.h"
#include "device/enso/write_port.h"

namespace sluice::device::enso {
namespace {

bool IsRingSize(uint32_t size) {
  return size >= 2 && size <= regs::enso::kMaxPipeFlits && std::has_single_bit(size);
}

}  // namespace

const char* EnsoConfig::Error() const {
  if (!IsRingSize(pipe_flits)) return "pipe_flits must be a power of two from 2 to 1048576";
  if (!IsRingSize(nb_entries)) return "nb_entries must be a power of two from 2 to 1048576";
  if (tx_credits < 256 || tx_credits > 1000) return "tx_credits must be 256 to 1000";
  return nullptr;
}

/// The NIC's parts and their connections. Each part is declared after the parts that it uses.
class EnsoNic::Impl {
 public:
  Impl(const bar::DmaSpace& dma, const EnsoConfig& config)
      : dma(dma),
        registers(dma, config.pipe_flits, config.nb_entries),
        port(dma, tally),
        notifier(registers, port, tally, config.notify_per_packet),
        steering(clock),
        framer(clock, timestamper, tally),
        configurator(steering, timestamper, limiter, clock, tally),
        fetcher(dma, registers, port, configurator, tally),
        receiver({dma, registers, steering, notifier, port, clock, timestamper, tally}),
        transmitter({registers, fetcher, framer, limiter, clock, port, tally}) {}

  const bar::DmaSpace& dma;
  Tally tally;
  Clock clock;
  Timestamper timestamper;
  RateLimiter limiter;
  RegisterFile registers;
  WritePort port;
  Notifier notifier;
  Steering steering;
  Framer framer;
  Configurator configurator;
  DescriptorFetcher fetcher;
  Receiver receiver;
  Transmitter transmitter;
  std::array<Counter, kEvents> counters = ZeroCounters(kEventRows);
};

EnsoNic::EnsoNic(const bar::DmaSpace& dma, const EnsoConfig& config) {
  assert(config.Error() == nullptr);
  impl_ = std::make_unique<Impl>(dma, config);
}

EnsoNic::~EnsoNic() = default;

void EnsoNic::WriteRegister(uint32_t offset, uint32_t bytes, uint64_t value) {
  const SideEffect effect = impl_->registers.Write(offset, bytes, value);
  if (effect.kind == SideEffect::Kind::kHeadTrigger) {
    impl_->notifier.HeadStored(effect.index);
  } else if (effect.kind == SideEffect::Kind::kDescriptorFetch) {
    impl_->fetcher.Request(effect.index);
  }
}

uint64_t EnsoNic::ReadRegister(uint32_t offset, uint32_t bytes) {
  return impl_->registers.Read(offset, bytes);
}

void EnsoNic::SetTime(uint64_t now_ns) { impl_->clock.Set(now_ns); }

void EnsoNic::SetMastering(bool on) { impl_->port.SetMastering(on); }

void EnsoNic::MemoryTaken() {
  impl_->registers.FindRings();
  impl_->fetcher.FindData();
}

uint32_t EnsoNic::Receive(std::span<const WireFrame> frames, bool pause) {
  if (impl_->dma.congested()) [[unlikely]]
    return 0;
  return impl_->receiver.Receive(frames, pause);
}

uint32_t EnsoNic::Transmit(FrameSink& sink, uint32_t budget) {
  if (impl_->dma.congested()) [[unlikely]]
    return 0;
  return impl_->transmitter.Transmit(sink, budget);
}

std::span<const Counter> EnsoNic::Counters() {
  for (uint32_t i = 0; i < kEvents; ++i) {
    impl_->counters[i].value = impl_->tally[static_cast<Event>(i)];
  }
  return impl_->counters;
}

}  // namespace sluice::device::enso
