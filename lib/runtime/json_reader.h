// SPDX-License-Identifier: BSD-3-Clause
//
// Reads JSON objects member by member, knows where it is, and complains about what is wrong:
// types, values, and members that nobody asked for. Control path.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::runtime {

/// What was wrong, a line each: at most kMaxErrors, and one that says that there is more.
using Errors = std::vector<std::string>;
inline constexpr size_t kMaxErrors = 100;
/// There are so many that nothing more needs to be read.
inline bool Full(const Errors& errors) { return errors.size() > kMaxErrors; }
/// Adds a line, unless they are full; with '?' for control characters.
void Tell(Errors* errors, std::string line);

/// Of any configuration: all that Maglev's limits allow fits into it.
inline constexpr size_t kMaxConfigBytes = size_t{32} << 20;

/// The bytes of a regular file, at most `max_bytes`. Nothing, with a line in `errors`, if it cannot
/// be read, is empty, longer or no regular file. Never waits for a writer.
std::optional<std::string> ReadFile(const std::string& path, Errors* errors,
                                    size_t max_bytes = kMaxConfigBytes);

/// Parses text with comments. Nothing, with a line in `errors`, if it has more than `max_bytes`,
/// is no JSON, or an object names a member twice.
std::optional<nlohmann::json> ParseJson(std::string_view text, Errors* errors,
                                        size_t max_bytes = kMaxConfigBytes);

/// One object. Members are read once each; Finish complains about the others. Readers leave
/// `value` alone, and return false, where the member is absent or wrong.
class ObjectReader {
 public:
  /// `path`: what messages begin with; empty for the whole file.
  ObjectReader(const nlohmann::json& json, std::string path, Errors* errors);

  bool Text(std::string_view key, std::string* value);
  bool Flag(std::string_view key, bool* value);
  /// A whole number within [least, most].
  template <typename Number>
  bool Whole(std::string_view key, uint64_t least, uint64_t most, Number* value) {
    uint64_t number = 0;
    if (!WholeNumber(key, least, most, &number)) return false;
    *value = static_cast<Number>(number);
    return true;
  }
  /// A number within [least, most].
  bool Real(std::string_view key, double least, double most, double* value);
  /// A text that `parse` makes something of; `fix` says what it should be.
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
  /// Calls `each` with every item and its path, while errors are not full. With more than
  /// `most` items, complains and calls it with none.
  bool Array(std::string_view key, size_t most,
             const std::function<void(const nlohmann::json&, const std::string&)>& each);
  /// The member itself and its path, or null.
  const nlohmann::json* Member(std::string_view key, std::string* path);

  /// Complains about a member that must be there and is not.
  void Require(std::string_view key);
  /// Complains about members that were not asked for.
  void Finish();
  void Complain(std::string_view key, const std::string& what);

 private:
  const nlohmann::json* Take(std::string_view key);
  bool WholeNumber(std::string_view key, uint64_t least, uint64_t most, uint64_t* value);
  std::string PathOf(std::string_view key) const;

  const nlohmann::json& json_;
  std::string path_;
  Errors* errors_;
  std::vector<std::string> asked_;
};

}  // namespace sluice::runtime
