// SPDX-License-Identifier: BSD-3-Clause
//
// One request of the ASCII protocol, as its commands see it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/kv/access.h"
#include "engine/kv/exchange.h"
#include "engine/kv/memcached/items.h"
#include "engine/kv/memcached/words.h"

namespace sluice::engine::kv::memcached {

/// How a request ended.
enum class Step : uint8_t {
  kNext,     ///< Served; the next one follows.
  kForeign,  ///< Exchange::owner must serve it.
  kEnd,      ///< Served, and what follows it is not.
};

// Answers and errors in memcached's words.
inline constexpr std::string_view kError = "ERROR";
inline constexpr std::string_view kBadLine = "CLIENT_ERROR bad command line format";
inline constexpr std::string_view kBadChunk = "CLIENT_ERROR bad data chunk";
inline constexpr std::string_view kBadExptime = "CLIENT_ERROR invalid exptime argument";
inline constexpr std::string_view kNonNumeric =
    "CLIENT_ERROR cannot increment or decrement non-numeric value";
inline constexpr std::string_view kTooLarge = "SERVER_ERROR object too large for cache";
inline constexpr std::string_view kNoMemory = "SERVER_ERROR out of memory storing object";
/// Ours: memcached's replies have no bound.
inline constexpr std::string_view kCutReply = "SERVER_ERROR reply too long";

/// Every answer but items, statistics and those of meta commands fits; so does kCutReply.
inline constexpr size_t kAnswerBytes = 96;

inline Bytes AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
inline std::string_view AsText(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct AsciiRequest {
  Exchange& exchange;
  Access& access;
  Reply& reply;
  ProtocolCounters& counters;
  std::string_view line;
  size_t next;          ///< Offset in the datagram, behind the line and the data that was taken.
  size_t reply_before;  ///< The reply's length before this request.
  bool muted = false;   ///< "noreply": errors are not answered either.

  /// What may still be said.
  size_t room() const { return exchange.RoomOf(reply); }
  /// A line. There is room: kAnswerBytes were there before the request.
  Step Say(std::string_view text);
  /// The same, of what is the client's mistake.
  Step SayError(std::string_view text);
  /// Takes everything back that was said; the reply became too long.
  Step SayCut();
  Step Foreign(const KeyHash& hash);

  /// The data behind the line, `bytes` and a line's end. Nothing: it is cut short, or does not
  /// end there, and that was said; Step says how to go on.
  std::optional<Bytes> TakeData(size_t bytes, Step* step);
  /// Passes over them.
  Step SkipData(size_t bytes);
};

/// Keys as they are on a line: not empty, for there are no empty words.
inline bool IsKey(std::string_view key) { return key.size() <= kMaxKeyBytes; }

// Commands. `words` goes on behind the command's name.
Step ServeGet(AsciiRequest& request, Words words, bool with_unique, bool touch);
Step ServeStore(AsciiRequest& request, Words words, StoreMode mode);
Step ServeDelta(AsciiRequest& request, Words words, bool decrement);
Step ServeDelete(AsciiRequest& request, Words words);
Step ServeTouch(AsciiRequest& request, Words words);
Step ServeFlush(AsciiRequest& request, Words words);
Step ServeStatistics(AsciiRequest& request, Words words);
Step ServeMetaGet(AsciiRequest& request, Words words);
Step ServeMetaSet(AsciiRequest& request, Words words);
Step ServeMetaDelete(AsciiRequest& request, Words words);
Step ServeMetaArithmetic(AsciiRequest& request, Words words);

}  // namespace sluice::engine::kv::memcached
