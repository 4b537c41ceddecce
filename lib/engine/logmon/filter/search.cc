// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/search.h"

#include <absl/strings/escaping.h>
#include <string.h>

namespace sluice::engine::logmon {

size_t Find(std::string_view text, std::string_view piece) {
  if (piece.empty()) return 0;
  if (piece.size() > text.size()) return std::string_view::npos;
  const void* found = memmem(text.data(), text.size(), piece.data(), piece.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

std::unique_ptr<const RE2> CompileRe2(std::string_view expression, Reading reading,
                                      std::string* error) {
  // Memory limit for the program and the automaton of one expression. RE2 becomes slower when the
  // automaton reaches this limit.
  constexpr int64_t kMaxBytes = 2 << 20;
  RE2::Options options;
  options.set_encoding(reading == Reading::kBytes ? RE2::Options::EncodingLatin1
                                                  : RE2::Options::EncodingUTF8);
  options.set_log_errors(false);
  options.set_max_mem(kMaxBytes);
  auto compiled =
      std::make_unique<const RE2>(re2::StringPiece(expression.data(), expression.size()), options);
  if (compiled->ok()) return compiled;
  // RE2 quotes parts of the expression, which may contain any bytes.
  *error = absl::CHexEscape(compiled->error());
  return nullptr;
}

}  // namespace sluice::engine::logmon
