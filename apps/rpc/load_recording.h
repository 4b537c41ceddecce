// SPDX-License-Identifier: BSD-3-Clause
//
// A recording of the clients' calls, for model NICs on a card. The card repeats the calls, each
// with a different xid, and counts the answers; this process checks a sample of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emulator/client_counts.h"
#include "emulator/recording.h"
#include "load_wire.h"

namespace sluice::rpc_app {

class LoadRecording final : public emulator::Recording {
 public:
  explicit LoadRecording(LoadOptions options) : calls_(WithAllSlots(std::move(options))) {}

  bool Record(std::string*) override {
    frames_ = calls_.MakeAll();
    return true;
  }
  std::span<const device::WireFrame> frames() const override { return frames_; }
  double rate_pps() const override { return 0; }
  uint64_t limit() const override { return 0; }
  emulator::VerifyMode share() const override { return emulator::VerifyMode::kSampled; }
  void Check(const device::WireFrame& frame) override {
    ++totals_.verified;
    uint32_t number = 0;
    switch (calls_.Judge(frame, &number)) {
      case LoadWire::Verdict::kRight:
        return;
      case LoadWire::Verdict::kRefused:
        ++sample_.refused;
        return;
      case LoadWire::Verdict::kUnknown:
        ++sample_.unknown;
        return;
      case LoadWire::Verdict::kWrong:
      case LoadWire::Verdict::kNoCall:
        ++sample_.wrong;
    }
  }
  const emulator::WireTotals& totals() const override { return totals_; }
  /// Each frame is a call or an answer.
  std::vector<device::Counter> Statistics(uint64_t offered, uint64_t returned) const override {
    emulator::ClientCounts counts = sample_;
    counts.requests = offered;
    counts.answered = emulator::Less(returned, counts.wrong + counts.refused + counts.unknown);
    return emulator::ClientStatistics(counts);
  }

 private:
  static LoadOptions WithAllSlots(LoadOptions options) {
    options.outstanding = LoadWire::kMaxSlots;
    return options;
  }

  LoadWire calls_;
  std::span<const device::WireFrame> frames_;
  emulator::ClientCounts sample_;  ///< Results of the checks; `requests` and `answered` are 0.
  emulator::WireTotals totals_;
};

}  // namespace sluice::rpc_app
