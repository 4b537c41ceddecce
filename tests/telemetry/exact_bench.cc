// SPDX-License-Identifier: BSD-3-Clause
//
// Counts one epoch with the engine in sluice-telemetry's configuration, with its sketch alone, with
// Space-Saving and with a plain count-min. Compares their costs and their recall of the 100 largest
// flows. All receive the same frames in bursts of 128 and read the 5-tuple of each frame in the
// same way as the engine.
//
//   sluice-telemetry-epoch-bench [--traffic=churn|ddos|fits|large] [--packets=N] [--skip=N]
//                                [--only=NAME]
//
// --skip: number of packets before the timed ones. Under `valgrind --tool=callgrind
// --toggle-collect='Worker*'` with --only, callgrind's sum is the number of instructions for the
// same packets.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/telemetry/analyst.h"
#include "engine/telemetry/five_tuple.h"
#include "engine/telemetry/flow_estimator.h"
#include "engine/telemetry/meter.h"
#include "exact_traffic.h"
#include "traffic.h"

namespace sluice::engine::telemetry {

constexpr uint32_t kTop = 100;
constexpr uint32_t kBurst = 128;
constexpr size_t kStride = 64;

/// What an interface sees: frames, and their lengths in a separate array.
struct Frames {
  const uint8_t* bytes;
  uint32_t count;
};

struct Counter {
  virtual ~Counter() = default;
  virtual void Count(Frames frames) = 0;
  virtual void AtRest() {}
  virtual void Conclude() {}
  virtual double Estimate(const packet::FlowKey& key) const = 0;
  /// Returns the reported flows in descending order, or nullopt if the counter does not store keys.
  virtual std::optional<std::vector<packet::FlowKey>> Reported() const { return std::nullopt; }
  virtual uint64_t bytes() const = 0;
  virtual std::string About() const { return ""; }
};

/// Counts frames before the measurement. Excluded from callgrind's count.
[[gnu::noinline]] void Warm(Counter& counter, Frames frames) { counter.Count(frames); }
extern "C" [[gnu::noinline]] void WorkerCount(Counter& counter, Frames frames) {
  counter.Count(frames);
}

namespace {

class Sluice : public Counter {
 public:
  explicit Sluice(const Setup& setup) : meter_(setup, 0, kNs, 0), analyst_(setup, kNs) {}

  void Count(Frames frames) override {
    packet::BurstTotals totals;
    for (uint32_t i = 0; i < frames.count; ++i) totals.Add(test::kFrameBytes);
    packet::FoundBurst burst(
        frames.count, totals,
        [&](uint32_t number) {
          return packet::Frame{const_cast<uint8_t*>(frames.bytes) + number * kStride,
                               test::kFrameBytes, 0, 4};
        },
        [](uint32_t, const packet::Frame&, packet::Verdict) {});
    meter_.ProcessBurst(burst, 0);
  }
  void AtRest() override { meter_.AtRest(0); }
  void Conclude() override {
    meter_.Finish(1);
    const Epoch* const epoch = meter_.Closed();
    report_ = *analyst_.Report({&epoch, 1});
    estimator_.emplace(epoch->counters[0], *epoch);
  }
  double Estimate(const packet::FlowKey& key) const override {
    return estimator_->Of(meter_.Closed()->counters[0].HashOf(key)).packets.value;
  }
  std::optional<std::vector<packet::FlowKey>> Reported() const override {
    std::vector<packet::FlowKey> keys;
    for (const FlowRecord& record : report_.keys[0].heavy_hitters) keys.push_back(record.key);
    return keys;
  }
  uint64_t bytes() const override { return meter_.memory_bytes(); }
  std::string About() const override {
    uint32_t counts[3] = {};
    for (const FlowRecord& record : report_.keys[0].heavy_hitters) {
      ++counts[static_cast<uint32_t>(record.counted_by)];
    }
    const KeyReport& key = report_.keys[0];
    char text[300];
    int used = std::snprintf(text, sizeof text, "by table %u, sketch %u, both %u", counts[0],
                             counts[1], counts[2]);
    if (key.table) {
      used += std::snprintf(
          text + used, sizeof text - static_cast<size_t>(used), "; table of %llu flows%s",
          static_cast<unsigned long long>(key.table->flows),
          key.table->complete
              ? ""
              : (", " + std::to_string(key.table->flows - key.table->flows_left) + " to the end")
                    .c_str());
    }
    if (key.distinct_flows) {
      std::snprintf(text + used, sizeof text - static_cast<size_t>(used),
                    "; flows %.0f (%.0f to %.0f), entropy %.3f (%.3f to %.3f)",
                    key.distinct_flows->value, key.distinct_flows->low, key.distinct_flows->high,
                    key.entropy->value, key.entropy->low, key.entropy->high);
    }
    return text;
  }

 private:
  static constexpr uint64_t kNs = 1'000'000'000;

  Meter meter_;
  Analyst analyst_;
  EpochReport report_;
  std::optional<FlowEstimator> estimator_;
};

/// Calls `count` with the 5-tuple of each frame.
template <typename CountKey>
void EachKey(Frames frames, CountKey&& count) {
  for (uint32_t i = 0; i < frames.count; ++i) {
    const auto key = FiveTupleOf(frames.bytes + i * kStride, test::kFrameBytes);
    if (key) count(*key);
  }
}

/// Space-Saving (Metwally, Agrawal and El Abbadi, ICDT 2005) with as many counters as fit in the
/// memory. A flow that has no counter replaces the flow with the smallest counter.
class SpaceSaving : public Counter {
 public:
  explicit SpaceSaving(uint64_t bytes) : capacity_(bytes / kBytesEach) {
    heap_.reserve(capacity_);
    places_.reserve(capacity_);
  }

  void Count(Frames frames) override {
    EachKey(frames, [&](const packet::FlowKey& key) {
      const auto known = places_.find(key);
      if (known != places_.end()) {
        ++heap_[known->second].count;
        Sink(known->second);
      } else if (heap_.size() < capacity_) {
        places_.emplace(key, static_cast<uint32_t>(heap_.size()));
        heap_.push_back({key, 1});
        Rise(static_cast<uint32_t>(heap_.size() - 1));
      } else {
        places_.erase(heap_[0].key);
        heap_[0].key = key;
        ++heap_[0].count;
        places_.emplace(key, 0);
        Sink(0);
      }
    });
  }
  double Estimate(const packet::FlowKey& key) const override {
    const auto known = places_.find(key);
    return known == places_.end() ? 0 : static_cast<double>(heap_[known->second].count);
  }
  std::optional<std::vector<packet::FlowKey>> Reported() const override {
    std::vector<Node> nodes = heap_;
    std::ranges::sort(nodes, std::greater(), &Node::count);
    std::vector<packet::FlowKey> keys;
    for (size_t i = 0; i < std::min<size_t>(kTop, nodes.size()); ++i) keys.push_back(nodes[i].key);
    return keys;
  }
  uint64_t bytes() const override { return capacity_ * kBytesEach; }

 private:
  struct Node {
    packet::FlowKey key;
    uint64_t count;
  };
  static constexpr uint64_t kBytesEach = sizeof(Node) + sizeof(packet::FlowKey) + 4 + 1;

  void Put(uint32_t at, const Node& node) {
    heap_[at] = node;
    places_.find(node.key)->second = at;
  }
  void Sink(uint32_t at) {
    const Node node = heap_[at];
    for (uint32_t child; (child = 2 * at + 1) < heap_.size(); at = child) {
      if (child + 1 < heap_.size() && heap_[child + 1].count < heap_[child].count) ++child;
      if (heap_[child].count >= node.count) break;
      Put(at, heap_[child]);
    }
    Put(at, node);
  }
  void Rise(uint32_t at) {
    const Node node = heap_[at];
    for (; at != 0 && heap_[(at - 1) / 2].count > node.count; at = (at - 1) / 2) {
      Put(at, heap_[(at - 1) / 2]);
    }
    Put(at, node);
  }

  size_t capacity_;
  std::vector<Node> heap_;
  absl::flat_hash_map<packet::FlowKey, uint32_t> places_;
};

/// A count-min sketch of 5 rows by 2^18 columns of 32 bits, without keys.
class CountMin : public Counter {
 public:
  explicit CountMin(const Setup& setup) : hashes_(setup, 0) {}

  void Count(Frames frames) override {
    EachKey(frames, [&](const packet::FlowKey& key) {
      const uint64_t hash = hashes_.HashOf(key);
      for (uint32_t row = 0; row < kRows; ++row) ++counters_[At(row, hash)];
    });
  }
  double Estimate(const packet::FlowKey& key) const override {
    const uint64_t hash = hashes_.HashOf(key);
    uint32_t least = ~0u;
    for (uint32_t row = 0; row < kRows; ++row) least = std::min(least, counters_[At(row, hash)]);
    return least;
  }
  uint64_t bytes() const override { return counters_.size() * sizeof(uint32_t); }

 private:
  static constexpr uint32_t kRows = 5, kColumns = 1 << 18;
  static constexpr uint64_t kSalts[kRows] = {0x9e3779b97f4a7c15, 0xa0761d6478bd642f,
                                             0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3,
                                             0x589965cc75374cc3};

  static size_t At(uint32_t row, uint64_t hash) {
    return row * kColumns + (packet::FoldProduct(hash, kSalts[row]) & (kColumns - 1));
  }

  FlowCounter hashes_;  // A minimal sketch that is used only for its hash.
  std::vector<uint32_t> counters_ = std::vector<uint32_t>(kRows * kColumns);
};

double ProcessorNs() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

struct Truth {
  std::vector<uint32_t> counts = std::vector<uint32_t>(test::EpochTraffic::kFlows);
  std::vector<uint32_t> largest;  ///< The kTop largest flows.
  uint64_t flows = 0;
  double entropy = 0;

  explicit Truth(const test::EpochOptions& options) {
    test::EpochTraffic traffic(options);
    for (uint64_t i = 0; i < options.packets; ++i) ++counts[traffic.Next()];
    std::vector<uint32_t> seen;
    for (uint32_t flow = 0; flow < counts.size(); ++flow) {
      if (counts[flow] == 0) continue;
      seen.push_back(flow);
      const double share = counts[flow] / static_cast<double>(options.packets);
      entropy -= share * std::log2(share);
    }
    flows = seen.size();
    std::ranges::stable_sort(seen, [&](uint32_t a, uint32_t b) { return counts[a] > counts[b]; });
    seen.resize(std::min<size_t>(kTop, seen.size()));
    largest = std::move(seen);
  }
};

/// Returns the fraction of the largest flows that are reported. A flow that is as large as the
/// smallest of them also counts as one of them.
double Recall(const Truth& truth, const std::vector<packet::FlowKey>& reported) {
  std::unordered_map<packet::FlowKey, int> found;
  for (const packet::FlowKey& key : reported) found[key] = 1;
  double recalled = 0;
  for (const uint32_t flow : truth.largest) recalled += found.contains(test::KeyOf(flow));
  return recalled / static_cast<double>(truth.largest.size());
}

/// Returns the flows with the largest estimates, for a counter that does not store keys. It queries
/// all flows in the traffic.
std::vector<packet::FlowKey> LargestOf(const Counter& counter, const Truth& truth) {
  std::vector<std::pair<double, uint32_t>> flows;
  for (uint32_t flow = 0; flow < truth.counts.size(); ++flow) {
    if (truth.counts[flow] != 0) flows.push_back({counter.Estimate(test::KeyOf(flow)), flow});
  }
  std::ranges::partial_sort(flows, flows.begin() + kTop, std::greater());
  std::vector<packet::FlowKey> keys;
  for (uint32_t i = 0; i < kTop; ++i) keys.push_back(test::KeyOf(flows[i].second));
  return keys;
}

void Measure(const char* name, Counter& counter, const test::EpochOptions& options,
             const Truth& truth, uint64_t skip) {
  constexpr uint32_t kRing = 1 << 15;  // A multiple of the burst size.
  std::vector<uint8_t> ring(kRing * kStride);
  test::EpochTraffic traffic(options);
  double ns = 0;
  for (uint64_t at = 0; at < options.packets; at += kRing) {
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(kRing, options.packets - at));
    for (uint32_t i = 0; i < count; ++i) {
      const auto frame = test::FrameOf(traffic.Next());
      std::ranges::copy(frame, &ring[i * kStride]);
    }
    const double start = ProcessorNs();
    for (uint32_t i = 0; i < count; i += kBurst) {
      const Frames frames{&ring[i * kStride], std::min(kBurst, count - i)};
      at < skip ? Warm(counter, frames) : WorkerCount(counter, frames);
    }
    if (at >= skip) ns += ProcessorNs() - start;
    counter.AtRest();
  }
  counter.Conclude();
  double error = 0;
  for (const uint32_t flow : truth.largest) {
    error += std::abs(counter.Estimate(test::KeyOf(flow)) - truth.counts[flow]) /
             truth.counts[flow] / static_cast<double>(truth.largest.size());
  }
  const auto reported = counter.Reported();
  const double recall = Recall(truth, reported ? *reported : LargestOf(counter, truth));
  const uint64_t timed = options.packets - (skip + kRing - 1) / kRing * kRing;
  std::printf("%-14s %9.2f %9.3f%% %10.3f %8.2f  %s\n", name, ns / static_cast<double>(timed),
              100 * error, recall, static_cast<double>(counter.bytes()) / 1e6,
              counter.About().c_str());
  std::fflush(stdout);
}

/// Returns sluice-telemetry's default setup.
Setup Defaults() {
  Setup setup;
  setup.columns = 1 << 13;
  setup.exact_flows = 1 << 14;
  setup.levels = 16;
  setup.level_columns = 1 << 8;
  setup.level_top_k = 250;
  setup.heavy_hitter_share = 0;  // All 100 flows are requested.
  return setup;
}

int Run(const std::string& name, test::EpochOptions options, uint64_t packets, uint64_t skip,
        const std::string& only) {
  if (name == "ddos") {
    options.flows = 20'000;
    options.attack = 0.8;
  } else if (name == "fits") {
    options.flows = 10'000;
  } else if (name == "large") {
    options.packets = 100'000'000;
    options.flows = 14'000'000;
    options.exponent = 0.9;
  } else if (name != "churn") {
    return 2;
  }
  if (packets != 0) options.packets = packets;
  const Truth truth(options);
  std::printf("%s: %llu packets, %llu flows, entropy %.3f bits\n", name.c_str(),
              static_cast<unsigned long long>(options.packets),
              static_cast<unsigned long long>(truth.flows), truth.entropy);
  std::printf("%-14s %9s %10s %10s %8s\n", "", "ns/packet", "ARE top100", "recall@100", "MB");
  const auto measure = [&](const char* contestant, auto&& make) {
    if (!only.empty() && only != contestant) return;
    const std::unique_ptr<Counter> counter = make();
    Measure(contestant, *counter, options, truth, skip);
  };
  const Setup setup = Defaults();
  const auto sluice = [&](auto... changes) {
    return [=] {
      Setup changed = setup;
      (changes(changed), ...);
      return std::make_unique<Sluice>(changed);
    };
  };
  const auto one_level = [](Setup& s) { s.levels = 1; };
  const auto no_table = [](Setup& s) { s.exact_flows = 0; };
  // The sketch also uses the memory that the table and the levels would need.
  const auto wide = [](Setup& s) { s.columns = 1 << 15; };
  const auto sampled = [](Setup& s) { s.pace = Pace::kFixed; };
  const auto large = [](Setup& s) {
    s.columns = 1 << 16;
    s.level_columns = 1 << 11;
    s.level_top_k = 1000;
  };
  const uint64_t memory = Meter(setup, 0, 1, 0).memory_bytes();
  measure("sluice", sluice());
  measure("no_univmon", sluice(one_level));
  measure("sketch", sluice(no_table, wide, one_level));
  measure("sketch_p0.01", sluice(no_table, wide, one_level, sampled));
  measure("sketch_large", sluice(no_table, large));
  measure("space_saving", [&] { return std::make_unique<SpaceSaving>(memory); });
  measure("count_min", [&] {
    Setup small;
    small.columns = 16;
    small.exact_flows = 0;
    return std::make_unique<CountMin>(small);
  });
  return 0;
}

}  // namespace
}  // namespace sluice::engine::telemetry

int main(int argc, char** argv) {
  std::string traffic = "churn", only;
  uint64_t packets = 0, skip = 0;
  bool right = true;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const size_t equals = std::min(argument.find('='), argument.size() - 1);
    const std::string_view name = argument.substr(0, equals);
    const char* const value = argv[i] + equals + 1;
    if (name == "--traffic") {
      traffic = value;
    } else if (name == "--only") {
      only = value;
    } else if (name == "--packets") {
      packets = std::strtoull(value, nullptr, 10);
    } else if (name == "--skip") {
      skip = std::strtoull(value, nullptr, 10);
    } else {
      right = false;
    }
  }
  const int code = right ? sluice::engine::telemetry::Run(traffic, {}, packets, skip, only) : 2;
  if (code == 2) {
    std::fprintf(stderr,
                 "usage: %s [--traffic=churn|ddos|fits|large] [--packets=N] [--skip=N] "
                 "[--only=NAME]\n",
                 argv[0]);
  }
  return code;
}
