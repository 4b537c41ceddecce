// SPDX-License-Identifier: BSD-3-Clause
//
// A client's requests as a recording, for model NICs on a card: sets of all items, then requests
// that are repeated (engine/kv/client/script.h). The card counts the answers, and this process
// checks a sample of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client_wire.h"
#include "emulator/recording.h"
#include "engine/kv/client/script.h"
#include "packet/rewrite.h"

namespace sluice::kv {

class ClientRecording final : public emulator::Recording {
 public:
  /// `server`: destination MAC address.
  ClientRecording(const ClientWireOptions& options, const packet::MacAddress& server)
      : options_(options), server_(server) {}

  bool Record(std::string* error) override;
  std::span<const device::WireFrame> frames() const override { return frames_; }
  uint32_t repeat_from() const override { return repeat_from_; }
  double rate_pps() const override;
  uint64_t limit() const override { return 0; }
  emulator::VerifyMode share() const override {
    return options_.client.verify ? emulator::VerifyMode::kSampled : emulator::VerifyMode::kOff;
  }
  void Check(const device::WireFrame& frame) override;
  const emulator::WireTotals& totals() const override { return totals_; }
  std::vector<device::Counter> Statistics(uint64_t offered, uint64_t returned) const override;

 private:
  /// Returns the requests in the first `frames` frames, as sent repeatedly.
  uint64_t Requests(uint64_t frames) const;

  const ClientWireOptions options_;
  const packet::MacAddress server_;
  std::optional<engine::kv::client::Script> script_;
  std::vector<uint8_t> bytes_;
  std::vector<device::WireFrame> frames_;
  std::vector<uint64_t> before_;  ///< Requests in the frames before each frame, and in all frames.
  uint32_t repeat_from_ = 0;
  uint64_t unknown_ = 0;  ///< Checked frames that are not datagrams.
  emulator::WireTotals totals_;
};

}  // namespace sluice::kv
