// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-logmon-bench [ROUNDS]: LineScanner on one core, beside bare hs_scan_stream with the same
// expressions over the same payload in the same chunks, one stream in memory. Bare Hyperscan
// counts what it reports, and no more: it knows no lines, asks no filter, and its text is lost
// when a match is found. Rounds alternate; CPU time; the ratio is the median of all rounds', and
// the rates are each one's best. Then: memory of 100000 sources with a line begun each.
#include <hs/hs.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "engine/logmon/scan/line_scanner.h"
#include "log_text.h"

namespace sluice::engine::logmon {
namespace {

constexpr size_t kTextBytes = size_t{8} << 20;

void Check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "sluice-logmon-bench: %s\n", what);
  std::exit(1);
}

/// Of this thread: what others take of the core does not count.
double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

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

void Measure(const char* name, const RuleSet& rules, std::string_view text, int rounds) {
  BareStream bare(rules.expressions());
  std::printf("%s: %zu filters, database %zu KiB, text %zu MiB\n", name, rules.filters().size(),
              rules.database_bytes() >> 10, text.size() >> 20);
  std::printf("%10s %10s %10s %8s %12s %12s %10s %10s\n", "chunk", "scanner", "bare", "ratio",
              "lines", "matched", "asked", "reported");
  for (const size_t chunk_bytes : {size_t{64}, size_t{1472}, size_t{9000}, size_t{65536}}) {
    LineScanner scanner(rules, {});
    ScanCounters before, counters;
    uint64_t reported = 0;
    double best = 1e9, best_bare = 1e9;
    std::vector<double> ratios;
    for (int round = 0; round < rounds; ++round) {
      before = scanner.counters();
      const double start = CpuSeconds();
      LineState state;
      const auto sink = [](const MatchedLine&) {};
      ForEachChunk(text, chunk_bytes,
                   [&](std::string_view chunk) { scanner.Feed(state, chunk, sink); });
      scanner.Finish(state, sink);
      const double between = CpuSeconds();
      reported = bare.Scan(text, chunk_bytes);
      const double end = CpuSeconds();
      counters = scanner.counters();
      best = std::min(best, between - start);
      best_bare = std::min(best_bare, end - between);
      ratios.push_back((end - between) / (between - start));
    }
    const double gigabits = static_cast<double>(text.size()) * 8 / 1e9;
    std::printf("%10zu %10.2f %10.2f %8.2f %12lu %12lu %10lu %10lu\n", chunk_bytes,
                gigabits / best, gigabits / best_bare, Median(ratios),
                counters.lines - before.lines, counters.matched_lines - before.matched_lines,
                counters.asked - before.asked, reported);
    std::fflush(stdout);
  }
}

/// Sources that each stopped somewhere in a line of `text`.
void PrintStateOfSources(const RuleSet& rules, std::string_view text) {
  constexpr size_t kSources = 100000;
  LineScanner scanner(rules, {});
  std::vector<LineState> states(kSources);
  std::mt19937_64 random(1);
  uint64_t partial_bytes = 0;
  for (LineState& state : states) {
    const std::string_view chunk = text.substr(random() % (text.size() - 1472), 1472);
    scanner.Feed(state, chunk, [](const MatchedLine&) {});
    partial_bytes += chunk.size() - chunk.rfind('\n') - 1;
  }
  const uint64_t bytes = scanner.unfinished_bytes() + states.size() * sizeof(LineState);
  std::printf("state of %zu sources: %.1f MiB, %.1f bytes each, for %.1f bytes of their lines; "
              "%lu lines given up\n", kSources, static_cast<double>(bytes) / (1 << 20),
              static_cast<double>(bytes) / kSources,
              static_cast<double>(partial_bytes) / kSources, scanner.counters().no_memory_lines);
  for (LineState& state : states) scanner.Forget(state);
}

std::unique_ptr<const RuleSet> Compile(const std::vector<std::string>& patterns, bool cloud_watch) {
  std::vector<Filter> filters;
  std::string error;
  for (const std::string& pattern : patterns) {
    auto filter =
        cloud_watch ? Filter::CloudWatch(pattern, &error) : Filter::Regex(pattern, &error);
    Check(filter.has_value(), error.c_str());
    filters.push_back(std::move(*filter));
  }
  auto rules = RuleSet::Compile(std::move(filters), &error);
  Check(rules != nullptr, error.c_str());
  return rules;
}

int Main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  Check(rounds > 0, "usage: sluice-logmon-bench [ROUNDS]");
  test::LogText log(1);
  const std::string service = log.Service(kTextBytes);
  const std::string auth = log.Auth(kTextBytes);
  const auto light = Compile(test::LightPatterns(), true);
  const auto heavy = Compile(test::HeavyExpressions(), false);
  Measure("light", *light, service, rounds);
  Measure("heavy", *heavy, auth, rounds);
  PrintStateOfSources(*light, service);
  return 0;
}

}  // namespace
}  // namespace sluice::engine::logmon

int main(int argc, char** argv) { return sluice::engine::logmon::Main(argc, argv); }
