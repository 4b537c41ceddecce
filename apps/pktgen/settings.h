// SPDX-License-Identifier: BSD-3-Clause
//
// The checked flags of sluice-pktgen: streams from a file, or one stream from flags.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/pktgen/stream.h"
#include "engine/pktgen/trial.h"
#include "host/flag_text.h"
#include "runtime/command_line.h"

namespace sluice::pktgen {

/// An RFC 2544 test instead of a single trial.
struct Rfc2544 {
  enum class Test : uint8_t { kThroughput, kLatency, kLoss, kBackToBack };
  Test test = Test::kThroughput;
  double trial_s = 10;
  double probe_s = 1;
  double tolerated_loss = 0;  ///< Fraction of the frames.
  double precision = 0.005;   ///< Relative width of the interval.
  /// Number of latency trials, of trials per rate of the loss test, and of bursts.
  uint32_t repeats = 20;
  double generator_pps = 0;  ///< Maximum rate of the generator in frames per second; 0: unknown.
};
std::string_view NameOf(Rfc2544::Test test);

struct Settings {
  std::vector<engine::pktgen::StreamSpec> streams;  ///< The streams, with the frames of captures.
  std::string rates;                                ///< Name of the flag that sets the rates.
  std::string traffic;                              ///< Description of the traffic for the report.
  uint64_t line_bps = 0;                            ///< 0: reported by the port.
  uint64_t end_ps = engine::pktgen::kNever;
  double settle_s = 2;  ///< Time without a frame after which frames in flight count as lost.
  engine::pktgen::TrialOptions trial;
  std::optional<Rfc2544> rfc2544;
  std::string hgrm;  ///< Prefix of latency files; empty: none.
};

/// Returns this program's help texts for flags of lib/runtime, which replace the general texts.
std::span<const host::OwnHelp> OwnHelp();
/// Reads the flags. On a bad flag returns nullopt, and sets `flag` and `fix`.
std::optional<Settings> ReadSettings(const runtime::CommandLine& line, std::string* flag,
                                     std::string* fix);

/// Returns the error message for a frame that an interface cannot send; `frame` counts from 0, and
/// `length` does not include the FCS.
std::string CannotSend(std::string_view stream, size_t frame, uint32_t length);

/// Parses "original" or "original:2.5" and returns the factor for captured times; nullopt for other
/// text.
std::optional<double> ParseGaps(std::string_view text);

/// Parses a size, a list such as "64,1518", "imix" or "random"; sizes are from `least` to 1518.
/// Returns nullopt if the text is invalid.
std::optional<engine::pktgen::Field> ParseSizes(std::string_view text, uint32_t least,
                                                uint64_t seed);

}  // namespace sluice::pktgen
