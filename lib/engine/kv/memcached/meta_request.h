// SPDX-License-Identifier: BSD-3-Clause
//
// Common parts of the meta commands: errors, room, and answers that consist of a code and flags.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/kv/memcached/ascii_request.h"
#include "engine/kv/memcached/meta_flags.h"

namespace sluice::engine::kv::memcached {

inline constexpr std::string_view kTooManyFlags = "CLIENT_ERROR options flags too long";
inline constexpr std::string_view kInvalidOrDuplicate = "CLIENT_ERROR invalid or duplicate flag";
inline constexpr std::string_view kLongOpaque = "CLIENT_ERROR opaque token too long";

/// Returns whether there is room for any answer without a value. The answer is at most as long as
/// the request's line and numbers for c, f, s and t together.
inline bool HasRoom(AsciiRequest& request) {
  return request.Fits(request.line.size() + 2 * kAnswerBytes);
}
Step WriteTooLittleRoom(AsciiRequest& request);
/// Returns whether the token for O is absent or short enough.
bool OpaqueFits(const MetaFlags& flags);
/// Answers with `code`, the flags k, b and O, and c if `unique` is not null.
Step WriteCode(AsciiRequest& request, std::string_view code, const MetaFlags& flags,
               const uint64_t* unique = nullptr);

}  // namespace sluice::engine::kv::memcached
