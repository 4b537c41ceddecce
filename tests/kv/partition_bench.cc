// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-kv-bench [ITEMS [ROUNDS]]: measures one partition on one core. For comparison, measures
// rte_hash and absl::flat_hash_map with the same keys in the same run. Items have 8-byte keys and
// values. A burst has 2 Mi requests with precomputed hashes, as in MICA's requests. Prints CPU time
// in the best of ROUNDS rounds.
//
// Each table is used in its fastest mode: the partition with its two prefetch stages, rte_hash in
// bulks of 64 with precomputed hashes, and absl::flat_hash_map with its prefetch, 16 ahead. All
// tables use transparent huge pages.
#include <absl/container/flat_hash_map.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_memory.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "engine/kv/partition.h"
#include "engine/workload/popularity.h"

namespace sluice::engine::kv {
namespace {

constexpr size_t kBurst = size_t{2} << 20;
constexpr size_t kAhead = 16;
constexpr uint32_t kNow = 1;

struct Request {
  uint64_t key;
  uint64_t hash;
};

Bytes BytesOf(const uint64_t& word) { return {reinterpret_cast<const uint8_t*>(&word), 8}; }

Request RequestOf(uint64_t item) {
  Request request{item * 0x9e3779b97f4a7c15, 0};
  request.hash = HashOf(BytesOf(request.key), 0x5eed).index;
  return request;
}

uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * 4096;
}

using Requests = std::vector<Request>;

/// Returns this thread's CPU time, which excludes the time of other threads on the core.
double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

/// Returns the rate of the best round in Mops. `work` returns the number of keys that it found.
double BestMops(const Requests& requests, int rounds, const std::function<size_t()>& work) {
  double best = 0;
  for (int i = 0; i < rounds; ++i) {
    const double start = CpuSeconds();
    const size_t found = work();
    const double took = CpuSeconds() - start;
    // A cache evicts some items, but at most a tenth of them.
    if (found < requests.size() * 9 / 10) {
      std::fprintf(stderr, "only %zu were found\n", found);
      std::exit(1);
    }
    best = std::max(best, static_cast<double>(requests.size()) / took / 1e6);
  }
  return best;
}

struct Row {
  const char* table;
  double bytes_per_item;
  double add, get[2], set[2];
};

void Print(const Row& row) {
  std::printf("%-22s %8.1f %8.1f %8.1f %8.1f %8.1f %8.1f\n", row.table, row.bytes_per_item, row.add,
              row.get[0], row.set[0], row.get[1], row.set[1]);
  std::fflush(stdout);
}

/// `get` and `set` run a whole burst; `add` inserts all items.
Row Measure(const char* table, uint64_t items, int rounds, uint64_t resident_before,
            const Requests (&bursts)[2], const std::function<void()>& add,
            const std::function<uint64_t()>& count,
            const std::function<size_t(const Requests&)>& get,
            const std::function<size_t(const Requests&)>& set) {
  Row row{table, 0, 0, {}, {}};
  const double start = CpuSeconds();
  add();
  row.add = static_cast<double>(items) / (CpuSeconds() - start) / 1e6;
  for (int i = 0; i < 2; ++i) {
    row.get[i] = BestMops(bursts[i], rounds, [&] { return get(bursts[i]); });
    row.set[i] = BestMops(bursts[i], rounds, [&] { return set(bursts[i]); });
  }
  row.bytes_per_item =
      static_cast<double>(ResidentBytes() - resident_before) / static_cast<double>(count());
  return row;
}

Row MeasurePartition(Mode mode, uint64_t items, int rounds, const Requests (&bursts)[2]) {
  const uint64_t before = ResidentBytes();
  Partition partition({mode, items * Item::SizeOf(8, 8) + (uint64_t{4} << 20), items});
  // The stages of a burst are: prefetch the bucket, prefetch the item, execute.
  const auto pipelined = [&](const Requests& requests, auto&& work) {
    const size_t count = requests.size();
    size_t done = 0;
    for (size_t i = 0; i < count + 2 * kAhead; ++i) {
      if (i < count) partition.PrefetchBucket(requests[i].hash);
      if (i >= kAhead && i - kAhead < count) partition.PrefetchItem(requests[i - kAhead].hash);
      if (i >= 2 * kAhead) done += work(requests[i - 2 * kAhead]);
    }
    return done;
  };
  uint64_t sum = 0;
  const auto set = [&](const Request& request) {
    return partition.Set(BytesOf(request.key), request.hash, BytesOf(request.hash), {},
                         Condition::kAlways, kNow) == Result::kOk;
  };
  const Row row = Measure(
      mode == Mode::kCache ? "partition, cache mode" : "partition, store mode", items, rounds,
      before, bursts,
      [&] {
        for (uint64_t i = 0; i < items; ++i) {
          if (i + kAhead < items) partition.PrefetchBucket(RequestOf(i + kAhead).hash);
          set(RequestOf(i));
        }
      },
      [&] { return partition.counters().items; },
      [&](const Requests& requests) {
        return pipelined(requests, [&](const Request& request) {
          const auto view = partition.Get(BytesOf(request.key), request.hash, kNow);
          if (!view) return false;
          sum += view->value[0];
          return true;
        });
      },
      [&](const Requests& requests) { return pipelined(requests, set); });
  if (sum == 0) std::exit(1);
  return row;
}

/// An allocator for a small number of large arrays.
template <typename T>
struct HugePages {
  using value_type = T;
  HugePages() = default;
  template <typename U>
  HugePages(const HugePages<U>&) {}

  static std::vector<Mapping>& Mappings() {
    static std::vector<Mapping> mappings;
    return mappings;
  }
  T* allocate(size_t count) {
    Mappings().emplace_back(count * sizeof(T));
    return reinterpret_cast<T*>(Mappings().back().data());
  }
  void deallocate(T* freed, size_t) {
    std::erase_if(Mappings(), [&](const Mapping& mapping) {
      return mapping.data() == reinterpret_cast<uint8_t*>(freed);
    });
  }
  friend bool operator==(const HugePages&, const HugePages&) { return true; }
};

Row MeasureAbsl(uint64_t items, int rounds, const Requests (&bursts)[2]) {
  const uint64_t before = ResidentBytes();
  absl::flat_hash_map<uint64_t, uint64_t, absl::Hash<uint64_t>, std::equal_to<>,
                      HugePages<std::pair<const uint64_t, uint64_t>>>
      map;
  map.reserve(items);
  uint64_t sum = 0;
  const auto pipelined = [&](const Requests& requests, auto&& work) {
    size_t done = 0;
    for (size_t i = 0; i < requests.size(); ++i) {
      if (i + kAhead < requests.size()) map.prefetch(requests[i + kAhead].key);
      done += work(requests[i]);
    }
    return done;
  };
  const Row row = Measure(
      "absl::flat_hash_map", items, rounds, before, bursts,
      [&] {
        for (uint64_t i = 0; i < items; ++i) map[RequestOf(i).key] = i;
      },
      [&] { return map.size(); },
      [&](const Requests& requests) {
        return pipelined(requests, [&](const Request& request) {
          const auto found = map.find(request.key);
          if (found == map.end()) return false;
          sum += found->second;
          return true;
        });
      },
      [&](const Requests& requests) {
        return pipelined(requests, [&](const Request& request) {
          map[request.key] = request.hash;
          return true;
        });
      });
  if (sum == 0) std::exit(1);
  return row;
}

Row MeasureRteHash(uint64_t items, int rounds, const Requests (&bursts)[2]) {
  const uint64_t before = ResidentBytes();
  rte_hash_parameters parameters{};
  parameters.name = "bench";
  parameters.entries = static_cast<uint32_t>(items + items / 8);
  parameters.key_len = 8;
  parameters.socket_id = SOCKET_ID_ANY;
  const std::unique_ptr<rte_hash, void (*)(rte_hash*)> hash(rte_hash_create(&parameters),
                                                            rte_hash_free);
  if (hash == nullptr) {
    std::fprintf(stderr, "rte_hash_create: %s\n", rte_strerror(rte_errno));
    std::exit(1);
  }
  const auto signature = [](const Request& request) {
    return static_cast<hash_sig_t>(request.hash >> 16);
  };
  const auto data = [](uint64_t value) { return reinterpret_cast<void*>(value); };
  uint64_t sum = 0;
  const Row row = Measure(
      "rte_hash", items, rounds, before, bursts,
      [&] {
        for (uint64_t i = 0; i < items; ++i) {
          const Request request = RequestOf(i);
          rte_hash_add_key_with_hash_data(hash.get(), &request.key, signature(request), data(i));
        }
      },
      [&] { return static_cast<uint64_t>(rte_hash_count(hash.get())); },
      [&](const Requests& requests) {
        size_t done = 0;
        for (size_t i = 0; i + RTE_HASH_LOOKUP_BULK_MAX <= requests.size();
             i += RTE_HASH_LOOKUP_BULK_MAX) {
          const void* keys[RTE_HASH_LOOKUP_BULK_MAX];
          hash_sig_t signatures[RTE_HASH_LOOKUP_BULK_MAX];
          void* values[RTE_HASH_LOOKUP_BULK_MAX];
          for (int j = 0; j < RTE_HASH_LOOKUP_BULK_MAX; ++j) {
            keys[j] = &requests[i + j].key;
            signatures[j] = signature(requests[i + j]);
          }
          uint64_t hits = 0;
          rte_hash_lookup_with_hash_bulk_data(hash.get(), keys, signatures,
                                              RTE_HASH_LOOKUP_BULK_MAX, &hits, values);
          done += static_cast<size_t>(__builtin_popcountll(hits));
          sum += reinterpret_cast<uint64_t>(values[0]);
        }
        return done;
      },
      [&](const Requests& requests) {
        for (const Request& request : requests) {
          rte_hash_add_key_with_hash_data(hash.get(), &request.key, signature(request),
                                          data(request.hash));
        }
        return requests.size();
      });
  if (sum == 0) std::exit(1);
  return row;
}

int Main(uint64_t items, int rounds) {
  std::vector<std::string> arguments = {
      "sluice-kv-bench", "--no-huge", "--no-shconf", "--no-pci",
      "--no-telemetry",  "-m",        "4096",        "--log-level=error"};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0) return 1;
  rte_memseg_list_walk(
      [](const rte_memseg_list* list, void*) {
        return madvise(list->base_va, list->len, MADV_HUGEPAGE) == 0 ? 0 : -1;
      },
      nullptr);

  Requests bursts[2];
  workload::Random random(1);
  for (const double exponent : {0.0, 0.99}) {
    const workload::Popularity popularity(items, exponent);
    Requests& burst = bursts[exponent == 0 ? 0 : 1];
    for (size_t i = 0; i < kBurst; ++i) {
      // Spreads the popular items over all items.
      burst.push_back(RequestOf(popularity.Draw(random) * 0x9e3779b1 % items));
    }
  }
  std::printf("%lu items of 8/8 bytes, one core; M operations per CPU second, best of %d\n", items,
              rounds);
  std::printf("%-22s %8s %8s | %8s %7s | %8s\n", "", "resident", "", "uniform", "", "Zipf .99");
  std::printf("%-22s %8s %8s %8s %8s %8s %8s\n", "", "B/item", "add", "get", "set", "get", "set");
  Print(MeasurePartition(Mode::kCache, items, rounds, bursts));
  Print(MeasurePartition(Mode::kStore, items, rounds, bursts));
  Print(MeasureAbsl(items, rounds, bursts));
  Print(MeasureRteHash(items, rounds, bursts));
  rte_eal_cleanup();
  return 0;
}

}  // namespace
}  // namespace sluice::engine::kv

int main(int argc, char** argv) {
  const uint64_t items = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : uint64_t{16} << 20;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  if (items < 1000 || rounds < 1) {
    std::fprintf(stderr, "usage: sluice-kv-bench [ITEMS [ROUNDS]]\n");
    return 2;
  }
  return sluice::engine::kv::Main(items, rounds);
}
