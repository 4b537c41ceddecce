// SPDX-License-Identifier: BSD-3-Clause
//
// What the flags of sluice-pktgen say, checked: streams of a file, or one of the flags.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/pktgen/stream.h"
#include "engine/pktgen/trial.h"
#include "runtime/command_line.h"
#include "runtime/flag_text.h"

namespace sluice::pktgen {

/// A test of RFC 2544 instead of one trial.
struct Rfc2544 {
  enum class Test : uint8_t { kThroughput, kLatency, kLoss, kBackToBack };
  Test test = Test::kThroughput;
  double trial_s = 10;
  double probe_s = 1;
  double tolerated_loss = 0;  ///< Share of the frames.
  double precision = 0.005;   ///< Relative width of the interval.
  uint32_t repeats = 20;      ///< Of trials for latency and at each rate of loss, and of bursts.
  double generator_pps = 0;   ///< What it can send; 0: not known.
};
std::string_view NameOf(Rfc2544::Test test);

struct Settings {
  std::vector<engine::pktgen::StreamSpec> streams;  ///< Their frames are made (captured).
  std::string rates;                                ///< The flag that names the rates.
  std::string traffic;                              ///< What they are, for the report.
  uint64_t line_bps = 0;                            ///< 0: the port tells.
  uint64_t end_ps = engine::pktgen::kNever;
  double settle_s = 2;  ///< Without a frame, before those under way are lost.
  engine::pktgen::TrialOptions trial;
  std::optional<Rfc2544> rfc2544;
  std::string hgrm;  ///< Prefix of files with latencies; empty: none.
};

/// What flags of all applications mean in this one.
std::span<const runtime::OwnHelp> OwnHelp();
/// Reads the flags. On a bad one returns nothing, with its name and the fix.
std::optional<Settings> ReadSettings(const runtime::CommandLine& line, std::string* flag,
                                     std::string* fix);

/// What is said of a frame that an interface cannot send; `frame` counts from 0, `length` is
/// without FCS.
std::string CannotSend(std::string_view stream, size_t frame, uint32_t length);

/// "original" or "original:2.5": what captured times are multiplied with; nothing of anything else.
std::optional<double> ParseGaps(std::string_view text);

/// A size or a list "64,1518", "imix", "random" (of `least` … 1518). Nothing if it is none.
std::optional<engine::pktgen::Field> ParseSizes(std::string_view text, uint32_t least,
                                                uint64_t seed);

}  // namespace sluice::pktgen
