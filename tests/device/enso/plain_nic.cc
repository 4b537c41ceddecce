// SPDX-License-Identifier: BSD-3-Clause
#include "plain_nic.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "device/enso/clocked.h"
#include "device/enso/configure.h"
#include "device/enso/counters.h"
#include "device/enso/descriptor_fetch.h"
#include "device/enso/notification.h"
#include "device/enso/register_file.h"
#include "device/enso/steering.h"
#include "device/enso/write_port.h"

namespace sluice::device::enso {
namespace {

using namespace regs::enso;  // NOLINT: most lines use these names

class PlainNic final : public Device {
 public:
  PlainNic(const bar::DmaSpace& dma, const EnsoConfig& config)
      : dma_(dma),
        registers_(dma, config.pipe_flits, config.nb_entries),
        port_(dma, tally_),
        notifier_(registers_, port_, tally_, config.notify_per_packet),
        steering_(clock_),
        configurator_(steering_, timestamper_, limiter_, clock_, tally_),
        fetcher_(dma, registers_, port_, configurator_, tally_) {}

  void WriteRegister(uint32_t offset, uint32_t bytes, uint64_t value) override {
    const SideEffect effect = registers_.Write(offset, bytes, value);
    if (effect.kind == SideEffect::Kind::kHeadTrigger) notifier_.HeadStored(effect.index);
    if (effect.kind == SideEffect::Kind::kDescriptorFetch) fetcher_.Request(effect.index);
  }
  uint64_t ReadRegister(uint32_t offset, uint32_t bytes) override {
    return registers_.Read(offset, bytes);
  }
  void SetTime(uint64_t now_ns) override { clock_.Set(now_ns); }
  uint32_t Transmit(FrameSink& sink, uint32_t budget) override {
    uint32_t sent = 0;
    bool idle = false;
    if (!halted_) fetcher_.FetchAhead();
    limiter_.Allowance(clock_.Cycles());
    for (uint32_t slots = budget + kTxFetchMax; !halted_ && slots != 0 && sent < budget;) {
      const Descriptor* const slot = fetcher_.Front();
      idle = slot == nullptr;
      if (idle) break;
      if (!slot->config && !ProcessFlit(*slot, sink, &sent)) break;
      if (!slot->config && slot->data != nullptr && offset_ < slot->length) continue;
      Complete(*slot);
      fetcher_.Pop();
      offset_ = 0;
      --slots;
    }
    if (idle) limiter_.Idle();
    return sent;
  }
  std::span<const Counter> Counters() override {
    for (uint32_t i = 0; i < kEvents; ++i) {
      counters_[i] = {kEventNames[i], tally_[static_cast<Event>(i)]};
    }
    return counters_;
  }

  uint32_t Receive(std::span<const WireFrame> frames, bool pause) override {
    // Frames that had to wait are steered again when the next call offers them.
    constexpr size_t kSteeredAhead = 32;
    std::array<uint32_t, kSteeredAhead> targets;
    for (uint32_t i = 0; i < frames.size(); ++i) {
      if (port_.wedged()) {
        Hold(frames[i]);
        continue;
      }
      if (ahead_ == 0) {
        ahead_ = std::min(kSteeredAhead, frames.size() - i);
        for (size_t j = 0; j < ahead_; ++j) targets[j] = Steer(frames[i + j]);
        next_ = 0;
      }
      const bool taken = ReceiveOne(frames[i], targets[next_], pause);
      ++next_;
      --ahead_;
      if (!taken || port_.wedged()) ahead_ = 0;
      if (!taken) return i;
    }
    return static_cast<uint32_t>(frames.size());
  }

 private:
  enum Special : uint32_t { kNone = Steering::kNoPipe, kEmpty, kOversize };

  uint32_t Steer(const WireFrame& frame) {
    if (frame.length == 0) return kEmpty;
    if (Flits(frame.length) > kMaxRxFlits) return kOversize;
    std::array<uint8_t, kFlitBytes> flit{};
    std::memcpy(flit.data(), frame.data, std::min(frame.length, kFlitBytes));
    if (timestamper_.enabled()) timestamper_.RewriteReceived(flit.data(), clock_.Cycles());
    return steering_.Target(flit.data(), frame.length);
  }

  /// Returns false if the frame must wait.
  bool ReceiveOne(const WireFrame& frame, uint32_t target, bool pause) {
    if (target >= kMaxPipes) {
      ++tally_[target == kEmpty      ? Event::kRxEmpty
               : target == kOversize ? Event::kRxOversize
                                     : Event::kRxNoFallback];
      return true;
    }
    Pipe& pipe = registers_.pipe(target);
    NotificationBuffer& nb = registers_.nb_of(pipe);
    const uint32_t flits = Flits(frame.length);
    const bool pipe_on = pipe.rx_mem != 0;
    const bool nb_on = nb.rx_mem != 0 || flits == 1;
    if (pipe_on && nb_on && flits <= Free(pipe)) {
      if (nb.rx_mem != 0) Write(pipe, frame);
      pipe.rx_tail = (pipe.rx_tail + flits) & registers_.pipe_mask();
      notifier_.PacketAccepted(target, pipe, nb);
      if (nb.rx_mem == 0) {
        ++tally_[Event::kRxNbDisabled];
        return true;
      }
      ++tally_[Event::kRxFrames];
      tally_[Event::kRxBytes] += frame.length;
      return true;
    }
    if (pipe_on && nb_on && pause) return false;
    notifier_.PacketDropped(pipe);
    ++tally_[!pipe_on ? Event::kRxPipeDisabled
             : !nb_on ? Event::kRxNbDisabled
                      : Event::kRxPipeFull];
    if (!(pipe_on && nb_on) && flits > 1) port_.Wedge();
    return true;
  }

  void Write(const Pipe& pipe, const WireFrame& frame) {
    std::vector<uint8_t> bytes(Flits(frame.length) * kFlitBytes);
    std::memcpy(bytes.data(), frame.data, frame.length);
    if (timestamper_.enabled()) timestamper_.RewriteReceived(bytes.data(), clock_.Cycles());
    const uint64_t base = pipe.rx_mem & ~kPipeNbMask;
    for (uint32_t i = 0; i * kFlitBytes < bytes.size(); ++i) {
      const uint64_t at = uint64_t{(pipe.rx_tail + i) & registers_.pipe_mask()} * kFlitBytes;
      if (uint8_t* const to = dma_.Translate(base + at, kFlitBytes)) {
        std::memcpy(to, &bytes[i * kFlitBytes], kFlitBytes);
      } else {
        ++tally_[Event::kDmaFaults];
      }
    }
  }

  void Hold(const WireFrame& frame) {
    if (!port_.Hold()) {
      ++tally_[Event::kRxNoPacketBuffer];
      return;
    }
    const uint32_t target = Steer(frame);
    if (target >= kMaxPipes) return;
    Pipe& pipe = registers_.pipe(target);
    NotificationBuffer& nb = registers_.nb_of(pipe);
    const uint32_t flits = Flits(frame.length);
    const bool on = pipe.rx_mem != 0 && (nb.rx_mem != 0 || flits == 1);
    if (!on || flits > Free(pipe)) return notifier_.PacketDropped(pipe);
    pipe.rx_tail = (pipe.rx_tail + flits) & registers_.pipe_mask();
    notifier_.PacketAccepted(target, pipe, nb);
  }

  /// Processes the next flit of a data slot. Returns false if it must wait, possibly forever.
  bool ProcessFlit(const Descriptor& slot, FrameSink& sink, uint32_t* sent) {
    if (slot.length == 0) {
      ++tally_[Event::kTxZeroLength];
      halted_ = true;
      return false;
    }
    if (slot.data == nullptr) {
      ++tally_[Event::kDmaFaults];
      return true;
    }
    if (begun_.size() == kMaxTxFrameFlits * kFlitBytes) {
      ++tally_[Event::kTxOversize];
      halted_ = true;
      return false;
    }
    if (limiter_.Allowance(clock_.Cycles()) == 0) return false;
    limiter_.Pass(1);
    const uint32_t bytes = std::min(slot.length - offset_, kFlitBytes);
    begun_.insert(begun_.end(), slot.data + offset_, slot.data + offset_ + bytes);
    begun_.resize((begun_.size() + kFlitBytes - 1) / kFlitBytes * kFlitBytes);
    offset_ += bytes;
    const uint32_t length = (begun_[16] << 8 | begun_[17]) + 14u;
    if (begun_.size() == Flits(length) * kFlitBytes) {
      if (timestamper_.enabled()) timestamper_.StampTransmit(begun_.data(), clock_.Cycles());
      const WireFrame frame{begun_.data(), length};
      sink.Deliver({&frame, 1});
      begun_.clear();
      ++*sent;
      ++tally_[Event::kTxFrames];
      tally_[Event::kTxBytes] += length;
    }
    return true;
  }

  void Complete(const Descriptor& slot) {
    const NotificationBuffer& nb = registers_.nb(slot.nb);
    completed_ = slot.nb == completed_nb_ ? (completed_ + 1) & registers_.nb_mask() : slot.slot;
    completed_nb_ = slot.nb;
    port_.WriteSlot(nb.tx_ring, nb.tx_mem, completed_, kSignalNone, slot.word1, slot.length);
  }

  uint32_t Free(const Pipe& pipe) const {
    return (pipe.rx_head - pipe.rx_tail - 1) & registers_.pipe_mask();
  }

  const bar::DmaSpace& dma_;
  Tally tally_;
  Clock clock_;
  Timestamper timestamper_;
  RateLimiter limiter_;
  RegisterFile registers_;
  WritePort port_;
  Notifier notifier_;
  Steering steering_;
  Configurator configurator_;
  DescriptorFetcher fetcher_;
  size_t ahead_ = 0;  ///< Frames that are steered but not yet delivered.
  size_t next_ = 0;
  std::vector<uint8_t> begun_;  ///< Complete flits of the frame that is being assembled.
  uint32_t offset_ = 0;         ///< Number of processed bytes of the front slot.
  uint32_t completed_nb_ = kMaxNotificationBuffers;
  uint32_t completed_ = 0;  ///< Slot of the last completion.
  bool halted_ = false;
  std::array<Counter, kEvents> counters_{};
};

}  // namespace

std::unique_ptr<Device> MakePlainNic(const bar::DmaSpace& dma, const EnsoConfig& config) {
  return std::make_unique<PlainNic>(dma, config);
}

}  // namespace sluice::device::enso
