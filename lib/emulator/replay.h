// SPDX-License-Identifier: BSD-3-Clause
//
// wire=pcap: replays a capture from memory in its order, as fast as the device accepts frames or at
// a given rate. Records that a 1518-byte link cannot carry and records without an Ethernet header
// are skipped and counted. Bytes that the snap length cut off are replaced with zeros, so that
// frames have their original length.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "device/device.h"
#include "emulator/aligned_bytes.h"
#include "emulator/pacer.h"
#include "emulator/recording.h"
#include "emulator/verify.h"
#include "emulator/wire.h"

namespace sluice::emulator {

/// Verifies the frames that return from a device that was fed from a capture. These frames have no
/// tag. Each is identified by the length in its headers (a NIC that cuts frames by the IP length
/// loses Ethernet trailers) and by the bytes after the headers and the first payload byte, which an
/// echo does not change. Order is not checked. A frame that returns before it was sent belongs to
/// an earlier run; later frames of that run cannot be distinguished. Frames with malformed headers
/// are compared from byte 64 on, or by their IP header if it claims more bytes than the frame has.
/// Owned by the stepping thread.
class SignatureVerifier {
 public:
  explicit SignatureVerifier(VerifyMode mode) : mode_(mode) {}

  /// Adds a frame to those that will be sent, in sending order.
  void Learn(const device::WireFrame& frame);
  /// Records that the frames [first, first + count), in the order of Learn, have been sent.
  void Sent(uint64_t first, uint32_t count);
  /// Counts returned frames in `totals`. Duplicates and frames from earlier runs are detected only
  /// in full mode.
  void Check(std::span<const device::WireFrame> frames, WireTotals& totals);
  /// Returns whether `frame` is one of the learned frames, possibly changed by an echo.
  bool Knows(const device::WireFrame& frame) { return Find(frame) != nullptr; }

 private:
  struct Traffic {
    uint64_t sent = 0;
    uint64_t returned = 0;
  };

  Traffic* Find(const device::WireFrame& frame);
  void CheckOne(const device::WireFrame& frame, WireTotals& totals);

  const VerifyMode mode_;
  std::unordered_map<uint64_t, Traffic> exact_;
  std::unordered_map<uint64_t, Traffic*> loose_;  ///< Frames shorter than their headers claim.
  std::vector<Traffic*> order_;
  uint32_t until_sample_ = kSampleInterval;
};

struct ReplayOptions {
  std::string file;
  double rate_pps = 0;  ///< 0: as fast as the device accepts frames.
  uint64_t count = 0;   ///< Number of frames to send; 0: unlimited.
  uint64_t loop = 0;    ///< Number of times that the capture is played; 0: unlimited.

  /// Parses the text after "wire=pcap:". If it is invalid, returns false and sets `error` to a
  /// one-line message.
  bool Read(std::string_view text, std::string* error);
};

class ReplayWire final : public Wire, public Recording {
 public:
  /// Maximum frame length: 1518 bytes in memory, which is a full-sized tagged frame.
  static constexpr uint32_t kMaxFrameBytes = 1518;
  static constexpr size_t kMaxCaptureBytes = size_t{1} << 30;

  /// Loads the capture. If the capture cannot be read or contains no frame to send, returns null
  /// and sets `error` to a one-line message. `summary` describes the loaded and skipped records in
  /// one line.
  static std::unique_ptr<ReplayWire> Create(const ReplayOptions& options, VerifyMode verify,
                                            std::string* summary, std::string* error);

  void Start(uint64_t now_ns) override { pacer_.Start(now_ns); }
  std::span<const device::WireFrame> Pull(uint64_t now_ns, uint32_t max) override;
  void Consumed(uint32_t count) override;
  void Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) override;
  bool IsSource() const override { return true; }
  const WireTotals& totals() const override { return totals_; }
  std::span<const device::Counter> Counters() override;

  Recording* recording() override { return this; }
  bool Record(std::string*) override { return true; }
  std::span<const device::WireFrame> frames() const override { return ring_; }
  double rate_pps() const override { return rate_pps_; }
  uint64_t limit() const override { return limit_; }
  VerifyMode share() const override { return mode_; }
  void Check(const device::WireFrame& frame) override;
  std::vector<device::Counter> Statistics(uint64_t, uint64_t) const override { return {}; }

 private:
  /// A capture in memory: consecutive frames, each aligned to a cache line.
  struct Loaded {
    std::vector<uint8_t> bytes;
    std::vector<size_t> offsets;
    std::vector<uint32_t> lengths;  ///< Lengths of the frames at `offsets`.
    uint64_t padded = 0;
    uint64_t too_long = 0;
    uint64_t runts = 0;
  };
  static bool Load(const std::string& file, Loaded& loaded, std::string* warning,
                   std::string* error);

  ReplayWire(const ReplayOptions& options, VerifyMode verify, const Loaded& loaded);

  AlignedBytes bytes_;
  /// The capture, repeated until it is long enough for full bursts.
  std::vector<device::WireFrame> ring_;
  const VerifyMode mode_;
  SignatureVerifier verifier_;
  const double rate_pps_;
  const uint64_t limit_;  ///< Number of frames to send; 0: unlimited.
  Pacer pacer_;
  uint32_t position_ = 0;
  WireTotals totals_;
  std::array<device::Counter, 1> counters_ = {{{"source_late", 0}}};
};

}  // namespace sluice::emulator
