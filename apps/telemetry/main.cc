// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-telemetry: counts packets by flow, and forwards all of them. The engine is
// lib/engine/telemetry; epoch_reader.h reads its epochs, exports.h writes the reports; everything
// else is lib/runtime. Start reading here.
#include <absl/strings/str_split.h>
#include <gflags/gflags.h>
#include <rte_cycles.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/telemetry/meter.h"
#include "epoch_reader.h"
#include "exports.h"
#include "latest.h"
#include "merge.h"
#include "runtime/command_line.h"
#include "runtime/sample_capture.h"
#include "runtime/session.h"
#include "settings.h"
#include "table.h"
#include "traffic.h"
#include "views.h"
#include "worker.h"

DEFINE_string(merge, "",
              "Merge these files of --export_epochs, comma-separated, into one report, and exit");
DECLARE_uint32(flows);

namespace {

using namespace sluice::telemetry;
using sluice::engine::telemetry::Epoch;
using sluice::engine::telemetry::EpochReport;
using sluice::engine::telemetry::Meter;
using sluice::runtime::AppHooks;
using sluice::runtime::BadFlag;
using sluice::runtime::CommandLine;
using sluice::runtime::SampleCapture;
using sluice::runtime::Session;
using sluice::runtime::WorkerInfo;

// Returns the time in ns since 1970 at which the TSC was 0.
uint64_t ClockUnixNs() {
  const auto unix_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const auto clock_ns =
      static_cast<unsigned __int128>(rte_rdtsc()) * 1'000'000'000 / rte_get_tsc_hz();
  return static_cast<uint64_t>(unix_ns.count()) - static_cast<uint64_t>(clock_ns);
}

// Generates traffic with heavy hitters for the embedded NIC, unless a flag selects other traffic.
// If it does not generate any, returns nullopt; on failure, also sets `error` to one line.
std::optional<SampleCapture> MakeTraffic(const Settings& settings, CommandLine* line,
                                         std::string* error) {
  sluice::runtime::Options& options = line->options;
  if (!sluice::runtime::WantsSample(*line)) return std::nullopt;
  const TrafficOptions traffic{.flows = FLAGS_flows,
                               .zipf = settings.zipf,
                               .size = options.frame_size,
                               .ipv4_only = options.iface->ipv4_only,
                               .seed = options.seed.value_or(1)};
  const std::string about =
      "zipf:size=" + traffic.size + "+flows=" + std::to_string(traffic.flows) +
      "+exponent=" + std::to_string(traffic.zipf) + "+frames=" + std::to_string(kSampleFrames);
  const auto write = [&traffic](const std::string& path, std::string* why) {
    return WriteTraffic(traffic, path, why);
  };
  return SampleCapture::Make(options, write, about, "", error);
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 0;
  auto line = sluice::runtime::ReadCommandLine(
      "telemetry", "counts packets per flow and forwards them", argc, argv, &exit_code);
  if (!line) return exit_code;
  std::string flag, fix;
  const std::optional<Settings> settings = ReadSettings(*line, &flag, &fix);
  if (!settings) return BadFlag(flag, fix);
  if (!FLAGS_merge.empty()) {
    return RunMerge(absl::StrSplit(FLAGS_merge, ','), *line, *settings);
  }
  std::FILE* const text = line->options.Text();
  auto traffic = MakeTraffic(*settings, &*line, &fix);
  if (!fix.empty())
    return BadFlag("frame_size", "the generated traffic could not be written: " + fix);
  line->options.promiscuous = true;
  const auto session = Session::Start(*std::move(line), &exit_code);
  if (traffic) {
    traffic.reset();
    std::fprintf(text, "traffic: %u frames of %u flows, Zipf %g, repeated\n", kSampleFrames,
                 FLAGS_flows, settings->zipf);
    std::fflush(text);
  }
  if (session == nullptr) return exit_code;

  const uint64_t clock_unix_ns = ClockUnixNs();
  const auto exports = Exports::Open(*settings, clock_unix_ns, &flag, &fix);
  if (exports == nullptr) return BadFlag(flag, fix);
  EpochReader::Meters meters;
  for (uint32_t worker = 0; worker < session->workers(); ++worker) {
    meters.push_back(std::make_unique<Meter>(settings->setup, settings->samples + worker,
                                             rte_get_tsc_hz(), rte_rdtsc()));
  }
  Latest latest;
  EpochReader reader(settings->setup, rte_get_tsc_hz(), meters,
                     [&](const EpochReport& report, const Epoch& epoch) {
                       exports->Write(report, epoch);
                       latest.Publish(report);
                     });
  const Views views(latest, *exports, clock_unix_ns, settings->setup.confidence);
  TableLine table(latest, settings->top);
  AppHooks hooks;
  hooks.line = [&table] { return table.Next(); };
  hooks.report = [&](nlohmann::ordered_json& report) {
    reader.Finish(rte_rdtsc());
    views.Extend(report);
  };
  hooks.commands = views.Commands();
  hooks.metrics = [&views](auto& families) { views.AddMetrics(families); };
  exit_code = session->Run(
      [&meters](const WorkerInfo& info) { return Worker(*meters[info.worker]); }, std::move(hooks));
  reader.Finish(rte_rdtsc());
  std::fprintf(text, "%s\n", TotalsLine(latest.totals()).c_str());
  if (!exports->Close(&fix)) {
    std::fprintf(stderr, "sluice-telemetry: %s\n", fix.c_str());
    return exit_code != 0 ? exit_code : 1;
  }
  return exit_code;
}
