// SPDX-License-Identifier: BSD-3-Clause
#include "file_source.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/string_view.h>
#include <sys/stat.h>

#include <utility>
#include <vector>

#include "config/json_reader.h"

namespace sluice::kv_client {

namespace {

constexpr size_t kMaxFileBytes = 1 << 20;

}  // namespace

FileSource::FileSource(std::string path, const ServerRules& rules)
    : path_(std::move(path)), rules_(rules) {}

bool FileSource::Changed() {
  struct stat status;
  if (stat(path_.c_str(), &status) != 0) return false;
  std::string signature = absl::StrCat(status.st_ino, " ", status.st_size, " ",
                                       status.st_mtim.tv_sec, " ", status.st_mtim.tv_nsec);
  return std::exchange(signature_, std::move(signature)) != signature_;
}

std::optional<Servers> FileSource::Open(std::string* error) {
  Changed();
  config::Errors errors;
  const std::optional<std::string> text = config::ReadFile(path_, &errors, kMaxFileBytes);
  if (!text) {
    *error = errors.front();
    return std::nullopt;
  }
  std::vector<std::string> words;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (!line.empty()) words.emplace_back(line);
  }
  return ReadServers(words, rules_, error);
}

std::optional<Servers> FileSource::Poll(std::string* error) {
  return Changed() ? Open(error) : std::nullopt;
}

}  // namespace sluice::kv_client
