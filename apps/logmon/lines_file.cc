// SPDX-License-Identifier: BSD-3-Clause
#include "lines_file.h"

#include <absl/strings/str_format.h>
#include <absl/time/time.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "engine/logmon/source/source_name.h"
#include "report.h"

namespace sluice::logmon {

std::string ShownLineText(const ShownLine& line, const Config& config) {
  nlohmann::ordered_json json;
  json["time"] = absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ",
                                  absl::FromUnixNanos(static_cast<int64_t>(line.time_ns)),
                                  absl::UTCTimeZone());
  json["source"] = SourceName(line.source);
  if (line.is_syslog) {
    json["facility"] = line.header.facility;
    json["severity"] = line.header.severity;
    if (!line.header.hostname.empty()) json["hostname"] = line.header.hostname;
    if (!line.header.app.empty()) json["app"] = line.header.app;
  }
  for (size_t i = 0; i < config.about.size(); ++i) {
    if (line.filters[i]) json["filters"].push_back(config.about[i].name);
  }
  if (line.truncated) json["truncated"] = true;
  json["line"] = line.text;
  return AsciiLine(json);
}

bool LinesFile::Open(const std::string& path, std::string* error) {
  path_ = path;
  file_.reset(path == "-" ? stdout : std::fopen(path.c_str(), "ae"));
  if (file_ != nullptr) return true;
  *error = path + ": " + std::strerror(errno);
  return false;
}

void LinesFile::Write(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), file_.get());
}

void LinesFile::Flush() {
  if ((std::fflush(file_.get()) == 0 && std::ferror(file_.get()) == 0) || failed_) return;
  failed_ = true;
  std::fprintf(stderr, "%s: some lines could not be written\n", path_.c_str());
}

}  // namespace sluice::logmon
