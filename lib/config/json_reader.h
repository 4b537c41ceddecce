// SPDX-License-Identifier: BSD-3-Clause
//
// Reads JSON objects member by member, tracks the path of each member, and reports errors: wrong
// types, wrong values and unknown members. Used on the control path only.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::config {

/// Error messages of one line each: at most kMaxErrors, then one that says that there are more.
using Errors = std::vector<std::string>;
inline constexpr size_t kMaxErrors = 100;
/// Returns whether the limit is exceeded, so that reading can stop.
inline bool Full(const Errors& errors) { return errors.size() > kMaxErrors; }
/// Adds a line with control characters replaced by '?', unless the list is full.
void AddError(Errors* errors, std::string line);

/// Limit for any configuration file; large enough for the largest configuration that Maglev's
/// limits allow.
inline constexpr size_t kMaxConfigBytes = size_t{32} << 20;

/// Returns the bytes of a regular file, at most `max_bytes`. If the file is unreadable, empty, too
/// long or not a regular file, adds a message to `errors` and returns nullopt. Never waits for a
/// writer.
std::optional<std::string> ReadFile(const std::string& path, Errors* errors,
                                    size_t max_bytes = kMaxConfigBytes);

/// Parses JSON with comments. If the text is longer than `max_bytes`, is not JSON, is nested too
/// deeply, or contains an object with a duplicate member, adds a message to `errors` and returns
/// nullopt.
std::optional<nlohmann::json> ParseJson(std::string_view text, Errors* errors,
                                        size_t max_bytes = kMaxConfigBytes);

/// Reads one object. Each member may be read once; Finish reports members that were not read. If a
/// member is absent or invalid, the read functions return false and do not change `value`.
class ObjectReader {
 public:
  /// `path` is the prefix of messages; empty for the whole file.
  ObjectReader(const nlohmann::json& json, std::string path, Errors* errors);

  bool Text(std::string_view key, std::string* value);
  bool Flag(std::string_view key, bool* value);
  /// Reads a whole number within [least, most].
  template <typename Number>
  bool Whole(std::string_view key, uint64_t least, uint64_t most, Number* value) {
    uint64_t number = 0;
    if (!WholeNumber(key, least, most, &number)) return false;
    *value = static_cast<Number>(number);
    return true;
  }
  /// Reads a number within [least, most].
  bool Real(std::string_view key, double least, double most, double* value);
  /// Reads a string that `parse` converts to a value; `fix` describes valid strings, for the error
  /// message.
  template <typename Value, typename Parse>
  bool Parsed(std::string_view key, std::string_view fix, Parse parse, Value* value) {
    std::string text;
    if (!Text(key, &text)) return false;
    if (auto parsed = parse(text)) {
      *value = *std::move(parsed);
      return true;
    }
    Complain(key, "\"" + text + "\": give " + std::string(fix));
    return false;
  }
  /// Calls `each` with every item and its path until the error list is full. If the array has more
  /// than `most` items, reports an error and does not call `each`.
  bool Array(std::string_view key, size_t most,
             const std::function<void(const nlohmann::json&, const std::string&)>& each);
  /// Returns the member and stores its path, or returns null if it is absent.
  const nlohmann::json* Member(std::string_view key, std::string* path);

  /// Reports an error if the member is absent.
  void Require(std::string_view key);
  /// Reports an error for each member that was not read.
  void Finish();
  void Complain(std::string_view key, const std::string& what);

 private:
  const nlohmann::json* Find(std::string_view key);
  bool WholeNumber(std::string_view key, uint64_t least, uint64_t most, uint64_t* value);
  std::string PathOf(std::string_view key) const;

  const nlohmann::json& json_;
  std::string path_;
  Errors* errors_;
  std::vector<std::string> asked_;
};

}  // namespace sluice::config
