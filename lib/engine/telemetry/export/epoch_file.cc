// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/export/epoch_file.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"

namespace sluice::engine::telemetry {
namespace {

static_assert(std::endian::native == std::endian::little);
static_assert(sizeof(Cell) == 16);

using Flow = KnownFlows::Flow;

constexpr std::string_view kMagic = "SLUICEEP";
constexpr uint32_t kVersion = 3;
constexpr size_t kHeaderBytes = 32;
constexpr size_t kFlowBytes = sizeof(packet::FlowKey) + 24,
                 kTableBytes = sizeof(packet::FlowKey) + 20,
                 kExactBytes = sizeof(packet::FlowKey) + 16;
constexpr int64_t kMaxOfFlow = kMaxCell * Setup::kMaxRows;
/// Maximum number of flows for one key after kMaxMergedEpochs epochs have been merged.
constexpr size_t kMaxTableFlows = size_t{Setup::kMaxExactFlows} * kMaxMergedEpochs;

/// Visits the members of a setup, for encoding and decoding, so that they are listed once.
template <typename Visit>
void EachNumber(auto& setup, Visit&& visit) {
  visit(setup.rows), visit(setup.columns), visit(setup.top_k);
  visit(setup.exact_flows), visit(setup.levels);
  visit(setup.level_columns), visit(setup.level_top_k);
}
template <typename Visit>
void EachRate(auto& setup, Visit&& visit) {
  visit(setup.probability), visit(setup.full_rate_pps), visit(setup.epoch_ns);
  visit(setup.heavy_hitter_share), visit(setup.change_share), visit(setup.confidence);
  visit(setup.oracle_one_in), visit(setup.oracle_flows), visit(setup.seed);
}

class Output {
 public:
  template <typename T>
  void Put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    Put(&value, sizeof value);
  }
  void Put(const void* data, size_t bytes) { text_.append(static_cast<const char*>(data), bytes); }
  std::string& text() { return text_; }

 private:
  std::string text_;
};

bool Before(const packet::FlowKey& a, const packet::FlowKey& b) {
  return std::memcmp(&a, &b, sizeof a) < 0;
}

void PutSetup(const Setup& setup, Output* out) {
  out->Put(static_cast<uint32_t>(setup.keys.size()));
  for (const KeySpec& key : setup.keys) {
    out->Put(static_cast<uint8_t>(key.kind));
    out->Put(key.ipv4_bits);
    out->Put(key.ipv6_bits);
    out->Put(uint8_t{0});
  }
  out->Put(static_cast<uint32_t>(setup.sketch));
  const auto put = [out](const auto& value) { out->Put(value); };
  EachNumber(setup, put);
  out->Put(static_cast<uint32_t>(setup.pace));
  EachRate(setup, put);
}

void PutTable(const ExactFlows& table, Output* out) {
  std::vector<ExactFlows::Flow> flows(table.flows().begin(), table.flows().end());
  std::ranges::sort(flows, Before, &ExactFlows::Flow::key);
  out->Put(uint32_t{table.open()});
  out->Put(static_cast<uint32_t>(flows.size()));
  for (const ExactFlows::Flow& flow : flows) {
    out->Put(flow.key);
    out->Put(flow.pkts);
    out->Put(flow.bytes);
    out->Put(uint32_t{table.Counts(flow.hash)});
  }
}

void PutLevel(const Level& level, Output* out) {
  const Shape& shape = level.sketch.shape();
  out->Put(level.sketch.Row(0), shape.cells() * sizeof(Cell));
  std::vector<Flow> flows(level.known.flows().begin(), level.known.flows().end());
  std::ranges::sort(flows, Before, &Flow::key);
  out->Put(uint32_t{level.known.complete()});
  out->Put(static_cast<uint32_t>(flows.size()));
  for (const Flow& flow : flows) {
    out->Put(flow.key);
    out->Put(flow.count);
    out->Put(flow.bytes);
    out->Put(flow.samples);
    out->Put(flow.whole);
  }
}

void PutOracle(const Oracle& oracle, Output* out) {
  std::vector<std::pair<packet::FlowKey, Traffic>> flows(oracle.counts().begin(),
                                                         oracle.counts().end());
  std::ranges::sort(flows, Before, &std::pair<packet::FlowKey, Traffic>::first);
  out->Put(oracle.refused_pkts());
  out->Put(static_cast<uint32_t>(flows.size()));
  for (const auto& [key, traffic] : flows) {
    out->Put(key);
    out->Put(traffic.pkts);
    out->Put(traffic.bytes);
  }
}

/// Reads values from the front of a buffer. After a read of more bytes than are left, all reads
/// return zeros and good() is false.
class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T Read() {
    T value{};
    if (const char* const from = Read(sizeof value)) std::memcpy(&value, from, sizeof value);
    return value;
  }
  template <typename T>
  void Read(T* value) {
    *value = Read<T>();
  }
  /// Returns null if fewer bytes are left or an earlier read failed.
  const char* Read(size_t bytes) {
    good_ = good_ && bytes <= bytes_.size();
    if (!good_) return nullptr;
    const char* const from = bytes_.data();
    bytes_.remove_prefix(bytes);
    return from;
  }
  /// Reads the number of elements that follow, each of `bytes_each` bytes. If the number is above
  /// `most` or too few bytes are left, returns 0, and good() is then false.
  uint32_t ReadCount(size_t bytes_each, size_t most) {
    const auto count = Read<uint32_t>();
    good_ = good_ && count <= most && count <= bytes_.size() / bytes_each;
    return good_ ? count : 0;
  }
  size_t left() const { return bytes_.size(); }
  bool good() const { return good_; }
  void Require(bool right) { good_ = good_ && right; }

 private:
  std::string_view bytes_;
  bool good_ = true;
};

template <typename Enum>
void ReadEnum(Input& in, Enum last, Enum* value) {
  const auto number = in.Read<uint32_t>();
  in.Require(number <= static_cast<uint32_t>(last));
  *value = static_cast<Enum>(number);
}

Setup ReadSetup(Input& in) {
  Setup setup;
  setup.keys.clear();
  const uint32_t keys = in.ReadCount(4, Setup::kMaxKeys);
  for (uint32_t i = 0; i < keys; ++i) {
    KeySpec key;
    const auto kind = in.Read<uint8_t>();
    in.Require(kind <= static_cast<uint8_t>(KeyKind::kDestination));
    key.kind = static_cast<KeyKind>(kind);
    in.Read(&key.ipv4_bits);
    in.Read(&key.ipv6_bits);
    in.Require(in.Read<uint8_t>() == 0);
    setup.keys.push_back(key);
  }
  ReadEnum(in, SketchKind::kCountMin, &setup.sketch);
  const auto read = [&in](auto& value) { in.Read(&value); };
  EachNumber(setup, read);
  ReadEnum(in, Pace::kAlwaysLineRate, &setup.pace);
  EachRate(setup, read);
  return setup;
}

/// Returns the number of cells in all levels of all keys. setup.Error() must be empty, so that the
/// result does not overflow.
uint64_t CellsOf(const Setup& setup) {
  const uint64_t of_key = uint64_t{setup.rows} * setup.columns +
                          uint64_t{setup.levels - 1} * setup.rows * setup.level_columns;
  return setup.keys.size() * of_key;
}

bool IsProbability(double value) { return value > 0 && value <= 1; }

bool Within(int64_t value, int64_t most) { return value >= -most && value <= most; }

void ReadEpoch(Input& in, Epoch* epoch) {
  in.Read(&epoch->start_cycles);
  in.Read(&epoch->end_cycles);
  in.Read(&epoch->workers);
  in.Read(&epoch->longest_bytes);
  in.Read(&epoch->total.pkts);
  in.Read(&epoch->total.bytes);
  in.Read(&epoch->exact_pkts);
  in.Read(&epoch->other);
  in.Read(&epoch->least_probability);
  in.Read(&epoch->last_probability);
  in.Require(epoch->start_cycles <= epoch->end_cycles && epoch->workers >= 1 &&
             epoch->workers <= 1 << 20 && epoch->exact_pkts <= epoch->total.pkts &&
             Within(epoch->other, kMaxOfFlow) && IsProbability(epoch->least_probability) &&
             IsProbability(epoch->last_probability));
  epoch->number = epoch->start_cycles / epoch->setup.epoch_ns;
}

/// Reads a key of this counter. The key must be greater than `last` unless `last` is null.
packet::FlowKey ReadKey(Input& in, const FlowCounter& counter, const packet::FlowKey* last) {
  const auto key = in.Read<packet::FlowKey>();
  const bool valid = key.ip_version == 4 ? packet::Ipv4Flow::Of(key).Key() == key
                                         : key.ip_version == 6 && key.reserved == 0;
  in.Require(valid && counter.spec().Of(key) == key && (last == nullptr || Before(*last, key)));
  return key;
}

/// Reads a counter's table. Merged tables may have more flows than Setup::exact_flows.
void ReadTable(Input& in, FlowCounter* counter) {
  const bool any = counter->exact().open();  // The constructor opens the table if it has capacity.
  const auto open = in.Read<uint32_t>();
  std::vector<ExactFlows::Flow> flows(in.ReadCount(kTableBytes, any ? kMaxTableFlows : 0));
  absl::flat_hash_set<uint64_t> counted;
  const packet::FlowKey* last = nullptr;
  for (ExactFlows::Flow& flow : flows) {
    flow.key = ReadKey(in, *counter, last);
    flow.hash = counter->HashOf(flow.key);
    in.Read(&flow.pkts);
    in.Read(&flow.bytes);
    const auto stays = in.Read<uint32_t>();
    in.Require(flow.pkts <= kMaxCell && flow.bytes <= kMaxCell && stays <= 1 &&
               (open == 0 || stays == 1));
    if (stays == 1) counted.insert(flow.hash);
    last = &flow.key;
  }
  in.Require(open <= uint32_t{any});
  if (!in.good()) return;
  counter->exact().Restore(
      flows, open == 1, [&](const ExactFlows::Flow& flow) { return counted.contains(flow.hash); });
}

void ReadLevel(Input& in, size_t number, FlowCounter* counter) {
  const Level& level = counter->levels()[number];
  std::vector<Cell> cells(level.sketch.shape().cells());
  const char* const from = in.Read(cells.size() * sizeof(Cell));
  if (from == nullptr) return;
  std::memcpy(cells.data(), from, cells.size() * sizeof(Cell));
  in.Require(std::ranges::all_of(cells, [](const Cell& cell) {
    return Within(cell.packets, kMaxCell) && Within(cell.bytes, kMaxCell);
  }));
  const auto complete = in.Read<uint32_t>();
  std::vector<Flow> flows(in.ReadCount(kFlowBytes, level.known.capacity()));
  const Flow* last = nullptr;
  for (Flow& flow : flows) {
    flow.key = ReadKey(in, *counter, last == nullptr ? nullptr : &last->key);
    flow.hash = counter->HashOf(flow.key);
    in.Read(&flow.count);
    in.Read(&flow.bytes);
    in.Read(&flow.samples);
    in.Read(&flow.whole);
    in.Require(flow.whole <= 1 && Within(flow.count, kMaxOfFlow) &&
               Within(flow.bytes, kMaxOfFlow) && counter->DepthOf(flow.hash) >= number);
    last = &flow;
  }
  in.Require(complete <= 1);
  if (in.good()) counter->Restore(number, cells, flows, complete == 1);
}

void ReadOracle(Input& in, FlowCounter* counter) {
  Oracle& oracle = counter->oracle();
  const auto refused = in.Read<uint64_t>();
  const uint32_t count = in.ReadCount(kExactBytes, oracle.enabled() ? oracle.capacity() : 0);
  Oracle::Counts counts;
  packet::FlowKey last;
  for (uint32_t i = 0; i < count && in.good(); ++i) {
    const packet::FlowKey key = ReadKey(in, *counter, i == 0 ? nullptr : &last);
    in.Require(oracle.Chooses(counter->HashOf(key)));
    Traffic traffic;
    in.Read(&traffic.pkts);
    in.Read(&traffic.bytes);
    counts.emplace(key, traffic);
    last = key;
  }
  in.Require(oracle.enabled() || refused == 0);
  if (in.good()) oracle.Restore(std::move(counts), refused);
}

}  // namespace

std::string EncodeEpoch(const Epoch& epoch, const EpochTimes& times) {
  Output out;
  out.text().resize(kHeaderBytes);
  PutSetup(epoch.setup, &out);
  out.Put(times.start_ns);
  out.Put(times.end_ns);
  out.Put(epoch.workers);
  out.Put(epoch.longest_bytes);
  out.Put(epoch.total.pkts);
  out.Put(epoch.total.bytes);
  out.Put(epoch.exact_pkts);
  out.Put(epoch.other);
  out.Put(epoch.least_probability);
  out.Put(epoch.last_probability);
  for (const FlowCounter& counter : epoch.counters) {
    PutTable(counter.exact(), &out);
    for (const Level& level : counter.levels()) PutLevel(level, &out);
    PutOracle(counter.oracle(), &out);
  }
  const std::string_view body = std::string_view(out.text()).substr(kHeaderBytes);
  Output header;
  header.Put(kMagic.data(), kMagic.size());
  header.Put(kVersion);
  header.Put(uint32_t{0});
  header.Put(uint64_t{body.size()});
  header.Put(uint64_t{XXH3_64bits(body.data(), body.size())});
  std::ranges::copy(header.text(), out.text().begin());
  return std::move(out.text());
}

std::unique_ptr<Epoch> DecodeEpoch(std::string_view file, std::string* error) {
  const auto fail = [error](std::string_view why) {
    *error = why;
    return nullptr;
  };
  if (!file.starts_with(kMagic)) return fail("the file is not an epoch of sluice-telemetry");
  Input in(file.substr(kMagic.size()));
  const auto version = in.Read<uint32_t>();
  const auto zero = in.Read<uint32_t>();
  const auto body_bytes = in.Read<uint64_t>();
  const auto checksum = in.Read<uint64_t>();
  if (!in.good()) return fail("truncated");
  if (version != kVersion || zero != 0) {
    return fail("the file has version " + std::to_string(version) +
                ", but this program reads version " + std::to_string(kVersion));
  }
  if (body_bytes != in.left()) return fail(body_bytes > in.left() ? "truncated" : "too long");
  const std::string_view body = file.substr(kHeaderBytes);
  if (XXH3_64bits(body.data(), body.size()) != checksum) return fail("corrupt");

  const Setup setup = ReadSetup(in);
  if (!in.good()) return fail("invalid setup");
  if (const std::string wrong = setup.Error(); !wrong.empty()) {
    return fail("invalid setup: " + wrong);
  }
  // Do not allocate memory for sketches that the file does not contain.
  if (CellsOf(setup) > in.left() / sizeof(Cell)) return fail("incomplete sketches");
  auto epoch = std::make_unique<Epoch>(setup);
  ReadEpoch(in, epoch.get());
  for (FlowCounter& counter : epoch->counters) {
    ReadTable(in, &counter);
    for (size_t level = 0; level < counter.levels().size() && in.good(); ++level) {
      ReadLevel(in, level, &counter);
    }
    ReadOracle(in, &counter);
  }
  if (!in.good() || in.left() != 0) return fail("inconsistent counts");
  return epoch;
}

std::string_view Difference(const Setup& a, const Setup& b) {
  if (a.keys != b.keys) return "keys";
  if (a.sketch != b.sketch) return "sketch";
  if (a.rows != b.rows) return "rows";
  if (a.columns != b.columns) return "columns";
  if (a.top_k != b.top_k) return "top_k";
  if (a.exact_flows != b.exact_flows) return "exact_flows";
  if (a.levels != b.levels) return "levels";
  if (a.level_columns != b.level_columns) return "level_columns";
  if (a.level_top_k != b.level_top_k) return "level_top_k";
  if (a.pace != b.pace) return "pace";
  if (a.probability != b.probability) return "probability";
  if (a.full_rate_pps != b.full_rate_pps) return "full_rate_pps";
  if (a.epoch_ns != b.epoch_ns) return "epoch_ns";
  if (a.heavy_hitter_share != b.heavy_hitter_share) return "heavy_hitter_share";
  if (a.change_share != b.change_share) return "change_share";
  if (a.confidence != b.confidence) return "confidence";
  if (a.oracle_one_in != b.oracle_one_in) return "oracle_one_in";
  if (a.oracle_flows != b.oracle_flows) return "oracle_flows";
  return a.seed == b.seed ? "" : "seed";
}

}  // namespace sluice::engine::telemetry
