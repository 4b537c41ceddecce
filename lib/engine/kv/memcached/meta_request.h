// SPDX-License-Identifier: BSD-3-Clause
//
// What the meta commands share: errors, room, and answers of a code and flags.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/kv/memcached/ascii_request.h"
#include "engine/kv/memcached/meta_flags.h"

namespace sluice::engine::kv::memcached {

inline constexpr std::string_view kTooManyFlags = "CLIENT_ERROR options flags too long";
inline constexpr std::string_view kInvalidOrDuplicate = "CLIENT_ERROR invalid or duplicate flag";
inline constexpr std::string_view kLongOpaque = "CLIENT_ERROR opaque token too long";

/// The room that an answer without a value may take: it repeats no more than the request's line,
/// and adds numbers for c, f, s and t.
bool HasRoom(const AsciiRequest& request);
Step SayTooLittleRoom(AsciiRequest& request);
/// Whether the token of O, if there is one, is not too long.
bool OpaqueFits(const MetaFlags& flags);
/// An answer with k, b and O, and c if there is a `unique`.
Step SayCode(AsciiRequest& request, std::string_view code, const MetaFlags& flags,
             const uint64_t* unique = nullptr);

}  // namespace sluice::engine::kv::memcached
