// SPDX-License-Identifier: BSD-3-Clause
//
// LineScanner on one core, beside bare hs_scan_stream with the same expressions over the same
// payload in the same chunks, one stream in memory. Bare Hyperscan counts what it reports, and no
// more: it knows no lines, asks no filter, and its text is lost when a match is found. Then: the
// memory of a monitor with 100000 sources that each stopped in a line.
//
//   sluice-logmon-bench [--rounds=9] [--chunk=BYTES] [--configs=configs] [--json] [--texts=FOLDER]
//
// Rounds alternate; CPU time; ratios are the median of all rounds', times each one's best. Filters
// are those of logmon-light.json and logmon-heavy.json in the folder `configs`. --texts only writes
// what is scanned to light.log and heavy.log there.
#include <hs/hs.h>
#include <rte_cycles.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config.h"
#include "engine/logmon/scan/line_scanner.h"
#include "log_text.h"
#include "runtime/json_reader.h"
#include "state_of_sources.h"

namespace sluice::engine::logmon {
namespace {

constexpr size_t kTextBytes = size_t{8} << 20;
constexpr uint32_t kSources = 100000;

struct Options {
  int rounds = 9;
  std::vector<size_t> chunks{64, 1472, 9000, 65536};
  std::string configs = "configs";
  std::string texts;  ///< Folder; empty: measure.
  bool json = false;
};

void Check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "sluice-logmon-bench: %s\n", what);
  std::exit(1);
}

double Seconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

/// Of this thread: what others take of the core does not count.
double CpuSeconds() { return Seconds(CLOCK_THREAD_CPUTIME_ID); }

template <typename Work>
void ForEachChunk(std::string_view text, size_t bytes, Work&& work) {
  for (size_t at = 0; at < text.size(); at += bytes) work(text.substr(at, bytes));
}

class BareStream {
 public:
  explicit BareStream(const std::vector<std::string>& expressions) {
    std::vector<const char*> patterns;
    std::vector<unsigned> ids, flags(expressions.size(), RuleSet::kHyperscanFlags);
    for (const std::string& expression : expressions) {
      ids.push_back(static_cast<unsigned>(ids.size()));
      patterns.push_back(expression.c_str());
    }
    hs_compile_error_t* wrong = nullptr;
    Check(hs_compile_multi(patterns.data(), flags.data(), ids.data(),
                           static_cast<unsigned>(patterns.size()), HS_MODE_STREAM, nullptr,
                           &database_, &wrong) == HS_SUCCESS, "the stream database failed");
    Check(hs_alloc_scratch(database_, &scratch_) == HS_SUCCESS, "no scratch");
  }
  ~BareStream() {
    hs_free_scratch(scratch_);
    hs_free_database(database_);
  }
  BareStream(const BareStream&) = delete;

  uint64_t Scan(std::string_view text, size_t chunk_bytes) {
    uint64_t reported = 0;
    const auto count = [](unsigned, unsigned long long, unsigned long long, unsigned,
                          void* counter) {
      ++*static_cast<uint64_t*>(counter);
      return 0;
    };
    hs_stream_t* stream = nullptr;
    Check(hs_open_stream(database_, 0, &stream) == HS_SUCCESS, "no stream");
    ForEachChunk(text, chunk_bytes, [&](std::string_view chunk) {
      hs_scan_stream(stream, chunk.data(), static_cast<unsigned>(chunk.size()), 0, scratch_,
                     count, &reported);
    });
    hs_close_stream(stream, scratch_, count, &reported);
    return reported;
  }

 private:
  hs_database_t* database_ = nullptr;
  hs_scratch_t* scratch_ = nullptr;
};

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

/// Of one rule set and size of chunks.
struct Result {
  const char* set;
  size_t filters, database_bytes, chunk_bytes;
  double scanner_s = 1e9, bare_s = 1e9;  ///< CPU time of the best round.
  double ratio = 0;                      ///< Bare over scanner: median of the rounds'.
  ScanCounters counted;                  ///< Of a round.
  uint64_t reported = 0;                 ///< By bare Hyperscan in a round.
};

ScanCounters operator-(const ScanCounters& after, const ScanCounters& before) {
  return {.lines = after.lines - before.lines,
          .matched_lines = after.matched_lines - before.matched_lines,
          .asked = after.asked - before.asked};
}

Result Measure(const char* set, const RuleSet& rules, std::string_view text, size_t chunk_bytes,
               int rounds) {
  Result result{.set = set,
                .filters = rules.filters().size(),
                .database_bytes = rules.database_bytes(),
                .chunk_bytes = chunk_bytes,
                .counted = {}};
  BareStream bare(rules.expressions());
  LineScanner scanner(rules, {});
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    const ScanCounters before = scanner.counters();
    const double start = CpuSeconds();
    LineState state;
    const auto sink = [](const MatchedLine&) {};
    ForEachChunk(text, chunk_bytes,
                 [&](std::string_view chunk) { scanner.Feed(state, chunk, sink); });
    scanner.Finish(state, sink);
    const double between = CpuSeconds();
    result.reported = bare.Scan(text, chunk_bytes);
    const double end = CpuSeconds();
    result.counted = scanner.counters() - before;
    result.scanner_s = std::min(result.scanner_s, between - start);
    result.bare_s = std::min(result.bare_s, end - between);
    ratios.push_back((end - between) / (between - start));
  }
  result.ratio = Median(ratios);
  return result;
}

std::unique_ptr<const RuleSet> Compile(const std::string& path) {
  std::vector<std::string> errors;
  const auto text = runtime::ReadFile(path, &errors);
  auto config = text ? sluice::logmon::ParseConfig(*text, "", &errors) : std::nullopt;
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
      std::printf("%s: %zu filters, database %zu KiB, text %zu MiB; Gb/s\n", set, result.filters,
                  result.database_bytes >> 10, kTextBytes >> 20);
      std::printf("%10s %10s %10s %8s %12s %12s %10s %10s\n", "chunk", "scanner", "bare", "ratio",
                  "lines", "matched", "asked", "reported");
    }
    const double gigabits = static_cast<double>(kTextBytes) * 8 / 1e9;
    std::printf("%10zu %10.2f %10.2f %8.2f %12lu %12lu %10lu %10lu\n", result.chunk_bytes,
                gigabits / result.scanner_s, gigabits / result.bare_s, result.ratio,
                result.counted.lines, result.counted.matched_lines, result.counted.asked,
                result.reported);
  }
  std::printf("state of %u sources: %.1f MiB, of which unfinished lines %.1f MiB; %lu lines given "
              "up\n", state.sources, static_cast<double>(state.bytes()) / (1 << 20),
              static_cast<double>(state.unfinished_bytes) / (1 << 20), state.given_up_lines);
}

void PrintJson(const std::vector<Result>& results, const test::StateOfSources& state,
               double tsc_hz) {
  std::printf("{\"tsc_hz\": %.0f,\n \"scans\": [", tsc_hz);
  const double cycles = tsc_hz / static_cast<double>(kTextBytes);
  const char* comma = "\n";
  for (const Result& result : results) {
    std::printf("%s  {\"set\": \"%s\", \"chunk_bytes\": %zu, \"scanner_cycles_per_byte\": %.4f, "
                "\"bare_cycles_per_byte\": %.4f, \"ratio\": %.4f, \"lines\": %lu, "
                "\"matched_lines\": %lu}",
                std::exchange(comma, ",\n"), result.set, result.chunk_bytes,
                result.scanner_s * cycles, result.bare_s * cycles, result.ratio,
                result.counted.lines, result.counted.matched_lines);
  }
  std::printf("],\n \"state\": {\"sources\": %u, \"bytes\": %lu, \"unfinished_bytes\": %lu, "
              "\"given_up_lines\": %lu}}\n",
              state.sources, state.bytes(), state.unfinished_bytes, state.given_up_lines);
}

bool Parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    const char* const value = equals == argument.npos ? "" : argv[i] + equals + 1;
    if (name == "--rounds") options.rounds = std::atoi(value);
    else if (name == "--chunk") options.chunks = {std::strtoull(value, nullptr, 10)};
    else if (name == "--configs") options.configs = value;
    else if (name == "--texts") options.texts = value;
    else if (argument == "--json") options.json = true;
    else return false;
  }
  return options.rounds > 0 && options.chunks[0] > 0 && options.chunks[0] <= kTextBytes;
}

void WriteText(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  Check(file.good(), ("cannot write " + path).c_str());
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
  const double start = Seconds(CLOCK_MONOTONIC);
  const uint64_t cycles = rte_rdtsc();
  std::vector<Result> results;
  for (const size_t chunk : options.chunks) {
    results.push_back(Measure("light", *light, service, chunk, options.rounds));
  }
  for (const size_t chunk : options.chunks) {
    results.push_back(Measure("heavy", *heavy, auth, chunk, options.rounds));
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
    std::fprintf(stderr, "usage: %s [--rounds=N] [--chunk=BYTES] [--configs=FOLDER] [--json] "
                 "[--texts=FOLDER]\n", argv[0]);
    return 2;
  }
  return sluice::engine::logmon::Run(options);
}
