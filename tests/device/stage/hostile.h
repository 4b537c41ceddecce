// SPDX-License-Identifier: BSD-3-Clause
//
// A stage with one honest node and with nodes of either interface that an arbitrary script sets up
// and feeds. Checks that the honest node's messages are executed and answered, once and in order,
// and that all TLPs and executions of the stage are within the limits of a device.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "device/stage/link.h"
#include "device/stage/stage.h"
#include "fuzz/choices.h"

namespace sluice::device::stage::test {

using namespace pcie_switch;  // NOLINT

/// Runs a script. Run returns the violation, or null.
class HostileRun {
 public:
  HostileRun(const uint8_t* script, size_t size) : choices_(script, size) {
    const NodeSetup setup{.window = kWindow,
                          .consumed = kRegister,
                          .window_granules = 16,
                          .buffer_bytes = kBuffer,
                          .max_message = kLongest,
                          .action = SetupAction::kOpen};
    Write(SlotOf(kPort, 0) + kSetupOffset, &setup, sizeof setup);
    StepStage();  // The stage reads the report of its window. The first read has the first tag.
    const WindowReport nothing{};
    Complete(0, &nothing, sizeof nothing, 0, false);
  }

  const char* Run() {
    while (!choices_.empty() && broken_ == nullptr) Step();
    for (uint32_t i = 0; i < kPatience && !Put(kLongest); ++i) StepStage();
    for (uint32_t i = 0; i < kPatience && taken_ != put_; ++i) StepStage();
    if (broken_ == nullptr && taken_ != put_) return "a message of the honest node is lost";
    return executor_.broken != nullptr ? executor_.broken : broken_;
  }

 private:
  static constexpr PortId kPort = 3;
  static constexpr uint64_t kWindow = 0x1000'0000, kRegister = 0x2000'0000;
  static constexpr uint32_t kBuffer = 1024, kLongest = 400;
  static constexpr uint32_t kMostSetUp = 65'536;  ///< Maximum number of message bytes of any node.
  static constexpr uint32_t kPatience = 2'000;
  /// Marks addresses of hostile nodes so that they differ from all other addresses.
  static constexpr uint64_t kTheirs = 1ull << 60;

  /// Adds one to each byte; the result of a hostile message may claim any length.
  class Increment final : public Executor {
   public:
    void Run(std::span<Work> batch) override {
      if (batch.empty() || batch.size() > kMaxBatch) broken = "invalid batch size";
      for (Work& work : batch) {
        if (work.input.size() > kMostSetUp || work.output.size() > kMostSetUp)
          broken = "a message longer than the longest set up";
        const size_t bytes = std::min(work.input.size(), work.output.size());
        std::transform(work.input.begin(), work.input.begin() + static_cast<ptrdiff_t>(bytes),
                       work.output.begin(),
                       [](uint8_t byte) { return static_cast<uint8_t>(byte + 1); });
        work.length = work.command == kHonest ? static_cast<uint32_t>(bytes) : work.command;
        work.outcome = work.command % 8 == 7 ? Outcome::kRefused : Outcome::kDone;
        work.refusal = static_cast<uint8_t>(work.command >> 8);
      }
    }
    const char* broken = nullptr;
  };
  static constexpr uint32_t kHonest = 0xfeed'0000;

  static uint8_t ByteOf(uint32_t message, uint32_t at) {
    return static_cast<uint8_t>(message * 13 + at);
  }

  void Send(const Tlp& tlp) {
    Tlp* place = to_.Place();
    while (place == nullptr) {
      StepStage();
      place = to_.Place();
    }
    *place = tlp;
    to_.Commit();
    to_.Publish();
  }
  void Write(uint64_t address, const void* bytes, uint32_t count) {
    Tlp tlp{.length = count, .address = address, .payload = {}};
    std::memcpy(tlp.payload.data(), bytes, count);
    Send(tlp);
  }
  void Complete(uint8_t tag, const void* bytes, uint32_t count, uint64_t at, bool refused) {
    Tlp tlp{.kind = TlpKind::kCompletion,
            .refused = refused,
            .requester = kPort,
            .tag = tag,
            .length = count,
            .address = at,
            .payload = {}};
    std::memcpy(tlp.payload.data(), bytes, std::min(count, kMaxPayload));
    Send(tlp);
  }

  void Step() {
    const uint8_t what = choices_.Byte();
    switch (what % 8) {
      case 0:
        Put(what / 8 * 12u);
        break;
      case 1:
        StepStage();
        break;
      case 2:
        AnySetup(what);
        break;
      case 3:
        AnyCompletion(what);
        break;
      case 4: {
        const uint32_t posted =
            what < 128 ? choices_.Byte() % 16u : static_cast<uint32_t>(choices_.Word64());
        Write(TheirSlot() + kDoorbellOffset, &posted, sizeof posted);
        break;
      }
      case 5: {
        const uint64_t word = what < 128 ? choices_.Byte() * 64u : choices_.Word64();
        Write(TheirSlot() + kControlOffset + what / 8 % 2 * 8, &word, sizeof word);
        break;
      }
      default:
        AnyWrite(what);
    }
  }

  uint64_t TheirSlot() { return SlotOf(kPort, 1 + choices_.Byte() % 3); }

  void AnySetup(uint8_t what) {
    NodeSetup setup{.window_granules = choices_.Byte(),
                    .buffer_bytes = choices_.Byte() * 64u,
                    .slots = choices_.Byte() % 40u,
                    .max_message = choices_.Word16(),
                    .action = static_cast<SetupAction>(what / 8 % 4)};
    if (what % 16 < 8) {
      setup.ring = kTheirs | choices_.Word16();
      setup.completions = what >= 128 ? kTheirs | choices_.Word16() : 0;
    } else {
      setup.window = what >= 64 ? kTheirs | choices_.Word16() << 8 : 0;
      setup.consumed = what % 64 >= 16 ? kTheirs | choices_.Word16() : 0;
    }
    switch (choices_.Byte()) {  // Rarely sets values that no device has.
      case 1:
        setup.max_message = ~0u - choices_.Byte();
        break;
      case 2:
        setup.buffer_bytes = ~0u - choices_.Byte();
        break;
      case 3:
        setup.buffer_bytes = choices_.Byte();
        break;
      case 4:
        setup.slots = ~0u;
        break;
    }
    const uint64_t slot = TheirSlot();
    Write(slot + kSetupOffset, &setup, sizeof setup);
  }

  /// Completes an outstanding read, or sends an unexpected completion. The honest node does not
  /// read any more.
  void AnyCompletion(uint8_t what) {
    std::array<uint8_t, kMaxPayload> bytes{};
    std::ranges::copy(choices_.Consume(choices_.Byte() % 80), bytes.begin());
    if (reads_.empty() || what >= 224)
      return Complete(choices_.Byte(), bytes.data(), choices_.Word16() % 300, choices_.Byte(),
                      what % 16 < 8);
    const Tlp read = reads_.front();
    if (what < 128) {  // A complete and valid answer: descriptors with small numbers.
      reads_.erase(reads_.begin());
      const LegacyDescriptor descriptor{.input = kTheirs,
                                        .output = kTheirs,
                                        .length = bytes[0] * 4u,
                                        .capacity = bytes[1] * 4u,
                                        .command = bytes[2] * 5u};
      for (uint32_t at = 0; at + sizeof descriptor <= bytes.size(); at += sizeof descriptor)
        StoreTo(&bytes[at], descriptor);
      for (uint32_t at = 0; at < read.length; at += kMaxPayload)
        Complete(read.tag, bytes.data(), std::min(kMaxPayload, read.length - at), at, false);
    } else {
      Complete(read.tag, bytes.data(), choices_.Byte(), choices_.Byte(), what % 16 < 8);
    }
  }

  /// Writes to a buffer, or to any address except those of the honest node. If `what` >= 248, reads
  /// instead.
  void AnyWrite(uint8_t what) {
    std::array<uint8_t, kMaxPayload> bytes{};
    const uint32_t small = choices_.Byte();
    StoreTo(bytes.data(), MessageHeader{.message = small, .length = small * 3, .command = small});
    if (what % 16 >= 14) StoreTo(bytes.data(), choices_.Word64());
    Tlp tlp{.kind = what >= 248 ? TlpKind::kRead : TlpKind::kWrite,
            .length = what < 200 ? (what / 8 + 1) * 10u : choices_.Word16(),
            .address = TheirSlot() + (what % 32 < 24 ? choices_.Byte() * 64u : choices_.Word16()),
            .payload = bytes};
    if (what >= 240) tlp.address = choices_.Word64() | 1ull << 63;
    Send(tlp);
  }

  /// Sends the next message of the honest node, if there are credits.
  bool Put(uint32_t length) {
    const uint64_t end = at_ + RoundUp(sizeof(MessageHeader) + length);
    if (end - consumed_ > kBuffer) return false;
    std::vector<uint8_t> bytes(sizeof(MessageHeader) + length);
    StoreTo(bytes.data(), MessageHeader{.message = put_, .length = length, .command = kHonest});
    for (uint32_t i = 0; i < length; ++i) bytes[sizeof(MessageHeader) + i] = ByteOf(put_, i);
    for (uint32_t sent = 0; sent < bytes.size();) {
      const auto at = static_cast<uint32_t>((at_ + sent) % kBuffer);
      const uint32_t count =
          std::min({kMaxPayload, static_cast<uint32_t>(bytes.size()) - sent, kBuffer - at});
      Write(SlotOf(kPort, 0) + at, &bytes[sent], count);
      sent += count;
    }
    at_ = end;
    ++put_;
    return true;
  }

  void StepStage() {
    stage_.Step();
    for (Tlp tlp; from_.Next(tlp);) See(tlp);
    from_.Release();
    if (freed_ == told_) return;
    told_ = freed_;
    if (Tlp* const place = to_.Place(); place != nullptr) {
      *place = {
          .length = sizeof freed_, .address = SlotOf(kPort, 0) + kControlOffset, .payload = {}};
      StoreTo(place->payload.data(), freed_);
      to_.Commit();
      to_.Publish();
    } else {
      told_ = 0;  // The report is repeated in the next step.
    }
  }

  void See(const Tlp& tlp) {
    if (tlp.requester != kPort) broken_ = "wrong requester";
    if (tlp.kind == TlpKind::kCompletion) broken_ = "unsolicited completion";
    if (tlp.kind == TlpKind::kRead) {
      if (tlp.length == 0 || tlp.length > kMaxReadRequest) broken_ = "invalid read length";
      if (tlp.address >= kTheirs) reads_.push_back(tlp);
      return;
    }
    if (tlp.length == 0 || tlp.length > kMaxPayload) broken_ = "a write of no length";
    if (tlp.address == kRegister) {
      consumed_ = LoadFrom<uint64_t>(tlp.payload.data());
    } else if (tlp.address < kTheirs) {
      Arrived(tlp);
    }
  }

  /// Handles a write to the honest node's window.
  void Arrived(const Tlp& tlp) {
    const uint64_t offset = tlp.address - kWindow;
    if (offset == 0) answer_.clear();
    if (offset != answer_.size()) {
      broken_ = "a write that does not follow the one before it";
      return;
    }
    freed_ += Granules(tlp.length);
    answer_.insert(answer_.end(), tlp.payload.begin(), tlp.payload.begin() + tlp.length);
    const auto header = LoadFrom<MessageHeader>(answer_.data());
    if (answer_.size() < sizeof header + header.length) return;
    if (header.message != taken_) broken_ = "order, or a message twice";
    for (uint32_t i = 0; i < header.length; ++i) {
      if (answer_[sizeof header + i] != static_cast<uint8_t>(ByteOf(taken_, i) + 1))
        broken_ = "an answer of the honest node has other bytes";
    }
    ++taken_;
  }

  fuzz::Choices choices_;
  std::unique_ptr<LinkMemory> memory_ = std::make_unique<LinkMemory>();
  LinkWriter to_{memory_->to_device};
  LinkReader from_{memory_->to_switch};
  Increment executor_;
  StageCounters counters_{};
  Stage stage_{*memory_, kPort, executor_, counters_};
  std::vector<Tlp> reads_;  ///< Unanswered reads of hostile nodes.
  std::vector<uint8_t> answer_;
  uint64_t at_ = 0, consumed_ = 0;  ///< Positions in the honest node's buffer, in bytes.
  uint64_t freed_ = 0,
           told_ = 0;  ///< Granules of the honest node's window that were freed, and that were
                       ///< reported as freed.
  uint32_t put_ = 0, taken_ = 0;  ///< Numbers of messages sent and answered.
  const char* broken_ = nullptr;
};

}  // namespace sluice::device::stage::test
