// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the cost and the accuracy of counting: the complete engine, librte_member's sketch and a
// plain count-min, over one trace in memory, on one core, in one run. The engine receives bursts of
// 128 frames, the others keys of 8 bytes.
//
//   sluice-telemetry-bench [--packets=20000000] [--flows=200000] [--exponent=1] [--seed=1]
//                          [--repeats=3] [--only=NAME,...] [--json]
//
// ns/packet: CPU time of the fastest repeat, since the machine may be loaded. ARE: average relative
// error of the k truly largest flows. recall: number of the 100 truly largest flows among the 100
// reported ones.
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_member.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/telemetry/analyst.h"
#include "engine/telemetry/estimator.h"
#include "engine/telemetry/meter.h"
#include "engine/workload/popularity.h"
#include "traffic.h"

namespace sluice::engine::telemetry {
namespace {

constexpr uint32_t kTop = 100;

struct Options {
  uint64_t packets = 20'000'000;
  uint64_t flows = 200'000;
  double exponent = 1;
  uint64_t seed = 1;
  int repeats = 3;
  std::string only;
  bool json = false;
};

struct Trace {
  explicit Trace(const Options& options)
      : flow_of_packet(options.packets), counts(options.flows), frames(options.flows * kStride) {
    const engine::workload::Popularity popularity(options.flows, options.exponent);
    engine::workload::Random random(options.seed);
    // Shuffles the flow numbers, so that they do not reveal the rank.
    std::vector<uint32_t> flow_of_rank(options.flows);
    std::iota(flow_of_rank.begin(), flow_of_rank.end(), 0u);
    for (size_t i = flow_of_rank.size(); i > 1; --i) {
      std::swap(flow_of_rank[i - 1], flow_of_rank[random.Below(i)]);
    }
    for (uint32_t& flow : flow_of_packet) {
      flow = flow_of_rank[popularity.Draw(random)];
      ++counts[flow];
    }
    for (uint32_t flow = 0; flow < options.flows; ++flow) {
      const auto frame = test::FrameOf(flow);
      std::copy(frame.begin(), frame.end(), &frames[flow * kStride]);
      keys.push_back(uint64_t{flow} * 0x9e3779b97f4a7c15);
    }
    largest.resize(options.flows);
    std::iota(largest.begin(), largest.end(), 0u);
    std::stable_sort(largest.begin(), largest.end(),
                     [&](uint32_t a, uint32_t b) { return counts[a] > counts[b]; });
  }

  static constexpr size_t kStride = 64;
  std::vector<uint32_t> flow_of_packet;
  std::vector<uint64_t> counts;   ///< Exact counts.
  std::vector<uint32_t> largest;  ///< Flows in descending order of their counts.
  std::vector<uint8_t> frames;
  std::vector<uint64_t> keys;
};

/// Returns this thread's CPU time, which excludes the time of other threads on the core.
double ProcessorNs() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// A contestant, which counts the trace once and then reports its results.
struct Counter {
  virtual ~Counter() = default;
  /// Counts the trace. Returns the CPU time.
  virtual double Count(const Trace& trace) = 0;
  /// Finishes the counting. Called after Count; not timed.
  virtual void Conclude() {}
  virtual double Estimate(const Trace& trace, uint32_t flow) const = 0;
  virtual std::vector<uint32_t> Reported(const Trace& trace) const = 0;
  virtual uint64_t MemoryBytes() const = 0;  ///< 0 if unknown.
};

class Sluice : public Counter {
 public:
  explicit Sluice(const Setup& setup)
      : meter_(setup, 0, kCyclesPerSecond, 0), analyst_(setup, kCyclesPerSecond) {}

  double Count(const Trace& trace) override {
    // The ring has enough frames to exceed a core's caches. They are stored as a NIC stores them,
    // with their lengths in a separate array.
    constexpr size_t kRing = 65536;
    std::vector<uint8_t> ring(kRing * Trace::kStride);
    std::vector<uint32_t> lengths(kRing);
    const auto& packets = trace.flow_of_packet;
    double ns = 0;
    for (size_t at = 0; at < packets.size(); at += kRing) {
      const size_t count = std::min(kRing, packets.size() - at);
      for (size_t i = 0; i < count; ++i) {
        std::memcpy(&ring[i * Trace::kStride], &trace.frames[packets[at + i] * Trace::kStride],
                    test::kFrameBytes);
        lengths[i] = test::kFrameBytes;
      }
      ns -= ProcessorNs();
      for (size_t i = 0; i < count; i += kBurst) {
        Process(&ring[i * Trace::kStride],
                std::span(lengths).subspan(i).first(std::min(kBurst, count - i)));
      }
      meter_.AtRest(0);
      ns += ProcessorNs();
    }
    return ns;
  }
  void Conclude() override {
    meter_.Finish(1);
    const Epoch* const epoch = meter_.Closed();
    report_ = *analyst_.Report({&epoch, 1});
    estimator_.emplace(epoch->counters[0].levels()[0], *epoch);
  }
  double Estimate(const Trace&, uint32_t flow) const override {
    const packet::FlowKey key = test::KeyOf(flow);
    return estimator_->Of(meter_.Closed()->counters[0].HashOf(key)).packets.value;
  }
  std::vector<uint32_t> Reported(const Trace& trace) const override {
    std::unordered_map<packet::FlowKey, uint32_t> flows;
    for (uint32_t flow = 0; flow < trace.counts.size(); ++flow) flows[test::KeyOf(flow)] = flow;
    std::vector<uint32_t> reported;
    for (const FlowRecord& record : report_.keys[0].heavy_hitters) {
      if (reported.size() < kTop) reported.push_back(flows.at(record.key));
    }
    return reported;
  }
  uint64_t MemoryBytes() const override {
    return meter_.memory_bytes() / 2;
  }  // The memory of one of the two buffers.

 private:
  static constexpr uint64_t kCyclesPerSecond = 1'000'000'000;
  static constexpr size_t kBurst = 128;  ///< Burst size of streaming and bilateral queues.

  /// Processes a burst as an interface does that knows the lengths without reading the frames.
  void Process(uint8_t* frames, std::span<const uint32_t> lengths) {
    packet::BurstTotals totals;
    for (const uint32_t length : lengths) totals.Add(length);
    packet::FoundBurst burst(
        static_cast<uint32_t>(lengths.size()), totals,
        [&](uint32_t number) {
          return packet::Frame{frames + number * Trace::kStride, lengths[number], 0, 4};
        },
        [](uint32_t, const packet::Frame&, packet::Verdict) {});
    meter_.ProcessBurst(burst, 0);
  }

  Meter meter_;
  Analyst analyst_;
  EpochReport report_;
  std::optional<Estimator> estimator_;
};

class Member : public Counter {
 public:
  Member(float error, float probability, bool bounded) {
    rte_member_parameters parameters{};
    parameters.name = "bench";
    parameters.type = RTE_MEMBER_TYPE_SKETCH;
    parameters.key_len = sizeof(uint64_t);
    parameters.prim_hash_seed = 1;
    parameters.sec_hash_seed = 2;
    parameters.error_rate = error;
    parameters.sample_rate = probability;
    parameters.top_k = kTop;
    parameters.extra_flag = bounded ? RTE_MEMBER_SKETCH_ALWAYS_BOUNDED : 0;
    parameters.socket_id = 0;
    sketch_ = rte_member_create(&parameters);
    if (sketch_ == nullptr) {
      std::fprintf(stderr, "librte_member: %s\n", rte_strerror(rte_errno));
      std::exit(1);
    }
  }
  ~Member() override { rte_member_free(sketch_); }

  double Count(const Trace& trace) override {
    const double start = ProcessorNs();
    for (const uint32_t flow : trace.flow_of_packet) {
      rte_member_add(sketch_, &trace.keys[flow], 1);
    }
    return ProcessorNs() - start;
  }
  double Estimate(const Trace& trace, uint32_t flow) const override {
    uint64_t count = 0;
    rte_member_query_count(sketch_, &trace.keys[flow], &count);
    return static_cast<double>(count);
  }
  std::vector<uint32_t> Reported(const Trace& trace) const override {
    std::unordered_map<uint64_t, uint32_t> flows;
    for (uint32_t flow = 0; flow < trace.keys.size(); ++flow) flows[trace.keys[flow]] = flow;
    std::array<uint64_t, kTop> keys{}, counts{};
    std::array<void*, kTop> places;
    for (uint32_t i = 0; i < kTop; ++i) places[i] = &keys[i];
    const int found = rte_member_report_heavyhitter(sketch_, places.data(), counts.data());
    std::vector<uint32_t> reported;
    for (int i = 0; i < found; ++i) {
      // The library either copies keys to the memory that `places` points to, or replaces the
      // pointers.
      uint64_t key;
      std::memcpy(&key, places[static_cast<size_t>(i)], sizeof(key));
      const auto flow = flows.find(key);
      if (flow != flows.end()) reported.push_back(flow->second);
    }
    std::sort(reported.begin(), reported.end());
    reported.erase(std::unique(reported.begin(), reported.end()), reported.end());
    return reported;
  }
  uint64_t MemoryBytes() const override { return 0; }

 private:
  rte_member_setsum* sketch_;
};

/// A count-min sketch that counts every packet and returns the minimum over the rows. It has no
/// list of large flows.
class Plain : public Counter {
 public:
  double Count(const Trace& trace) override {
    const double start = ProcessorNs();
    for (const uint32_t flow : trace.flow_of_packet) {
      for (uint32_t row = 0; row < kRows; ++row) ++counters_[At(row, trace.keys[flow])];
    }
    return ProcessorNs() - start;
  }
  double Estimate(const Trace& trace, uint32_t flow) const override {
    uint64_t least = ~uint64_t{0};
    for (uint32_t row = 0; row < kRows; ++row) {
      least = std::min(least, counters_[At(row, trace.keys[flow])]);
    }
    return static_cast<double>(least);
  }
  std::vector<uint32_t> Reported(const Trace&) const override { return {}; }
  uint64_t MemoryBytes() const override { return counters_.size() * sizeof(uint64_t); }

 private:
  static constexpr uint32_t kRows = 5, kColumns = 102'400;

  static size_t At(uint32_t row, uint64_t key) {
    const uint64_t hash = engine::workload::Mix(key + (row + 1) * 0x9e3779b97f4a7c15);
    return row * kColumns + ((hash >> 32) * kColumns >> 32);
  }

  std::vector<uint64_t> counters_ = std::vector<uint64_t>(kRows * kColumns);
};

struct Result {
  double ns = 0;
  double are_100 = 0, are_1000 = 0;
  double recall = -1;  ///< -1 if the counter does not report flows.
  uint64_t memory = 0;
};

double AverageRelativeError(const Trace& trace, const Counter& counter, size_t flows) {
  double sum = 0;
  for (size_t i = 0; i < flows; ++i) {
    const uint32_t flow = trace.largest[i];
    const auto exact = static_cast<double>(trace.counts[flow]);
    sum += std::abs(counter.Estimate(trace, flow) - exact) / exact;
  }
  return sum / static_cast<double>(flows);
}

Result Measure(const Trace& trace, int repeats,
               const std::function<std::unique_ptr<Counter>(int)>& make) {
  Result result{.ns = 1e9};
  double recall = 0;
  bool reports = false;
  for (int i = 0; i < repeats; ++i) {
    const std::unique_ptr<Counter> counter = make(i);
    const double ns = counter->Count(trace);
    result.ns = std::min(result.ns, ns / static_cast<double>(trace.flow_of_packet.size()));
    counter->Conclude();
    // The errors depend on the samples, so they are averaged over the repeats.
    result.are_100 += AverageRelativeError(trace, *counter, kTop) / repeats;
    result.are_1000 += AverageRelativeError(trace, *counter, 10 * kTop) / repeats;
    const std::vector<uint32_t> reported = counter->Reported(trace);
    reports |= !reported.empty();
    for (uint32_t rank = 0; rank < kTop; ++rank) {
      recall += std::count(reported.begin(), reported.end(), trace.largest[rank]) == 1;
    }
    result.memory = counter->MemoryBytes();
  }
  if (reports) result.recall = recall / kTop / repeats;
  return result;
}

bool Parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    const char* const value = equals == argument.npos ? "" : argv[i] + equals + 1;
    if (name == "--packets")
      options.packets = std::strtoull(value, nullptr, 10);
    else if (name == "--flows")
      options.flows = std::strtoull(value, nullptr, 10);
    else if (name == "--exponent")
      options.exponent = std::strtod(value, nullptr);
    else if (name == "--seed")
      options.seed = std::strtoull(value, nullptr, 10);
    else if (name == "--repeats")
      options.repeats = std::atoi(value);
    else if (name == "--only")
      options.only = value;
    else if (argument == "--json")
      options.json = true;
    else
      return false;
  }
  return options.packets > 0 && options.flows >= 10 * kTop && options.flows < 1 << 24 &&
         options.exponent >= 0 && options.repeats > 0;
}

int Run(const Options& options) {
  const Trace trace(options);
  Setup setup;
  setup.top_k = kTop;
  setup.pace = Pace::kFixed;
  setup.heavy_hitter_share = 0;
  const auto sluice = [&](auto... changes) {
    Setup changed = setup;
    (changes(changed), ...);
    return [changed](int repeat) {
      Setup seeded = changed;
      seeded.seed = 1 + static_cast<uint64_t>(repeat);
      return std::make_unique<Sluice>(seeded);
    };
  };
  const auto member = [](float error, float probability, bool bounded) {
    return [=](int) { return std::make_unique<Member>(error, probability, bounded); };
  };
  const auto twelve_rows = [](Setup& s) { s.rows = 12; };
  const auto five_rows = [](Setup& s) { s.rows = 5; };
  const auto correct = [](Setup& s) { s.pace = Pace::kAlwaysCorrect; };
  const auto minimum = [](Setup& s) { s.sketch = SketchKind::kCountMin; };
  const auto every = [](Setup& s) { s.probability = 1; };
  const auto levels = [](Setup& s) { s.levels = 16; };
  const auto keys = [](Setup& s) {
    s.keys = {{}, {KeyKind::kSource}, {KeyKind::kDestination}, {KeyKind::kSource, 24, 64}};
  };
  const std::vector<std::pair<std::string, std::function<std::unique_ptr<Counter>(int)>>> all = {
      {"sluice_p0.01", sluice()},
      {"sluice_p0.01_rows12", sluice(twelve_rows)},
      {"sluice_p0.01_rows5", sluice(five_rows)},
      {"sluice_p0.01_count_min", sluice(minimum)},
      {"sluice_p0.01_correct", sluice(correct)},
      {"sluice_p0.01_univmon", sluice(levels)},
      {"sluice_p0.01_4_keys", sluice(keys)},
      {"sluice_p1", sluice(every)},
      {"sluice_p1_count_min_rows5", sluice(every, minimum, five_rows)},
      {"rte_member_p0.01", member(0.01f, 0.01f, false)},
      {"rte_member_p0.01_bounded", member(0.01f, 0.01f, true)},
      {"plain_count_min", [](int) { return std::make_unique<Plain>(); }},
  };
  if (!options.json) {
    std::printf("%-26s %9s %7s %10s %11s %11s %11s\n", "", "ns/packet", "Mpps", "ARE top100",
                "ARE top1000", "recall@100", "memory MiB");
  }
  bool first = true;
  for (const auto& [name, make] : all) {
    const bool asked = ("," + options.only + ",").find("," + name + ",") != std::string::npos;
    if (!options.only.empty() && !asked) continue;
    const Result result = Measure(trace, options.repeats, make);
    if (options.json) {
      std::printf(
          "%s{\"name\": \"%s\", \"ns_per_packet\": %.3f, \"are_top100\": %.6f, "
          "\"are_top1000\": %.6f, ",
          first ? "[" : ",\n ", name.c_str(), result.ns, result.are_100, result.are_1000);
      if (result.recall >= 0) std::printf("\"recall_at_100\": %.4f, ", result.recall);
      std::printf("\"memory_bytes\": %llu}", static_cast<unsigned long long>(result.memory));
    } else {
      std::printf("%-26s %9.2f %7.1f %9.2f%% %10.2f%% ", name.c_str(), result.ns, 1e3 / result.ns,
                  100 * result.are_100, 100 * result.are_1000);
      result.recall >= 0 ? std::printf("%11.3f ", result.recall) : std::printf("%11s ", "");
      result.memory != 0 ? std::printf("%11.1f\n", static_cast<double>(result.memory) / (1 << 20))
                         : std::printf("%11s\n", "not told");
      std::fflush(stdout);
    }
    first = false;
  }
  if (options.json) std::printf("]\n");
  return 0;
}

}  // namespace
}  // namespace sluice::engine::telemetry

int main(int argc, char** argv) {
  sluice::engine::telemetry::Options options;
  if (!sluice::engine::telemetry::Parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: %s [--packets=N] [--flows=1000…] [--exponent=X] [--seed=N] "
                 "[--repeats=N] [--only=NAME,...] [--json]\n",
                 argv[0]);
    return 2;
  }
  const char* eal[] = {argv[0],          "--no-huge", "--no-shconf", "--no-pci",
                       "--no-telemetry", "-m",        "256",         "--log-level=error"};
  if (rte_eal_init(static_cast<int>(std::size(eal)), const_cast<char**>(eal)) < 0) return 1;
  return sluice::engine::telemetry::Run(options);
}
