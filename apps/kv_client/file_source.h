// SPDX-License-Identifier: BSD-3-Clause
//
// Reads servers from a file, one per line. The file is read again after each change. Blank lines
// and text after # are ignored.
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
  std::string signature_;  // Signature of the file when it was last read.
};

}  // namespace sluice::kv_client
