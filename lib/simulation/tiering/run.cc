// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/tiering/run.h"

#include <algorithm>
#include <cstddef>

#include "fabric/event_queue.h"
#include "fabric/window.h"
#include "offload/swap_host.h"
#include "offload/swap_nic.h"
#include "offload/wave_host.h"
#include "offload/wave_nic.h"

namespace sluice::simulation {
namespace {

using fabric::HostEnd;
using fabric::NicEnd;

constexpr fabric::Picoseconds kTickPicoseconds = tiering::kTickNanoseconds * 1000;
/// Maximum number of times per tick that decisions and outcomes are exchanged.
constexpr uint32_t kExchanges = 16;

struct Wave {
  using Host = offload::WaveHost<HostEnd>;
  using Nic = offload::WaveNic<NicEnd>;
  static offload::WaveLayout Layout(uint32_t slots) { return {.slots = slots}; }
  static fabric::WindowParameters Window() {
    fabric::WindowParameters window;
    window.host_stores = fabric::HostStores::kWriteCombining;
    window.nic_lines = fabric::NicLines::kWriteThrough;
    return window;
  }
};
struct Swap {
  using Host = offload::SwapHost<HostEnd>;
  using Nic = offload::SwapNic<NicEnd>;
  // Decisions are offered before the host asks, on condition that the state has not changed.
  static offload::SwapLayout Layout(uint32_t slots) { return {.slots = slots, .asks = false}; }
  static fabric::WindowParameters Window() { return {}; }
};

/// Collects the statistics of a run.
class Observer {
 public:
  Observer(const TieringRun& run, const tiering::PageTable& table, TieringResult& result)
      : table_(&table),
        result_(&result),
        baselines_(table.pages(), table.fast_capacity()),
        first_measured_(static_cast<uint32_t>(run.warm_up * run.ticks)) {}

  void Accesses(const std::vector<Access>& accesses) {
    if (result_->ticks == first_measured_) {
      baselines_.StartMeasuring();
      at_start_ = Now();
    }
    baselines_.Play(accesses);
  }
  void EndTick(bool agent_scans) {
    ++result_->ticks;
    result_->most_fast_pages = std::max(result_->most_fast_pages, table_->fast_used());
    if (result_->ticks > first_measured_) fast_pages_ += table_->fast_used();
    if (agent_scans) result_->full_rate_scans += table_->regions();
    if (result_->ticks % tiering::kSlowestTicks == 0) {
      result_->share.push_back(Share(at_round_));
      at_round_ = Now();
    }
    if (result_->violation == nullptr) result_->violation = table_->Violation();
  }
  void End() {
    result_->measured_share = Share(at_start_);
    result_->lru_share = baselines_.LruShare();
    result_->oracle_share = baselines_.OracleShare();
    if (result_->ticks > first_measured_) {
      result_->mean_fast_pages = fast_pages_ / (result_->ticks - first_measured_);
    }
  }

 private:
  struct Accessed {
    uint64_t fast = 0, slow = 0;
  };
  Accessed Now() const {
    return {table_->accesses(tiering::Tier::kFast), table_->accesses(tiering::Tier::kSlow)};
  }
  double Share(Accessed since) const {
    const auto fast = static_cast<double>(Now().fast - since.fast);
    const auto slow = static_cast<double>(Now().slow - since.slow);
    return fast + slow == 0 ? 0 : fast / (fast + slow);
  }

  const tiering::PageTable* table_;
  TieringResult* result_;
  Baselines baselines_;
  uint32_t first_measured_;
  Accessed at_start_, at_round_;
  double fast_pages_ = 0;
};

template <typename C>
TieringResult Play(const TieringRun& run, const AccessSource& source) {
  const auto layout = C::Layout(run.host.slots);
  fabric::WindowParameters window = C::Window();
  window.lines = layout.LinesNeeded();
  fabric::EventQueue queue;
  fabric::WindowPair pair(queue, window);
  typename C::Host host_channel(pair.host(), layout, 1);
  typename C::Nic nic_channel(pair.nic(), layout, 1);

  constexpr uint32_t kUpBytes = tiering::kMaxElements * sizeof(tiering::Element);
  std::vector<std::byte> down(size_t{run.bulk_pieces} * run.bulk_piece_bytes);
  std::vector<std::byte> up(size_t{run.host.slots} * kUpBytes);
  const tiering::Bulk down_bulk(down, run.bulk_piece_bytes), up_bulk(up, kUpBytes);

  tiering::PageTable table(run.pages, static_cast<uint32_t>(run.fast_share * run.pages));
  tiering::TieringHost host(table, host_channel, down_bulk, up_bulk, run.host);
  tiering::Agent agent(nic_channel, down_bulk, up_bulk,
                       {.slots = run.host.slots, .learner = run.learner});

  TieringResult result;
  Observer observer(run, table, result);
  std::vector<Access> accesses;
  while (result.ticks != run.ticks && source(accesses)) {
    observer.Accesses(accesses);
    for (const Access& access : accesses) table.Touch(access.page, access.times);
    for (const Access& access : accesses) result.accesses += access.times;
    queue.RunUntil((result.ticks + 1) * kTickPicoseconds);
    host.Tick();
    bool busy = true;
    for (uint32_t i = 0; busy && i != kExchanges; ++i) {
      queue.Run();
      busy = agent.Step() != 0;
      queue.Run();
      busy = host.Poll() != 0 || busy;
    }
    observer.EndTick(!host.alone());
  }
  observer.End();

  result.mapped_pages = table.mapped();
  result.fast_capacity = table.fast_capacity();
  result.promoted = table.promoted();
  result.demoted = table.demoted();
  result.bulk_bytes = host.bulk_bytes();
  result.scan_bytes = host.scan_bytes();
  result.link = pair.link_bytes();
  result.host = host.counters();
  result.agent = agent.counters();
  result.learner = agent.learner().counters();
  result.arms.resize(tiering::kArms);
  for (tiering::Region i = 0; i != agent.learner().regions(); ++i) {
    ++result.arms[agent.learner().periods(i).bandit().Best()];
  }
  return result;
}

}  // namespace

TieringResult PlayTiering(const TieringRun& run, const AccessSource& source) {
  return run.channel == TieringChannel::kWave ? Play<Wave>(run, source) : Play<Swap>(run, source);
}

double PageTableEntriesPerSecond(double bits_per_second) { return bits_per_second / 64; }

double ScannedPagesPerSecond(double bits_per_second) {
  return bits_per_second / (8.0 * sizeof(tiering::ScanRecord)) * tiering::kRegionPages;
}

}  // namespace sluice::simulation
