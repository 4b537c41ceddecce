// SPDX-License-Identifier: BSD-3-Clause
#include "rfc2544_flags.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <array>
#include <utility>

#include "host/flag_text.h"

DEFINE_string(rfc2544, "",
              "A test of RFC 2544 instead of one trial: throughput, latency, loss or back_to_back");
DEFINE_double(trial_s, 10,
              "With --rfc2544: seconds of a trial, or of the longest burst of back_to_back");
DEFINE_double(probe_s, 1, "With --rfc2544: seconds of the short trials that narrow the search");
DEFINE_double(loss_percent, 0,
              "With --rfc2544: percent of frames that may be lost; 0: the non-drop rate (NDR)");
DEFINE_double(
    precision_percent, 0.5,
    "With --rfc2544: width of the interval in which the rate is found, in percent of the rate");
DEFINE_uint32(repeats, 0,
              "With --rfc2544: number of latency trials, of loss trials per rate, or of "
              "back_to_back bursts; 0: 3 for loss, otherwise 20");
DEFINE_double(generator_mpps, 0,
              "With --rfc2544: highest rate of the generator on a loopback, in millions of frames "
              "per second; "
              "0: unknown");
DECLARE_string(rate);
DECLARE_string(schedule);
DECLARE_string(arrivals);
DECLARE_string(gaps);
DECLARE_uint64(loops);
DECLARE_double(duration_s);

namespace sluice::pktgen {
namespace {

using Test = Rfc2544::Test;

constexpr std::array<std::pair<std::string_view, Test>, 4> kTests{
    {{"throughput", Test::kThroughput},
     {"latency", Test::kLatency},
     {"loss", Test::kLoss},
     {"back_to_back", Test::kBackToBack}}};

bool CheckAlone(const runtime::Complaint& complaint) {
  for (const char* other :
       {"trial_s", "probe_s", "loss_percent", "precision_percent", "repeats", "generator_mpps"}) {
    if (!complaint.Check(host::IsDefault(other), other, "requires --rfc2544")) {
      return false;
    }
  }
  return true;
}

bool CheckNumbers(const runtime::Complaint& complaint) {
  return complaint.Check(FLAGS_trial_s >= 0.01 && FLAGS_trial_s <= 3600, "trial_s",
                         "give 0.01 to 3600") &&
         complaint.Check(host::IsDefault("probe_s") ||
                             (FLAGS_probe_s >= 0.01 && FLAGS_probe_s <= FLAGS_trial_s),
                         "probe_s", "give 0.01 up to --trial_s") &&
         complaint.Check(FLAGS_loss_percent >= 0 && FLAGS_loss_percent <= 50, "loss_percent",
                         "give 0 to 50") &&
         complaint.Check(FLAGS_precision_percent >= 0.01 && FLAGS_precision_percent <= 50,
                         "precision_percent", "give 0.01 to 50") &&
         complaint.Check(FLAGS_repeats <= 10'000, "repeats", "give 0 to 10000") &&
         complaint.Check(FLAGS_generator_mpps >= 0 && FLAGS_generator_mpps <= 1e6, "generator_mpps",
                         "give 0 to 1000000");
}

}  // namespace

std::string_view NameOf(Rfc2544::Test test) {
  for (const auto& [name, value] : kTests) {
    if (value == test) return name;
  }
  return "";
}

bool ReadRfc2544(const runtime::Complaint& complaint, Settings* settings) {
  if (FLAGS_rfc2544.empty()) return CheckAlone(complaint);
  Rfc2544 test;
  bool known = false;
  for (const auto& [name, value] : kTests) {
    if (FLAGS_rfc2544 != name) continue;
    test.test = value;
    known = true;
  }
  if (!complaint.Check(known, "rfc2544", "give throughput, latency, loss or back_to_back") ||
      !CheckNumbers(complaint)) {
    return false;
  }
  for (const char* other : {"rate", "schedule", "arrivals", "gaps", "loops", "duration_s"}) {
    if (!complaint.Check(host::IsDefault(other), other,
                         "--rfc2544 controls the offered load: omit this flag")) {
      return false;
    }
  }
  for (const engine::pktgen::StreamSpec& stream : settings->streams) {
    const bool steady = stream.phases.size() == 1 && stream.frames == 0 &&
                        stream.arrivals == engine::workload::Arrivals::kConstant &&
                        stream.phases[0].rate.unit == engine::pktgen::Rate::Unit::kPackets;
    if (!complaint.Check(steady, "streams",
                         "stream \"" + stream.name +
                             "\": --rfc2544 requires one constant rate in packets/s, as the "
                             "stream's share of the offered load")) {
      return false;
    }
  }
  test.trial_s = FLAGS_trial_s;
  test.probe_s = std::min(FLAGS_probe_s, FLAGS_trial_s);
  test.tolerated_loss = FLAGS_loss_percent / 100;
  test.precision = FLAGS_precision_percent / 100;
  test.repeats = FLAGS_repeats > 0 ? FLAGS_repeats : test.test == Test::kLoss ? 3 : 20;
  test.generator_pps = FLAGS_generator_mpps * 1e6;
  settings->rfc2544 = test;
  settings->traffic += "+rfc2544=" + FLAGS_rfc2544;
  return true;
}

}  // namespace sluice::pktgen
