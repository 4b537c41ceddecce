// SPDX-License-Identifier: BSD-3-Clause
//
// The state of one ASCII request, passed to the functions that serve commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/kv/access.h"
#include "engine/kv/exchange.h"
#include "engine/kv/memcached/items.h"
#include "engine/kv/memcached/words.h"

namespace sluice::engine::kv::memcached {

/// Result of serving a request.
enum class Step : uint8_t {
  kNext,  ///< Served; continue with the next request.
  kEnd,   ///< Served; ignore the rest of the datagram, or close the stream.
  // The request is not finished.
  kForeign,  ///< Exchange::owner must serve it.
  kMore,     ///< Its data is incomplete.
  kRoom,     ///< Its reply must be sent before the rest of its keys is served.
  kSkipped,  ///< Only from ReadData: its data is too long, and is skipped.
};

// Answers and errors with memcached's texts.
inline constexpr std::string_view kError = "ERROR";
inline constexpr std::string_view kBadLine = "CLIENT_ERROR bad command line format";
inline constexpr std::string_view kBadChunk = "CLIENT_ERROR bad data chunk";
inline constexpr std::string_view kBadExptime = "CLIENT_ERROR invalid exptime argument";
inline constexpr std::string_view kNonNumeric =
    "CLIENT_ERROR cannot increment or decrement non-numeric value";
inline constexpr std::string_view kTooLarge = "SERVER_ERROR object too large for cache";
inline constexpr std::string_view kNoMemory = "SERVER_ERROR out of memory storing object";
/// An error that memcached does not have, because memcached does not limit the length of replies.
inline constexpr std::string_view kCutReply = "SERVER_ERROR reply too long";

/// Maximum length of kCutReply and of every answer except items, the version, statistics and
/// answers to meta commands.
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
  size_t next;          ///< Offset in the datagram after the line and the data that was read.
  size_t reply_before;  ///< Length of the reply before this request.
  bool muted = false;   ///< "noreply": suppresses answers, including errors.

  /// Returns the number of bytes by which the reply may still grow.
  size_t room() const { return exchange.RoomOf(reply); }
  /// Returns whether the reply may grow by `bytes`, in a stream after it is moved. Call it when
  /// `next` is final.
  [[gnu::always_inline]] bool Fits(size_t bytes) {
    if (bytes <= room()) [[likely]]
      return true;
    return FitsElsewhere(bytes);
  }
  [[gnu::cold, gnu::noinline]] bool FitsElsewhere(size_t bytes) {
    return exchange.FitsElsewhere(bytes, reply, next);
  }
  /// Answers with `text` and a line end, unless `muted`. There is room, because a request starts
  /// only with kAnswerBytes of room.
  Step WriteLine(std::string_view text);
  /// Answers with a client error and counts it.
  Step WriteError(std::string_view text);
  /// Replaces the answer to this request with an error because the reply became too long.
  Step WriteTooLong();
  Step Foreign(const KeyHash& hash);

  /// Returns the data after the line, `bytes` followed by a line end. If the data is incomplete or
  /// not followed by a line end, answers with an error, sets `step` to the result of the request,
  /// and returns nullopt. In a stream, incomplete data is not an error.
  std::optional<Bytes> ReadData(size_t bytes, Step* step);
  /// Skips the data after the line, which in a stream may arrive later.
  Step SkipData(size_t bytes);

 private:
  /// Implements ReadData for incomplete data.
  [[gnu::cold, gnu::noinline]] Step AwaitData(size_t bytes);
};

/// Returns whether the key on a line is valid. A word on a line is never empty.
inline bool IsKey(std::string_view key) { return key.size() <= kMaxKeyBytes; }

// Commands. `words` starts after the command's name.
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
