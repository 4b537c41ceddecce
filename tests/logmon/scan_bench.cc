// SPDX-License-Identifier: BSD-3-Clause
//
// Measures LineScanner and Monitor on one core. Compares them with bare hs_scan_stream, which scans
// the same payload with the same expressions in the same chunks. Bare Hyperscan only counts its
// reports: it does not split lines, evaluate filters or keep the text of a match. `scanner`
// processes chunks, `bursts` processes complete frames of 16 senders in bursts of 64, and `frames`
// processes the same frames one by one. Finally prints the memory of a monitor with 100000 sources,
// each of which stopped within a line.
//
//   sluice-logmon-bench [--rounds=9] [--chunk=BYTES] [--configs=configs] [--json] [--texts=FOLDER]
//                       [--only=bare|scanner|bursts|frames] [--count=light|heavy]
//
// Rounds alternate between contestants. Durations are CPU time. A ratio is the median over all
// rounds, and a duration is the minimum of a contestant. The filters are those of logmon-light.json
// and logmon-heavy.json in the folder `configs`. --texts only writes the scanned texts to light.log
// and heavy.log in that folder. --only is for profiling. --count only processes the bursts of one
// set once, so that callgrind can count their instructions.
#include <rte_cycles.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/json_reader.h"
#include "engine/logmon/config/config.h"
#include "engine/logmon/scan/line_scanner.h"
#include "log_text.h"
#include "scan_contestants.h"
#include "state_of_sources.h"

namespace sluice::engine::logmon {
namespace {

using test::Check;

constexpr size_t kTextBytes = size_t{8} << 20;
constexpr uint32_t kSources = 100000;
constexpr size_t kMostOfADatagram = 9000;  // Longer chunks do not fit in a frame.
constexpr uint32_t kFramesAtOnce = 64;

enum Contestant : uint32_t { kBare, kScanner, kBursts, kFrames, kContestants };
constexpr std::array<const char*, kContestants> kNames{"bare", "scanner", "bursts", "frames"};

struct Options {
  int rounds = 9;
  std::vector<size_t> chunks{64, 1472, 9000, 65536};
  std::string configs = "configs";
  std::string texts;  ///< Output folder; empty to measure.
  std::string only;   ///< One of kNames; empty for all.
  std::string count;  ///< "light" or "heavy": only for Count; empty to measure.
  bool json = false;
};

double Seconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

/// Returns this thread's CPU time, which excludes the time of other threads on the core.
double CpuSeconds() { return Seconds(CLOCK_THREAD_CPUTIME_ID); }

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

/// Result for one rule set and chunk size.
struct Result {
  const char* set;
  size_t filters, database_bytes, chunk_bytes;
  std::array<double, kContestants> seconds{};  ///< CPU time of the best round; 0: not measured.
  std::array<double, kContestants>
      ratios{};  ///< Median over rounds of bare Hyperscan's time divided by the contestant's.
  ScanCounters counted{};  ///< The scanner's counters per round.
  uint64_t reported = 0;   ///< Bare Hyperscan's reports per round.
};

ScanCounters operator-(const ScanCounters& after, const ScanCounters& before) {
  return {.lines = after.lines - before.lines,
          .matched_lines = after.matched_lines - before.matched_lines,
          .asked = after.asked - before.asked};
}

Result Measure(const char* set, const RuleSet& rules, std::string_view text, size_t chunk_bytes,
               const Options& options) {
  Result result{.set = set,
                .filters = rules.filters().size(),
                .database_bytes = rules.database_bytes(),
                .chunk_bytes = chunk_bytes};
  test::BareStream bare(rules.expressions());
  LineScanner scanner(rules, {});
  const bool framed = chunk_bytes <= kMostOfADatagram;
  test::FramesInMemory frames(rules, framed ? text : std::string_view(), chunk_bytes);
  std::array<std::vector<double>, kContestants> seconds;
  const auto measure = [&](Contestant who, auto&& work) {
    if (!options.only.empty() && options.only != kNames[who]) return;
    const double start = CpuSeconds();
    work();
    seconds[who].push_back(CpuSeconds() - start);
  };
  for (int round = 0; round < options.rounds; ++round) {
    const ScanCounters before = scanner.counters();
    measure(kScanner, [&] { test::ScanLines(scanner, text, chunk_bytes); });
    result.counted = scanner.counters() - before;
    measure(kBare, [&] { result.reported = bare.Scan(text, chunk_bytes); });
    if (!framed) continue;
    measure(kBursts, [&] { frames.Process(kFramesAtOnce); });
    measure(kFrames, [&] { frames.Process(1); });
  }
  for (uint32_t who = 0; who < kContestants; ++who) {
    if (seconds[who].empty()) continue;
    result.seconds[who] = *std::min_element(seconds[who].begin(), seconds[who].end());
    std::vector<double> ratios;
    for (size_t i = 0; i < seconds[kBare].size(); ++i) {
      ratios.push_back(seconds[kBare][i] / seconds[who][i]);
    }
    if (!ratios.empty()) result.ratios[who] = Median(ratios);
  }
  return result;
}

std::unique_ptr<const RuleSet> Compile(const std::string& path) {
  std::vector<std::string> errors;
  const auto text = config::ReadFile(path, &errors);
  auto config = text ? ParseConfig(*text, "", &errors) : std::nullopt;
  Check(config.has_value(), errors.empty() ? path.c_str() : errors.front().c_str());
  std::string error;
  auto rules = RuleSet::Compile(std::move(config->filters), &error);
  Check(rules != nullptr, error.c_str());
  return rules;
}

void PrintTable(const std::vector<Result>& results, const test::StateOfSources& state) {
  const char* set = "";
  for (const Result& result : results) {
    if (std::string_view(set) != result.set) {
      set = result.set;
      std::printf("%s: %zu filters, database %zu KiB, text %zu MiB; Gb/s, and share of bare\n", set,
                  result.filters, result.database_bytes >> 10, kTextBytes >> 20);
      std::printf("%8s", "chunk");
      for (const char* name : kNames) std::printf(" %14s", name);
      std::printf(" %10s %10s %10s %10s\n", "lines", "matched", "asked", "reported");
    }
    std::printf("%8zu", result.chunk_bytes);
    for (uint32_t who = 0; who < kContestants; ++who) {
      if (result.seconds[who] == 0) {
        std::printf(" %14s", "-");
      } else {
        std::printf(" %8.2f %5.2f", static_cast<double>(kTextBytes) * 8e-9 / result.seconds[who],
                    result.ratios[who]);
      }
    }
    std::printf(" %10lu %10lu %10lu %10lu\n", result.counted.lines, result.counted.matched_lines,
                result.counted.asked, result.reported);
  }
  std::printf(
      "state of %u sources: %.1f MiB, of which unfinished lines %.1f MiB; %lu lines given "
      "up\n",
      state.sources, static_cast<double>(state.bytes()) / (1 << 20),
      static_cast<double>(state.unfinished_bytes) / (1 << 20), state.given_up_lines);
}

void PrintJson(const std::vector<Result>& results, const test::StateOfSources& state,
               double tsc_hz) {
  std::printf("{\"tsc_hz\": %.0f,\n \"scans\": [", tsc_hz);
  const double cycles = tsc_hz / static_cast<double>(kTextBytes);
  const char* comma = "\n";
  for (const Result& result : results) {
    std::printf(
        "%s  {\"set\": \"%s\", \"chunk_bytes\": %zu, \"lines\": %lu, "
        "\"matched_lines\": %lu",
        std::exchange(comma, ",\n"), result.set, result.chunk_bytes, result.counted.lines,
        result.counted.matched_lines);
    for (uint32_t who = 0; who < kContestants; ++who) {
      if (result.seconds[who] == 0) continue;
      std::printf(", \"%s_cycles_per_byte\": %.4f, \"%s_ratio\": %.4f", kNames[who],
                  result.seconds[who] * cycles, kNames[who], result.ratios[who]);
    }
    std::printf("}");
  }
  std::printf(
      "],\n \"state\": {\"sources\": %u, \"bytes\": %lu, \"unfinished_bytes\": %lu, "
      "\"given_up_lines\": %lu}}\n",
      state.sources, state.bytes(), state.unfinished_bytes, state.given_up_lines);
}

bool Parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    const char* const value = equals == argument.npos ? "" : argv[i] + equals + 1;
    if (name == "--rounds")
      options.rounds = std::atoi(value);
    else if (name == "--chunk")
      options.chunks = {std::strtoull(value, nullptr, 10)};
    else if (name == "--configs")
      options.configs = value;
    else if (name == "--texts")
      options.texts = value;
    else if (name == "--only")
      options.only = value;
    else if (name == "--count")
      options.count = value;
    else if (argument == "--json")
      options.json = true;
    else
      return false;
  }
  const bool known =
      options.only.empty() || std::find(kNames.begin(), kNames.end(), options.only) != kNames.end();
  const bool counts =
      options.count.empty() || ((options.count == "light" || options.count == "heavy") &&
                                options.chunks[0] <= kMostOfADatagram);
  return known && counts && options.rounds > 0 && options.chunks[0] > 0 &&
         options.chunks[0] <= kTextBytes;
}

void WriteText(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  Check(file.good(), ("cannot write " + path).c_str());
}

/// Processes the frames of one text once and prints their number, for callgrind.
int Count(const RuleSet& rules, std::string_view text, const Options& options) {
  test::FramesInMemory frames(rules, text, options.chunks[0]);
  frames.Process(kFramesAtOnce);
  std::printf("%zu requests\n", frames.size());
  return 0;
}

int Run(const Options& options) {
  test::LogText log(1);
  std::string service = log.Service(kTextBytes);
  std::string auth = log.Auth(kTextBytes);
  if (!options.texts.empty()) {
    WriteText(options.texts + "/light.log", service);
    WriteText(options.texts + "/heavy.log", auth);
    return 0;
  }
  service.resize(kTextBytes);
  auth.resize(kTextBytes);
  const auto light = Compile(options.configs + "/logmon-light.json");
  const auto heavy = Compile(options.configs + "/logmon-heavy.json");
  if (options.count == "light") return Count(*light, service, options);
  if (options.count == "heavy") return Count(*heavy, auth, options);
  const double start = Seconds(CLOCK_MONOTONIC);
  const uint64_t cycles = rte_rdtsc();
  std::vector<Result> results;
  for (const size_t chunk : options.chunks) {
    results.push_back(Measure("light", *light, service, chunk, options));
  }
  for (const size_t chunk : options.chunks) {
    results.push_back(Measure("heavy", *heavy, auth, chunk, options));
  }
  const double seconds = Seconds(CLOCK_MONOTONIC) - start;
  const double tsc_hz = static_cast<double>(rte_rdtsc() - cycles) / seconds;
  const test::StateOfSources state = test::MeasureState(*light, service, kSources);
  if (options.json) {
    PrintJson(results, state, tsc_hz);
  } else {
    PrintTable(results, state);
  }
  return 0;
}

}  // namespace
}  // namespace sluice::engine::logmon

int main(int argc, char** argv) {
  sluice::engine::logmon::Options options;
  if (!sluice::engine::logmon::Parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: %s [--rounds=N] [--chunk=BYTES] [--configs=FOLDER] [--json] "
                 "[--texts=FOLDER] [--only=bare|scanner|bursts|frames] [--count=light|heavy]\n",
                 argv[0]);
    return 2;
  }
  return sluice::engine::logmon::Run(options);
}
