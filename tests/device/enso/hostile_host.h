// SPDX-License-Identifier: BSD-3-Clause
//
// A host with arbitrary behavior: it converts a string of bytes to register accesses, slot contents
// and frames. Used by the seeded test and by the fuzz target. It checks the properties that must
// hold for any input.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "bar/dma.h"
#include "device/enso/enso_nic.h"

namespace sluice::device::enso {

class HostileHost {
 public:
  static constexpr uint64_t kBus = 0x10'0000;
  static constexpr size_t kBytes = 256u << 10;

  using MakeNic = std::unique_ptr<Device>(const bar::DmaSpace&, const EnsoConfig&);

  /// Processes the complete input. Returns the violated property, or null.
  const char* Run(std::span<const uint8_t> input, MakeNic* make = &MakeEnsoNic) {
    input_ = input;
    dma_->Add(kBus, memory_.data(), memory_.size() * sizeof(uint64_t));
    const bool per_packet = (Consume8() & 1) != 0;
    const std::unique_ptr<Device> nic =
        make(*dma_, {.pipe_flits = 64, .nb_entries = 64, .notify_per_packet = per_packet});
    while (!input_.empty() && violation_ == nullptr) Step(*nic);
    nic->Transmit(sink_, 1000);
    CheckConservation(*nic);
    return violation_;
  }

 private:
  static std::unique_ptr<Device> MakeEnsoNic(const bar::DmaSpace& dma, const EnsoConfig& config) {
    return std::make_unique<EnsoNic>(dma, config);
  }

  class Reader final : public FrameSink {
   public:
    void Deliver(std::span<const WireFrame> frames) override {
      if (frames.empty() || frames.size() > 64) bad_burst = true;
      for (const WireFrame& frame : frames) {
        // Frames must have 14 bytes to 64 flits, and every byte must be readable.
        if (frame.length < 14 || frame.length > 4096) bad_length = true;
        for (uint32_t i = 0; i < frame.length; ++i) sum = sum + frame.data[i];
        ++count;
      }
    }
    uint64_t count = 0;
    volatile uint64_t sum = 0;
    bool bad_burst = false, bad_length = false;
  };

  uint8_t Consume8() {
    if (input_.empty()) return 0;
    const uint8_t value = input_.front();
    input_ = input_.subspan(1);
    return value;
  }
  uint64_t Consume(uint32_t bytes) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes; ++i) value = value << 8 | Consume8();
    return value;
  }
  /// Returns an address, usually near or in the host's memory and sometimes arbitrary.
  uint64_t ConsumeAddress() {
    const uint8_t kind = Consume8();
    if (kind < 16) return Consume(8);
    const uint64_t at = kBus + Consume(3) % (kBytes + 8192);
    return kind < 64 ? at : at & ~uint64_t{1023};
  }

  void Step(Device& nic) {
    // Few pipes and buffers, so that actions affect each other.
    const uint32_t pipe = Consume8() % 4, nb = pipe % 2;
    switch (Consume8() % 10) {
      case 0:
        nic.WriteRegister(static_cast<uint32_t>(Consume(4)), Consume8() % 9, Consume(8));
        break;
      case 1:
        nic.ReadRegister(static_cast<uint32_t>(Consume(4)), Consume8() % 10);
        break;
      case 2:
        nic.WriteRegister(regs::enso::PipePage(pipe) + regs::enso::kRxMemLo, 8,
                          ConsumeAddress() | nb);
        break;
      case 3:
        nic.WriteRegister(regs::enso::NbPage(nb) + regs::enso::kRxMemLo, 8, ConsumeAddress());
        nic.WriteRegister(regs::enso::NbPage(nb) + regs::enso::kTxMemLo, 8, ConsumeAddress());
        break;
      case 4:
        nic.WriteRegister(regs::enso::PipePage(pipe) + regs::enso::kRxHead, 4, Consume(2));
        break;
      case 5:
        nic.WriteRegister(regs::enso::NbPage(nb) + 4 * (Consume8() % 6), 4, Consume(1));
        break;
      case 6:
        PutSlot();
        break;
      case 7:
        Receive(nic);
        break;
      case 8:
        nic.Transmit(sink_, Consume8());
        break;
      default:
        nic.SetTime(now_ += Consume(3));
        break;
    }
    if (sink_.bad_burst) violation_ = "a burst is empty or longer than 64 frames";
    if (sink_.bad_length) violation_ = "a frame is shorter than 14 bytes or longer than 64 flits";
  }

  void PutSlot() {
    uint64_t* slot = &memory_[Consume(3) % (memory_.size() / 8) * 8];
    slot[0] = Consume8() % 4;
    slot[1] = slot[0] == regs::enso::kSignalConfig ? Consume8() % 6 : ConsumeAddress();
    slot[2] = Consume8() < 32 ? Consume(8) : 64 * Consume(1);
    slot[3] = Consume(8);
    slot[4] = Consume(4);
  }

  void Receive(Device& nic) {
    frames_.clear();
    std::vector<WireFrame> wire;
    for (uint32_t n = Consume8() % 40; n != 0; --n) {
      // Allocated with the exact length, so that reads beyond the end are detected.
      frames_.emplace_back(std::make_unique<std::vector<uint8_t>>(Consume(2) % 2000));
      std::vector<uint8_t>& frame = *frames_.back();
      for (size_t i = 0; i < frame.size() && i < 48; ++i) frame[i] = Consume8();
      wire.push_back({frame.data(), static_cast<uint32_t>(frame.size())});
    }
    const bool pause = (Consume8() & 1) != 0;
    const uint32_t taken = nic.Receive(wire, pause);
    if (taken > wire.size() || (!pause && taken != wire.size())) violation_ = "frames taken";
    taken_ += taken;
  }

  void CheckConservation(Device& nic) {
    static constexpr std::string_view kEndings[] = {
        "rx_frames",   "rx_pipe_full", "rx_pipe_disabled",    "rx_nb_disabled", "rx_no_fallback",
        "rx_oversize", "rx_empty",     "rx_no_packet_buffer", "rx_stuck"};
    uint64_t endings = 0;
    for (const Counter& counter : nic.Counters()) {
      for (const std::string_view name : kEndings) {
        if (counter.name == name) endings += counter.value;
      }
      if (counter.name == "tx_frames" && counter.value != sink_.count) violation_ = "tx_frames";
    }
    if (endings != taken_) violation_ = "a received frame has no ending, or two";
  }

  std::unique_ptr<bar::DmaSpace> dma_ = std::make_unique<bar::DmaSpace>();
  std::vector<uint64_t> memory_ = std::vector<uint64_t>(kBytes / sizeof(uint64_t));
  std::vector<std::unique_ptr<std::vector<uint8_t>>> frames_;
  std::span<const uint8_t> input_;
  Reader sink_;
  uint64_t now_ = 0;
  uint64_t taken_ = 0;
  const char* violation_ = nullptr;
};

}  // namespace sluice::device::enso
