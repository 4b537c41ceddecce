// SPDX-License-Identifier: BSD-3-Clause
#include "file_source.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <utility>
#include <vector>

namespace sluice::kv_client {

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
  std::ifstream file(path_);
  if (!file) {
    *error = "cannot be read: name a file with a server on each line";
    return std::nullopt;
  }
  std::vector<std::string> words;
  for (std::string line; std::getline(file, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    const absl::string_view word = absl::StripAsciiWhitespace(line);
    if (!word.empty()) words.emplace_back(word);
  }
  return ReadServers(words, rules_, error);
}

std::optional<Servers> FileSource::Poll(std::string* error) {
  return Changed() ? Open(error) : std::nullopt;
}

}  // namespace sluice::kv_client
