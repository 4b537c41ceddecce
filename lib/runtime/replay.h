// SPDX-License-Identifier: BSD-3-Clause
//
// `--pcap=IN --out_pcap=OUT`: processes a capture with one engine, offline and deterministically,
// without EAL or ports. The capture's timestamps are the clock. Only applications that call Replay
// have the flags --out_pcap and --pass_pcap.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/run_flags.h"
#include "packet/capture.h"
#include "packet/engine.h"
#include "packet/frame.h"
#include "runtime/command_line.h"
#include "runtime/hooks.h"
#include "runtime/report.h"

namespace sluice::runtime {

/// Ticks per second of a replay's `now`, which counts nanoseconds since 1970.
inline constexpr uint64_t kReplayHz = 1'000'000'000;

/// Returns whether --out_pcap or --pass_pcap was given.
bool WantsReplay();

/// Reads the frames, writes the results, counts and reports. Used by Replay.
class ReplayFiles {
 public:
  /// Opens the files. On failure prints one line, returns null and sets `exit_code`.
  static std::unique_ptr<ReplayFiles> Open(const CommandLine& line, int* exit_code);

  /// Reads the next frame and its time. Returns false at the end or after an error. Bytes that the
  /// capture truncated are read as zeros.
  bool Next(packet::Frame* frame, uint64_t* now);
  /// Writes and counts a frame according to its verdict.
  void End(const packet::Frame& frame, packet::Verdict verdict);
  packet::Outbox outbox() { return packet::Outbox::To(*this); }
  /// Called by the outbox. Stores a copy until FlushSent.
  bool Send(const uint8_t* frame, uint32_t length);
  /// Writes the stored frames with the timestamp of the last frame.
  void FlushSent();
  /// Closes the files, prints totals and writes the report. Returns the exit code: 1 if a file
  /// could not be read or written completely, or if the totals violate the conservation law.
  int Finish(std::span<const std::string_view> reasons, const AppHooks& hooks);

 private:
  ReplayFiles(const CommandLine& line, packet::CaptureReader reader);
  bool Write(std::optional<packet::CaptureWriter>& writer, const packet::Frame& frame);

  std::string app_;
  host::RunSettings output_;
  std::string error_;  ///< The first error.
  packet::CaptureReader reader_;
  std::optional<packet::CaptureWriter> out_;
  std::optional<packet::CaptureWriter> passed_;
  std::vector<uint8_t> room_;  ///< Buffer for the current frame with its headroom and tailroom.
  /// Frames that the engine has sent since the last FlushSent.
  std::vector<std::vector<uint8_t>> sent_;
  uint64_t first_ns_ = 0;
  uint64_t now_ns_ = 0;
  RunFigures run_;
};

/// Processes the capture with `engine`. AtRest runs before every frame. Frames that the engine
/// sends while it processes a frame follow the answer to that frame. Returns the exit code.
template <packet::QueueEngine Engine>
int Replay(const CommandLine& line, Engine& engine, const AppHooks& hooks = {}) {
  int exit_code = 0;
  const std::unique_ptr<ReplayFiles> files = ReplayFiles::Open(line, &exit_code);
  if (files == nullptr) return exit_code;
  packet::Frame frame;
  uint64_t now = 0;
  engine.set_outbox(files->outbox());
  engine.Enter();
  while (files->Next(&frame, &now)) {
    engine.AtRest(now);
    files->FlushSent();
    const packet::Verdict verdict = packet::ProcessFrame(engine, frame, now);
    files->End(frame, verdict);
    files->FlushSent();
  }
  engine.Leave();
  files->FlushSent();
  return files->Finish(Engine::kDropReasons, hooks);
}

}  // namespace sluice::runtime
