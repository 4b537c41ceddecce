// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-barrier: runs a barrier of N workers in virtual time, once with swaps among all of them
// and once with time-outs and aborts, under the same faults. Prints Markdown tables of beliefs and
// times; docs/swap.md contains the output without flags.
#include <gflags/gflags.h>

#include <cstdio>
#include <string>

#include "base/standard_streams.h"
#include "simulation/barrier/barrier.h"
#include "simulation/percentile.h"

DEFINE_uint32(parties, 16, "Number of parties of the runs with faults: 2 to 4096.");
DEFINE_uint32(rounds, 20'000, "Number of rounds of the runs with faults: 1 to 1000000.");
DEFINE_double(work_us, 100, "Mean time of a party's work per round, in microseconds.");
DEFINE_double(pauses_per_s, 20, "Pauses of each party per second.");
DEFINE_double(longest_pause_ms, 30, "Length at which the pauses are cut, in milliseconds.");
DEFINE_double(kills_per_s, 0.5, "Kills of each party per second.");
DEFINE_double(restart_ms, 50, "Time from a kill until the process resumes, in milliseconds.");
DEFINE_uint64(seed, 1, "Seed of the work and of the faults.");

namespace {

using namespace sluice::simulation;
using sluice::fabric::Picoseconds;

constexpr double kMicrosecond = 1e6, kMillisecond = 1e9;  // in picoseconds

double Microseconds(Picoseconds time) { return static_cast<double>(time) / kMicrosecond; }

std::string NameOf(Picoseconds timeout) {
  if (timeout == 0) return "swap, no time-out";
  char text[64];
  std::snprintf(text, sizeof(text), "time-out %g ms", static_cast<double>(timeout) / kMillisecond);
  return text;
}

// Returns whether the flag's value is permitted; prints the fix if it is not.
bool Check(bool good, const char* fix) {
  if (!good) std::fprintf(stderr, "%s\n", fix);
  return good;
}
bool FlagsAreGood() {
  return Check(FLAGS_parties >= 2 && FLAGS_parties <= 4096, "--parties: give 2 to 4096") &&
         Check(FLAGS_rounds >= 1 && FLAGS_rounds <= 1'000'000, "--rounds: give 1 to 1000000") &&
         Check(FLAGS_work_us > 0 && FLAGS_work_us <= 1e6,
               "--work_us: give more than 0, at most 1e6") &&
         Check(FLAGS_pauses_per_s >= 0 && FLAGS_pauses_per_s <= 1000,
               "--pauses_per_s: give 0 to 1000") &&
         Check(FLAGS_longest_pause_ms >= 0.01 && FLAGS_longest_pause_ms <= 1000,
               "--longest_pause_ms: give 0.01 to 1000") &&
         Check(FLAGS_kills_per_s >= 0 && FLAGS_kills_per_s <= 100,
               "--kills_per_s: give 0 to 100") &&
         Check(FLAGS_restart_ms >= 0 && FLAGS_restart_ms <= 10'000,
               "--restart_ms: give 0 to 10000") &&
         Check(FLAGS_seed > 0, "--seed: give 1 or more");
}

// Prints the cost of agreement in fault-free rounds, by number of parties.
void PrintSizes() {
  std::puts("| parties | swap: us per round | time-outs: us per round |\n|---|---|---|");
  for (const uint32_t parties : {2u, 4u, 16u, 64u, 256u, 1024u}) {
    BarrierParameters parameters;
    parameters.parties = parties;
    parameters.rounds = 100;
    parameters.seed = FLAGS_seed;
    const auto median = [&parameters](Picoseconds timeout) {
      parameters.timeout = timeout;
      return Microseconds(PercentileOf(RunBarrier(parameters).times, 0.5));
    };
    std::printf("| %u | %.1f | %.1f |\n", parties, median(0),
                median(static_cast<Picoseconds>(20 * kMillisecond)));
  }
}

Pauses PausesOfFlags() {
  Pauses pauses;
  pauses.per_second = FLAGS_pauses_per_s;
  pauses.longest = static_cast<Picoseconds>(FLAGS_longest_pause_ms * kMillisecond);
  return pauses;
}

// Prints the trade-off in choosing a time-out: how fast a dead party is detected, and how often a
// live one is falsely suspected.
void PrintDetectors() {
  struct Detector {
    const char* name;
    double window_ms;
  };
  std::puts(
      "| watchdog | window = time to detect a dead party | false suspicions per party per second "
      "|\n|---|---|---|");
  for (const Detector& detector : {Detector{"Wave", 20},
                                   {"link of lib/swap", 10},
                                   {"-", 1},
                                   {"-", 0.1},
                                   {"5 silent rounds, as EC_Link", 0.00379}}) {
    const auto window = static_cast<Picoseconds>(detector.window_ms * kMillisecond);
    std::printf("| %s | %g ms | %.4g |\n", detector.name, detector.window_ms,
                PausesOfFlags().PerSecondAbove(window));
  }
  std::puts("| no time-out | only by a link or process event | 0 |");
}

void PrintFaults() {
  std::puts(
      "| barrier | committed by all | lost | split | ms per committed round | 99th percentile, ms "
      "| "
      "maximum, ms |\n|---|---|---|---|---|---|---|");
  for (const double timeout_ms : {0., 100., 20., 10., 1., 0.2}) {
    BarrierParameters parameters;
    parameters.parties = FLAGS_parties;
    parameters.rounds = FLAGS_rounds;
    parameters.work = static_cast<Picoseconds>(FLAGS_work_us * kMicrosecond);
    parameters.pauses = PausesOfFlags();
    parameters.kills_per_second = FLAGS_kills_per_s;
    parameters.restart = static_cast<Picoseconds>(FLAGS_restart_ms * kMillisecond);
    parameters.timeout = static_cast<Picoseconds>(timeout_ms * kMillisecond);
    parameters.seed = FLAGS_seed;
    const BarrierResults r = RunBarrier(parameters);
    const double committed = static_cast<double>(r.committed > 0 ? r.committed : 1);
    std::printf("| %s | %llu | %llu | %llu | %.3f | %.2f | %.1f |\n",
                NameOf(parameters.timeout).c_str(), static_cast<unsigned long long>(r.committed),
                static_cast<unsigned long long>(r.lost), static_cast<unsigned long long>(r.split),
                Microseconds(r.elapsed) / 1000 / committed,
                Microseconds(PercentileOf(r.times, 0.99)) / 1000,
                Microseconds(r.times.empty() ? 0 : r.times.back()) / 1000);
  }
}

}  // namespace

int main(int argc, char** argv) {
  sluice::base::OpenStandardStreams();
  gflags::SetUsageMessage("barriers by swaps and with time-outs, in virtual time");
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  if (!FlagsAreGood()) return 2;
  std::puts("Model, virtual time, without faults; each party works 50 to 150 us per round.\n");
  PrintSizes();
  std::printf(
      "\nModel, virtual time: %u parties, %u rounds; each party pauses %g times per second, for at "
      "most %g ms, and is killed %g times per second and resumed after %g ms.\n\n",
      FLAGS_parties, FLAGS_rounds, FLAGS_pauses_per_s, FLAGS_longest_pause_ms, FLAGS_kills_per_s,
      FLAGS_restart_ms);
  PrintFaults();
  std::puts("\nModel: watchdogs under the same pauses.\n");
  PrintDetectors();
}
