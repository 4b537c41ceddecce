// SPDX-License-Identifier: BSD-3-Clause
#include "merge.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "config/json_reader.h"
#include "engine/telemetry/analyst.h"
#include "engine/telemetry/export/epoch_file.h"
#include "engine/telemetry/export/epoch_json.h"
#include "exports.h"
#include "host/output_text.h"
#include "table.h"

namespace sluice::telemetry {

namespace {

using engine::telemetry::Epoch;
using engine::telemetry::EpochReport;

constexpr size_t kMaxFileBytes = size_t{8} << 30;
// Clock frequency for files, which store times in ns.
constexpr uint64_t kNsPerSecond = 1'000'000'000;

// A flag is named after its member, with these exceptions.
std::string FlagOf(std::string_view member) {
  if (member == "seed") return "sketch_seed";
  return member == "epoch_ns" ? "epoch_s" : std::string(member);
}

bool AreTheSame(const std::string& path, const std::string& other) {
  std::error_code unknown;  // Errors for missing files are ignored; the reader reports them.
  return path == other || std::filesystem::equivalent(path, other, unknown);
}

// Returns whether one of the files is in this folder. The merged epoch's file is named after the
// earliest epoch, so it could replace an input.
bool HasOneOf(const std::vector<std::string>& files, const std::string& folder) {
  return std::ranges::any_of(files, [&](const std::string& path) {
    const std::filesystem::path parent = std::filesystem::path(path).parent_path();
    return AreTheSame(parent.empty() ? "." : parent.string(), folder);
  });
}

std::unique_ptr<Epoch> ReadEpoch(const std::string& path, std::string* error) {
  config::Errors errors;
  const std::optional<std::string> bytes = config::ReadFile(path, &errors, kMaxFileBytes);
  if (!bytes) {
    *error = errors.front();
    return nullptr;
  }
  std::unique_ptr<Epoch> epoch = engine::telemetry::DecodeEpoch(*bytes, error);
  if (epoch == nullptr) *error = path + ": " + *error;
  return epoch;
}

// Returns the merged epoch. On failure, returns null and sets `error`.
std::unique_ptr<Epoch> Merged(const std::vector<std::string>& files, std::string* error) {
  std::unique_ptr<Epoch> merged;
  for (const std::string& path : files) {
    const auto is_it = [&](const std::string& other) { return AreTheSame(path, other); };
    if (std::ranges::count_if(files, is_it) != 1) {
      *error = path + ": is listed twice, and its traffic would count twice: list each file once";
      return nullptr;
    }
    std::unique_ptr<Epoch> epoch = ReadEpoch(path, error);
    if (epoch == nullptr) return nullptr;
    if (merged == nullptr) {
      merged = std::move(epoch);
      continue;
    }
    const std::string_view differs = engine::telemetry::Difference(merged->setup, epoch->setup);
    if (!differs.empty() || !merged->Merge(*epoch)) {
      *error =
          absl::StrCat(path, ": the epoch's --", FlagOf(differs), " differs from the value of ",
                       files.front(), ": give all nodes the same value");
      return nullptr;
    }
  }
  return merged;
}

}  // namespace

int RunMerge(const std::vector<std::string>& files, const runtime::CommandLine& line,
             Settings settings) {
  std::string flag, fix;
  if (files.size() > engine::telemetry::kMaxMergedEpochs) {
    return runtime::BadFlag("merge",
                            absl::StrCat("give at most ", engine::telemetry::kMaxMergedEpochs,
                                         " files, and merge the merged epochs in further runs"));
  }
  if (!settings.exports.epochs.empty() && HasOneOf(files, settings.exports.epochs)) {
    return runtime::BadFlag("export_epochs",
                            settings.exports.epochs +
                                ": this folder contains an input of --merge: give another folder");
  }
  const std::unique_ptr<Epoch> merged = Merged(files, &fix);
  if (merged == nullptr) return runtime::BadFlag("merge", fix);
  settings.setup = merged->setup;
  const auto exports = Exports::Open(settings, 0, &flag, &fix);
  if (exports == nullptr) return runtime::BadFlag(flag, fix);
  engine::telemetry::Analyst analyst(merged->setup, kNsPerSecond);
  const Epoch* const epoch = merged.get();
  const std::optional<EpochReport> report = analyst.Report({&epoch, 1});
  exports->Write(*report, *merged);
  const std::string& json = line.options.json;
  line.options.Print(Table(*report, settings.top) + "\n");
  bool whole = exports->Close(&fix);
  if (whole && !json.empty()) {
    whole = host::WriteText(
        json, engine::telemetry::EpochJson(*report, 0, merged->setup.confidence).dump(2) + "\n");
    fix = "--json=" + json + ": could not be written";
  }
  if (whole) return 0;
  std::fprintf(stderr, "sluice-telemetry: %s\n", fix.c_str());
  return 1;
}

}  // namespace sluice::telemetry
