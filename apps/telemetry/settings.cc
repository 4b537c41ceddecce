// SPDX-License-Identifier: BSD-3-Clause
#include "settings.h"

#include <gflags/gflags.h>

#include <cmath>
#include <random>

#include "engine/telemetry/key_list.h"
#include "host/argument_faults.h"
#include "ipfix_sender.h"

DEFINE_string(keys, "5-tuple",
              "Keys by which packets are counted, comma-separated: 5-tuple, source, destination, "
              "source/24 (prefix of IPv4), source/24,64 (prefixes of IPv4 and IPv6)");
DEFINE_string(sketch, "count_sketch", "Kind of sketch: count_sketch or count_min");
DEFINE_uint32(rows, 8, "Number of rows of each sketch, 3 to 16");
DEFINE_uint32(columns, 1 << 13, "Number of columns of each sketch, a power of two");
DEFINE_uint32(top_k, 100, "Maximum number of heavy hitters per key, 1 to 10000");
DEFINE_uint32(exact_flows, 1 << 14,
              "With --pace=correct: number of flows per key that are counted exactly; if an epoch "
              "has more, its further packets are counted in sketches; 0: none");
DEFINE_uint32(levels, 16,
              "Number of levels of sketches that estimate distinct flows and entropy (UnivMon); 1: "
              "no such estimates");
DEFINE_uint32(level_columns, 1 << 8, "Number of columns in each level's sketch, a power of two");
DEFINE_uint32(level_top_k, 250, "Number of flows that each level tracks");
DEFINE_string(pace, "correct",
              "Probability that a packet updates the sketches: fixed (always --probability), "
              "correct (1 until an epoch has enough packets for its bounds, then --probability) or "
              "line_rate (falls with the load, down to 1/128)");
DEFINE_double(probability, 0.01, "Probability that a packet updates a row of a sketch; see --pace");
DEFINE_double(full_rate_pps, 1e6,
              "With --pace=line_rate: packets/s up to which a worker counts all packets");
DEFINE_double(epoch_s, 1, "Length of an epoch in seconds, 0.001 to 3600");
DEFINE_double(heavy_hitter_share, 0.0005,
              "Smallest share of all packets that makes a flow a heavy hitter");
DEFINE_double(
    change_share, 0.0005,
    "Smallest change of a flow between two epochs that is reported, as a share of all packets");
DEFINE_double(confidence, 0.95, "Probability that a true value is within its reported bound");
DEFINE_bool(oracle, false,
            "Also count some flows exactly, and print the measured errors with the bounds");
DEFINE_uint32(oracle_one_in, 1000, "With --oracle: count one flow in this many");
DEFINE_uint32(oracle_flows, 1 << 14, "With --oracle: maximum number of flows counted per key");
DEFINE_uint32(top, 5, "Number of flows printed per key");
DEFINE_double(zipf, 1, "Embedded NIC: Zipf exponent of the flows' popularity; 0: all equal");
DEFINE_string(export_ipfix, "", "Send reports as IPFIX over UDP to this ADDRESS:PORT");
DEFINE_uint32(ipfix_domain, 1,
              "IPFIX observation domain of the first key; each further key has the next number");
DEFINE_uint32(ipfix_template_s, 10, "Seconds between repetitions of IPFIX templates");
DEFINE_string(export_csv, "", "Write reports to this CSV file, one number per row");
DEFINE_string(export_json, "", "Write reports to this file, one JSON object per line");
DEFINE_string(export_epochs, "",
              "Write each epoch with all counters to a file in this folder, for --merge; the files "
              "contain the secret seed (--sketch_seed)");
DEFINE_uint32(epochs_kept, 60,
              "Number of latest files of a run that --export_epochs keeps; 0: all");
DEFINE_uint64(sketch_seed, 0,
              "Secret seed of hashes and samples; equal on all nodes whose epochs are merged; 0: "
              "--seed, or a random seed");
DECLARE_string(ip);

namespace sluice::telemetry {

namespace {

constexpr uint32_t kMaxTop = 100;
constexpr double kMaxZipf = 10;

// Returns an error message if files cannot be created in the folder; otherwise an empty string.
std::string FolderFault(const std::string& folder) {
  return folder.empty() ? "" : host::OutputFileFault(folder + "/epoch.sluice");
}

}  // namespace

std::optional<Settings> ReadSettings(const runtime::CommandLine& line, std::string* flag,
                                     std::string* fix) {
  const runtime::Complaint complaint{flag, fix};
  const auto keys = engine::telemetry::ParseKeys(FLAGS_keys);
  const auto pace = engine::telemetry::PaceByName(FLAGS_pace);
  const auto sketch = engine::telemetry::SketchByName(FLAGS_sketch);
  const bool readable =
      complaint.Check(keys.has_value(), "keys",
                      "give 5-tuple, source, destination, or prefixes such as source/24 or "
                      "source/24,64, separated by commas") &&
      complaint.Check(pace.has_value(), "pace", "give fixed, correct or line_rate") &&
      complaint.Check(sketch.has_value(), "sketch", "give count_sketch or count_min") &&
      complaint.Check(FLAGS_epoch_s >= 0.001 && FLAGS_epoch_s <= 3600, "epoch_s",
                      "give 0.001 to 3600 seconds") &&
      complaint.Check(!FLAGS_oracle || FLAGS_oracle_one_in >= 1, "oracle_one_in",
                      "give 1 or more") &&
      complaint.Check(FLAGS_top <= kMaxTop, "top", "give 0 to 100") &&
      complaint.Check(FLAGS_zipf >= 0 && FLAGS_zipf <= kMaxZipf, "zipf", "give 0 to 10") &&
      complaint.Check(FLAGS_ipfix_domain >= 1 && FLAGS_ipfix_domain <= UINT32_MAX - 8,
                      "ipfix_domain", "give 1 to 4294967287") &&
      complaint.Check(FLAGS_ipfix_template_s >= 1, "ipfix_template_s", "give 1 second or more") &&
      complaint.Check(FLAGS_ip.empty(), "ip",
                      "the program forwards all frames and answers none: omit --ip") &&
      complaint.Check(FLAGS_export_ipfix.empty() || IpfixSender::IsAddress(FLAGS_export_ipfix),
                      "export_ipfix", IpfixSender::kAddressFix) &&
      complaint.Accept(host::OutputFileFault(FLAGS_export_csv), "export_csv") &&
      complaint.Accept(host::OutputFileFault(FLAGS_export_json), "export_json") &&
      complaint.Accept(FolderFault(FLAGS_export_epochs), "export_epochs");
  if (!readable) return std::nullopt;

  Settings settings;
  engine::telemetry::Setup& setup = settings.setup;
  setup.keys = *keys;
  setup.sketch = *sketch;
  setup.rows = FLAGS_rows;
  setup.columns = FLAGS_columns;
  setup.top_k = FLAGS_top_k;
  setup.exact_flows = FLAGS_exact_flows;
  setup.levels = FLAGS_levels;
  setup.level_columns = FLAGS_level_columns;
  setup.level_top_k = FLAGS_level_top_k;
  setup.pace = *pace;
  setup.probability = FLAGS_probability;
  setup.full_rate_pps = FLAGS_full_rate_pps;
  setup.epoch_ns = static_cast<uint64_t>(std::llround(FLAGS_epoch_s * 1e9));
  setup.heavy_hitter_share = FLAGS_heavy_hitter_share;
  setup.change_share = FLAGS_change_share;
  setup.confidence = FLAGS_confidence;
  setup.oracle_one_in = FLAGS_oracle ? FLAGS_oracle_one_in : 0;
  setup.oracle_flows = FLAGS_oracle_flows;
  setup.seed = FLAGS_sketch_seed != 0 ? FLAGS_sketch_seed : line.options.SeedOrRandom();
  if (FLAGS_sketch_seed != 0 && !line.options.seed) settings.samples = std::random_device()() >> 1;
  // The error has the form "member: fix"; a member has the same name as its flag.
  if (const std::string error = setup.Error(); !error.empty()) {
    const size_t colon = error.find(": ");
    *flag = error.substr(0, colon);
    *fix = "give " + error.substr(colon + 2);
    return std::nullopt;
  }
  settings.exports = {.ipfix = FLAGS_export_ipfix,
                      .csv = FLAGS_export_csv,
                      .json = FLAGS_export_json,
                      .epochs = FLAGS_export_epochs,
                      .epochs_kept = FLAGS_epochs_kept,
                      .ipfix_domain = FLAGS_ipfix_domain,
                      .ipfix_template_s = FLAGS_ipfix_template_s};
  settings.zipf = FLAGS_zipf;
  settings.top = FLAGS_top;
  return settings;
}

}  // namespace sluice::telemetry
