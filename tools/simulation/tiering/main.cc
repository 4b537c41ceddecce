// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-tiering-run: simulates a trace of page accesses, or accesses that follow Zipf's law with a
// moving hot set, on a host with two memory tiers and an agent, in virtual time. Prints JSON.
#include <gflags/gflags.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/standard_streams.h"
#include "simulation/tiering/run.h"

DEFINE_string(trace, "", "Trace file of record_trace.py; empty: accesses by Zipf's law.");
DEFINE_string(channel, "wave", "Channel between host and agent: wave or swap.");
DEFINE_double(seconds, 600, "Virtual seconds over which the accesses are spread.");
DEFINE_double(fast_share, 0.21, "Share of the pages that fit into the fast tier.");
DEFINE_double(target, 0.8, "Share of the accesses that the fast tier should serve.");
DEFINE_uint64(seed, 1, "Seed of the trace and of the agent.");
DEFINE_uint32(pages, 16384, "Zipf: number of pages.");
DEFINE_double(exponent, 0.99, "Zipf: exponent.");
DEFINE_double(rate, 25'000, "Zipf: accesses per second.");
DEFINE_uint32(cluster, 64,
              "Zipf: number of pages with neighbouring ranks that have adjacent addresses.");
DEFINE_double(
    moves, 2,
    "Zipf: number of times per minute that a hot cluster swaps places with a random cluster.");

namespace {

using nlohmann::ordered_json;
using namespace sluice;

ordered_json Describe(const simulation::TieringResult& r) {
  const simulation::tiering::HostCounters& h = r.host;
  const simulation::tiering::LearnerCounters& l = r.learner;
  return {
      {"accesses", r.accesses},
      {"share_in_fast_tier", r.measured_share},
      {"share_with_lru", r.lru_share},
      {"share_of_best_static_placement", r.oracle_share},
      {"pages", r.mapped_pages},
      {"fast_tier_pages", r.fast_capacity},
      {"most_fast_pages", r.most_fast_pages},
      {"mean_fast_pages", r.mean_fast_pages},
      {"share_by_round", r.share},
      {"pages_promoted", r.promoted},
      {"pages_demoted", r.demoted},
      {"elements_done", h.elements[0]},
      {"elements_aborted",
       {{"malformed", h.elements[1]},
        {"not_mapped", h.elements[2]},
        {"stale", h.elements[3]},
        {"already_there", h.elements[4]},
        {"no_room", h.elements[5]}}},
      {"decisions", h.decisions},
      {"refused_decisions", r.agent.refused_decisions},
      {"regions_scanned", h.scanned_regions},
      {"scans_saved", 1 - static_cast<double>(h.scanned_regions) /
                              static_cast<double>(std::max<uint64_t>(r.full_rate_scans, 1))},
      {"learnt_arms", r.arms},
      {"safeguards",
       {{"invalid_records", l.invalid_records},
        {"withheld_rounds", l.withheld_rounds},
        {"failed_validations", l.failed_validations},
        {"default_epochs", l.default_epochs},
        {"actuator_trips", l.actuator_trips},
        {"watchdog_expired", h.watchdog_expired},
        {"default_actions", h.default_actions}}},
      {"bulk_bytes", r.bulk_bytes},
      {"scan_bytes", r.scan_bytes},
      {"pages_reported_per_s_at_1_Gb_s", simulation::ScannedPagesPerSecond(1e9)},
      {"ptes_per_s_at_1_Gb_s", simulation::PageTableEntriesPerSecond(1e9)},
      {"item_bytes_on_link", {{"down", r.link.down}, {"up", r.link.up}}},
      {"violation", r.violation == nullptr ? ordered_json() : ordered_json(r.violation)},
  };
}

}  // namespace

int main(int argc, char** argv) {
  sluice::base::OpenStandardStreams();
  gflags::SetUsageMessage("memory tiering in virtual time");
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  if (FLAGS_channel != "wave" && FLAGS_channel != "swap") {
    std::fprintf(stderr, "--channel: give wave or swap\n");
    return 2;
  }
  simulation::TieringRun run;
  run.channel = FLAGS_channel == "wave" ? simulation::TieringChannel::kWave
                                        : simulation::TieringChannel::kSwap;
  run.fast_share = FLAGS_fast_share;
  run.ticks = static_cast<uint32_t>(FLAGS_seconds * 1e9 / simulation::tiering::kTickNanoseconds);
  run.learner.target = FLAGS_target;
  run.learner.seed = FLAGS_seed;

  simulation::AccessSource source;
  if (FLAGS_trace.empty()) {
    run.pages = FLAGS_pages;
    source = simulation::MakeZipfSource({.pages = FLAGS_pages,
                                         .exponent = FLAGS_exponent,
                                         .accesses_per_second = FLAGS_rate,
                                         .seconds = FLAGS_seconds,
                                         .cluster_pages = FLAGS_cluster,
                                         .moves_per_minute = FLAGS_moves,
                                         .seed = FLAGS_seed});
  } else {
    const simulation::RecordedTrace trace = simulation::OpenTrace(FLAGS_trace, FLAGS_seconds);
    if (!trace.source) {
      std::fprintf(stderr, "%s\n", trace.error.c_str());
      return 2;
    }
    run.pages = trace.pages;
    source = trace.source;
  }
  const simulation::TieringResult result = simulation::PlayTiering(run, source);
  ordered_json out = {{"trace", FLAGS_trace.empty() ? "zipf" : FLAGS_trace},
                      {"channel", FLAGS_channel},
                      {"clock", "virtual"}};
  out.update(Describe(result));
  std::cout << out.dump(2) << '\n';
  return result.violation == nullptr ? 0 : 1;
}
