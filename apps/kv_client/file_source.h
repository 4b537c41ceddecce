// SPDX-License-Identifier: BSD-3-Clause
//
// Servers from a file with one on each line, read again when it changes. Blank lines and what
// follows # say nothing.
#pragma once

#include <optional>
#include <string>

#include "member_source.h"

namespace sluice::kv_client {

class FileSource : public MemberSource {
 public:
  FileSource(std::string path, const ServerRules& rules);

  std::optional<Servers> Open(std::string* error) override;
  std::optional<Servers> Poll(std::string* error) override;

 private:
  bool Changed();

  const std::string path_;
  const ServerRules rules_;
  std::string signature_;  // Of the file as it was read last.
};

}  // namespace sluice::kv_client
