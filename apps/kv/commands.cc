// SPDX-License-Identifier: BSD-3-Clause
#include "commands.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "counters.h"
#include "engine/kv/totals.h"

namespace sluice::kv {
namespace {

using engine::kv::PartitionCounters;
using engine::kv::PartitionOptions;
using engine::kv::Store;
using Json = nlohmann::ordered_json;

Json Partitions(const Store& store, const PartitionOptions& sizes, std::string_view parameters) {
  size_t first = 0;
  const auto [end, error] =
      std::from_chars(parameters.data(), parameters.data() + parameters.size(), first);
  const bool right =
      parameters.empty() || (error == std::errc() && end == parameters.data() + parameters.size());
  if (!right || first >= store.partitions.size()) {
    return {{"error", "give the number of a partition, or no parameter"}};
  }
  Json answer;
  for (size_t p = first; p < store.partitions.size(); ++p) {
    PartitionCounters counters;
    Add(&counters, store.partitions[p].counters());
    Json partition = {{"worker", p % store.workers}};
    partition.update(ToJson(counters));
    partition["index_load_percent"] = counters.items * 100 / sizes.items;
    partition["memory_load_percent"] = counters.item_bytes * 100 / sizes.RoundedMemoryBytes();
    answer[std::to_string(p)] = partition;
  }
  return answer;
}

}  // namespace

std::vector<runtime::TelemetryCommand> Commands(const Workers& workers, const Store& store,
                                                const PartitionOptions& sizes,
                                                LiveSnapshots& snapshots) {
  return {
      {"/sluice/kv/stats",
       "Counters of the store and of its requests, summed over all workers. No parameters.",
       [&workers, &snapshots](std::string_view) {
         Json answer;
         workers.Extend(answer);
         snapshots.Extend(answer);
         return answer;
       }},
      {"/sluice/kv/partitions",
       "Items and load of each partition, beginning with partition `first`. Parameters: [first].",
       [&store, sizes](std::string_view parameters) {
         return Partitions(store, sizes, parameters);
       }},
      {"/sluice/kv/snapshot",
       "Writes the store to the file of --snapshot while the server answers requests. No "
       "parameters.",
       [&snapshots](std::string_view) -> Json {
         const std::string error = snapshots.Begin();
         if (!error.empty()) return {{"error", error}};
         return {{"result", "begun"}};
       }},
  };
}

}  // namespace sluice::kv
