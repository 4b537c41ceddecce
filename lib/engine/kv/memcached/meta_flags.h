// SPDX-License-Identifier: BSD-3-Clause
//
// The flags of meta commands: one letter each, some followed by a token.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "engine/kv/hash.h"
#include "engine/kv/item.h"
#include "engine/kv/memcached/words.h"

namespace sluice::engine::kv::memcached {

/// The common part of all meta commands: a key, and flags with their values.
struct MetaFlags {
  /// memcached accepts 20 words; one is the end of the line, two are command and key.
  static constexpr size_t kMaxWords = 17;

  explicit MetaFlags(Words words) : words(words) {}

  /// Parses the flags; `key` is the word of the request that contains the key. Returns the error,
  /// or an empty string. `refused` lists flags that this command does not support.
  std::string_view Read(std::string_view key, std::string_view refused);

  Bytes key() const { return {key_bytes.data(), key_size}; }
  /// Returns the key in the form used in answers. For base64, this is the canonical text, in which
  /// unused bits are 0.
  std::string_view key_text() const { return {key_chars.data(), key_text_size}; }

  WordList<kMaxWords> words;
  bool quiet = false;       ///< Flag q.
  bool value = false;       ///< Flag v.
  bool binary_key = false;  ///< Flag b: the key was sent in base64.
  bool has_ttl = false;     ///< Flag T.
  bool creates = false;     ///< Flag N.
  bool compares = false;    ///< Flag C.
  char mode = 0;            ///< Token of flag M.
  uint32_t client_flags = 0;
  int64_t ttl = 0;
  int64_t created_ttl = 0;
  uint64_t compare = 0;
  uint64_t delta = 1;
  uint64_t initial = 0;

 private:
  std::string_view ReadOne(std::string_view flag, std::string_view key);

  std::array<uint8_t, kMaxKeyBytes> key_bytes;
  size_t key_size = 0;
  /// The key as text. The size is kMaxKeyBytes rounded up to a multiple of 4, for base64.
  std::array<char, kMaxKeyBytes + 2> key_chars;
  size_t key_text_size = 0;
};

/// Builds the line of an answer. Each flag is answered at most once, so the line always fits.
class MetaLine {
 public:
  explicit MetaLine(std::string_view code) { Add(code); }

  void Add(std::string_view text) {
    std::copy(text.begin(), text.end(), bytes_.begin() + size_);
    size_ += text.size();
  }
  /// Adds a flag with its token.
  void Add(char flag, std::string_view token) {
    const char head[] = {' ', flag};
    Add({head, 2});
    Add(token);
  }
  void AddNumber(char flag, int64_t number);
  void AddNumber(char flag, uint64_t number);
  /// Adds `flag` if it is one that every answer returns: k (followed by b if the key was sent in
  /// base64) or O.
  void AddCommon(std::string_view flag, const MetaFlags& flags);
  std::string_view text() const { return {bytes_.data(), size_}; }

 private:
  /// Large enough for a key, an opaque token, numbers for c, f, s and t, and the code with a
  /// length.
  std::array<char, kMaxKeyBytes + 200> bytes_;
  size_t size_ = 0;
};

/// Longest token of O, including its letter.
inline constexpr size_t kMaxOpaqueBytes = 32;

}  // namespace sluice::engine::kv::memcached
