// SPDX-License-Identifier: BSD-3-Clause
#include "exports.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "engine/files/whole_file.h"
#include "engine/telemetry/export/csv.h"
#include "engine/telemetry/export/epoch_json.h"

namespace sluice::telemetry {

namespace {

uint64_t UnixNs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count());
}

}  // namespace

void EpochFiles::Write(const engine::telemetry::Epoch& epoch,
                       const engine::telemetry::EpochTimes& times) {
  const std::string path = folder_ + "/epoch-" + std::to_string(times.start_ns) + ".sluice";
  const std::string bytes = engine::telemetry::EncodeEpoch(epoch, times);
  // Only the owner may read the file, because it contains the seed, from which colliding flows can
  // be constructed.
  engine::WholeFile file(path);
  file.Write(bytes.data(), bytes.size());
  std::string error;  // Ignored, because Exports reports the failure with the flag's name.
  if (!file.Finish(&error)) {
    failed_ = true;
    return;
  }
  ++written_;
  files_.push_back(path);
  if (kept_ == 0 || files_.size() <= kept_) return;
  unlink(files_.front().c_str());
  files_.pop_front();
}

bool Exports::File::Open(const std::string& its_flag, const std::string& its_path) {
  flag = its_flag;
  path = its_path;
  file.reset(std::fopen(path.c_str(), "we"));
  return file != nullptr;
}

// Flushes each line, so that programs that follow the file read whole lines.
void Exports::File::Write(const std::string& text) {
  if (file == nullptr) return;
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  failed = failed || !written || std::fflush(file.get()) != 0;
}

std::unique_ptr<Exports> Exports::Open(const Settings& settings, uint64_t clock_unix_ns,
                                       std::string* flag, std::string* fix) {
  std::unique_ptr<Exports> exports(new Exports(settings, clock_unix_ns));
  const ExportSettings& to = settings.exports;
  if (!to.ipfix.empty()) {
    exports->ipfix_ = IpfixSender::Open(to.ipfix,
                                        {.domain = to.ipfix_domain,
                                         .template_refresh_s = to.ipfix_template_s,
                                         .confidence = settings.setup.confidence,
                                         .clock_unix_ns = clock_unix_ns},
                                        settings.setup.keys.size(), fix);
    if (exports->ipfix_ == nullptr) {
      *flag = "export_ipfix";
      return nullptr;
    }
  }
  const auto open = [&](File& file, const char* name, const std::string& path) {
    if (path.empty() || file.Open(name, path)) return true;
    *flag = name;
    *fix = std::string(std::strerror(errno)) + ": give a writable file";
    return false;
  };
  if (!open(exports->csv_, "export_csv", to.csv) || !open(exports->json_, "export_json", to.json)) {
    return nullptr;
  }
  if (!to.epochs.empty()) {
    exports->folder_ = to.epochs;
    exports->files_ = std::make_unique<EpochFiles>(to.epochs, to.epochs_kept);
  }
  exports->csv_.Write(engine::telemetry::CsvHeader());
  return exports;
}

void Exports::Write(const engine::telemetry::EpochReport& report,
                    const engine::telemetry::Epoch& epoch) {
  if (ipfix_ != nullptr) {
    ipfix_->Send(report, UnixNs());
    ipfix_messages_.store(ipfix_->counters().messages, std::memory_order_relaxed);
    ipfix_failed_.store(ipfix_->counters().failed, std::memory_order_relaxed);
  }
  if (csv_.file != nullptr) csv_.Write(engine::telemetry::CsvRows(report, clock_unix_ns_));
  if (json_.file != nullptr) {
    json_.Write(EpochJson(report, clock_unix_ns_, confidence_).dump() + "\n");
  }
  if (files_ != nullptr) {
    files_->Write(epoch, {clock_unix_ns_ + report.start_ns, clock_unix_ns_ + report.end_ns});
    epoch_files_.store(files_->written(), std::memory_order_relaxed);
  }
  epochs_.fetch_add(1, std::memory_order_relaxed);
}

bool Exports::Close(std::string* error) {
  for (File* const file : {&csv_, &json_}) {
    if (file->file == nullptr) continue;
    if (std::fclose(file->file.release()) != 0) file->failed = true;
    if (!file->failed) continue;
    *error = "--" + file->flag + "=" + file->path + ": could not be written completely";
    return false;
  }
  if (files_ == nullptr || !files_->failed()) return true;
  *error = "--export_epochs=" + folder_ + ": a file could not be written";
  return false;
}

nlohmann::ordered_json Exports::Counts() const {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (ipfix_ != nullptr) {
    json["ipfix_messages"] = ipfix_messages_.load(std::memory_order_relaxed);
    json["ipfix_failed"] = ipfix_failed_.load(std::memory_order_relaxed);
  }
  const uint64_t epochs = epochs_.load(std::memory_order_relaxed);
  if (!csv_.path.empty()) json["csv_epochs"] = epochs;
  if (!json_.path.empty()) json["json_epochs"] = epochs;
  if (files_ != nullptr) json["epoch_files"] = epoch_files_.load(std::memory_order_relaxed);
  return json;
}

}  // namespace sluice::telemetry
