// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/telemetry.h"

#include <rte_telemetry.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "dpdk/release.h"

namespace sluice::runtime {

namespace {

// The data of the commands. It outlives every run, because rte_telemetry cannot unregister a
// command.
struct Source {
  std::mutex mutex;
  std::function<Sample()> take;
  std::span<const std::string_view> reasons;
  std::span<const std::string> map;
  std::span<const TelemetryCommand> commands;
};

Source& TheSource() {
  static Source source;
  return source;
}

int Stats(const char* /*command*/, const char* /*parameters*/, rte_tel_data* data) {
  Source& source = TheSource();
  const std::scoped_lock lock(source.mutex);
  rte_tel_data_start_dict(data);
  if (!source.take) return 0;
  const Sample sample = source.take();
  const nic::QueueCounters& c = sample.counters;
  const auto add = [data](const std::string& name, uint64_t value) {
    dpdk::AddToDict(data, name.c_str(), value);
  };
  for (const nic::QueueCounter& counter : nic::kQueueCounters) add(counter.name, c.*counter.member);
  add("busy_cycles", sample.busy_cycles);
  add("total_cycles", sample.total_cycles);
  add("uptime_ms", static_cast<uint64_t>(sample.seconds * 1000));
  for (size_t i = 0; i < source.reasons.size() && i < nic::QueueCounters::kMaxReasons; ++i) {
    add("drop_" + std::string(source.reasons[i]), c.engine_drops[i]);
  }
  for (const auto& [name, frames] : sample.nic.by_name)
    add("nic_drop_" + std::string(name), frames);
  add("nic_dropped_pkts", sample.nic.Sum());
  add("rx_nombuf", sample.nic.no_mbuf);
  return 0;
}

int Map(const char* /*command*/, const char* /*parameters*/, rte_tel_data* data) {
  Source& source = TheSource();
  const std::scoped_lock lock(source.mutex);
  rte_tel_data_start_array(data, RTE_TEL_STRING_VAL);
  for (const std::string& line : source.map) rte_tel_data_add_array_string(data, line.c_str());
  return 0;
}

// Maximum number of entries of one of DPDK's telemetry containers.
constexpr size_t kMaxEntries = 250;
using Json = nlohmann::ordered_json;
using Data = std::unique_ptr<rte_tel_data, decltype(&rte_tel_data_free)>;

// Returns the value as printable ASCII, truncated to DPDK's limit. All other bytes become '?',
// because DPDK's writer does not escape them for JSON.
std::string Scalar(const Json& value) {
  std::string text = value.is_string() ? value.get<std::string>()
                                       : value.dump(-1, ' ', true, Json::error_handler_t::replace);
  text.resize(std::min<size_t>(text.size(), RTE_TEL_MAX_STRING_LEN - 1));
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

// Replaces by _ all characters except letters, digits, _ and /. DPDK omits members with other
// characters in their names.
std::string LegalName(const std::string& name) {
  constexpr auto is_legal = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '/';
  };
  std::string legal = name.substr(0, RTE_TEL_MAX_STRING_LEN - 1);
  std::ranges::replace_if(
      legal, [&](char c) { return !is_legal(c); }, '_');
  return legal;
}

void AddMember(rte_tel_data* data, const std::string& name, const Json& value, bool nested);

void Fill(rte_tel_data* data, const Json& value, bool nested) {
  if (value.is_object()) {
    rte_tel_data_start_dict(data);
    size_t entries = 0;
    for (const auto& [name, member] : value.items()) {
      if (entries++ < kMaxEntries) AddMember(data, name, member, nested);
    }
  } else if (!nested && !value.empty() && value.front().is_object()) {
    // DPDK 22.11 does not support arrays of objects: write an object with the indices as names.
    rte_tel_data_start_dict(data);
    for (size_t place = 0; place < std::min(value.size(), kMaxEntries); ++place) {
      AddMember(data, std::to_string(place), value[place], false);
    }
  } else {
    rte_tel_data_start_array(data, RTE_TEL_STRING_VAL);
    size_t entries = 0;
    for (const Json& item : value) {
      if (entries++ < kMaxEntries) rte_tel_data_add_array_string(data, Scalar(item).c_str());
    }
  }
}

// Adds a member to a container. If `name` is not legal and the value is an object without a member
// "name", the object gets such a member, which contains `name`.
void AddMember(rte_tel_data* data, const std::string& name, const Json& value, bool nested) {
  const std::string legal = LegalName(name);
  if (value.is_number_integer()) {
    dpdk::AddToDict(data, legal.c_str(), value.get<uint64_t>());
  } else if (value.is_structured() && !nested) {
    Data inner(rte_tel_data_alloc(), &rte_tel_data_free);
    Fill(inner.get(), value, true);
    if (value.is_object() && legal != name && !value.contains("name")) {
      rte_tel_data_add_dict_string(inner.get(), "name", Scalar(name).c_str());
    }
    if (rte_tel_data_add_dict_container(data, legal.c_str(), inner.get(), 0) == 0) inner.release();
  } else {
    rte_tel_data_add_dict_string(data, legal.c_str(), Scalar(value).c_str());
  }
}

int Ask(const char* command, const char* parameters, rte_tel_data* data) {
  Source& source = TheSource();
  const std::scoped_lock lock(source.mutex);
  const auto asked = std::ranges::find(source.commands, command, &TelemetryCommand::path);
  if (asked == source.commands.end()) {
    rte_tel_data_start_dict(data);
  } else {
    Fill(data, asked->answer(parameters == nullptr ? "" : parameters), false);
  }
  return 0;
}

}  // namespace

TelemetryScope::TelemetryScope(std::function<Sample()> take,
                               std::span<const std::string_view> reasons,
                               std::span<const std::string> map,
                               std::span<const TelemetryCommand> commands) {
  Source& source = TheSource();
  {
    const std::scoped_lock lock(source.mutex);
    source.take = std::move(take);
    source.reasons = reasons;
    source.map = map;
    source.commands = commands;
  }
  static const bool registered = [] {
    rte_telemetry_register_cmd("/sluice/stats", Stats,
                               "Counters, summed over all workers. No parameters.");
    rte_telemetry_register_cmd("/sluice/map", Map,
                               "Lcores of workers, and the queues that they poll. No parameters.");
    return true;
  }();
  (void)registered;
  for (const TelemetryCommand& command :
       commands) {  // In a second run, the registration has no effect.
    rte_telemetry_register_cmd(command.path.c_str(), Ask, command.help.c_str());
  }
}

TelemetryScope::~TelemetryScope() {
  Source& source = TheSource();
  const std::scoped_lock lock(source.mutex);
  source.take = nullptr;
  source.reasons = {};
  source.map = {};
  source.commands = {};
}

}  // namespace sluice::runtime
