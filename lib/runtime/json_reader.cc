// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/json_reader.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

namespace sluice::runtime {

namespace {

using JsonValue = nlohmann::json;

constexpr int kMaxDepth = 16;

// A value as messages show it: one short line.
std::string Shown(const JsonValue& value) {
  const std::string text = value.dump(-1, ' ', true, JsonValue::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

}  // namespace

std::optional<std::string> ReadFile(const std::string& path, Errors* errors) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  errno = 0;
  if (file && (text << file.rdbuf())) return text.str();
  errors->push_back(path + ": " + (errno != 0 ? std::strerror(errno) : "empty"));
  return std::nullopt;
}

std::optional<JsonValue> ParseJson(std::string_view text, Errors* errors) {
  std::vector<std::set<std::string>> keys;  // Of the objects that are open.
  std::string twice;
  bool deep = false;
  const auto watch = [&](int depth, JsonValue::parse_event_t event, JsonValue& value) {
    if (depth > kMaxDepth) return !(deep = true);
    if (event == JsonValue::parse_event_t::object_start) keys.emplace_back();
    if (event == JsonValue::parse_event_t::object_end) keys.pop_back();
    if (event == JsonValue::parse_event_t::key && twice.empty() &&
        !keys.back().insert(value.get<std::string>()).second) {
      twice = value.get<std::string>();
    }
    return true;
  };
  try {
    JsonValue json = JsonValue::parse(text, watch, true, true);
    if (deep) {
      errors->push_back("objects and arrays are nested too deeply");
    } else if (!twice.empty()) {
      errors->push_back(Shown(twice) + ": twice in the same object");
    } else {
      return json;
    }
  } catch (const JsonValue::exception& error) {
    errors->push_back(std::string("not JSON: ") + error.what());
  }
  return std::nullopt;
}

ObjectReader::ObjectReader(const JsonValue& json, std::string path, Errors* errors)
    : json_(json), path_(std::move(path)), errors_(errors) {
  if (json_.is_object()) return;
  errors_->push_back((path_.empty() ? "the file" : path_) + ": " + Shown(json_) +
                     ": give an object, { ... }");
}

std::string ObjectReader::PathOf(std::string_view key) const {
  std::string name(key);
  const bool plain = !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!plain) name = Shown(JsonValue(name));
  return path_.empty() ? name : path_ + "." + name;
}

void ObjectReader::Complain(std::string_view key, const std::string& what) {
  errors_->push_back(PathOf(key) + ": " + what);
}

const JsonValue* ObjectReader::Take(std::string_view key) {
  asked_.emplace_back(key);
  if (!json_.is_object()) return nullptr;
  const auto it = json_.find(key);
  return it == json_.end() ? nullptr : &*it;
}

const JsonValue* ObjectReader::Member(std::string_view key, std::string* path) {
  *path = PathOf(key);
  return Take(key);
}

bool ObjectReader::Text(std::string_view key, std::string* value) {
  const JsonValue* const member = Take(key);
  if (member == nullptr) return false;
  if (!member->is_string()) {
    Complain(key, Shown(*member) + ": give a text, \"...\"");
    return false;
  }
  *value = member->get<std::string>();
  return true;
}

bool ObjectReader::Flag(std::string_view key, bool* value) {
  const JsonValue* const member = Take(key);
  if (member == nullptr) return false;
  if (!member->is_boolean()) {
    Complain(key, Shown(*member) + ": give true or false");
    return false;
  }
  *value = member->get<bool>();
  return true;
}

bool ObjectReader::WholeNumber(std::string_view key, uint64_t least, uint64_t most,
                               uint64_t* value) {
  const JsonValue* const member = Take(key);
  if (member == nullptr) return false;
  // A negative number is an integer, but not an unsigned one.
  const bool whole = member->is_number_unsigned();
  if (!whole || member->get<uint64_t>() < least || member->get<uint64_t>() > most) {
    Complain(key, absl::StrFormat("%s: give a whole number, %d ... %d", Shown(*member), least, most));
    return false;
  }
  *value = member->get<uint64_t>();
  return true;
}

bool ObjectReader::Real(std::string_view key, double least, double most, double* value) {
  const JsonValue* const member = Take(key);
  if (member == nullptr) return false;
  if (!member->is_number() || member->get<double>() < least || member->get<double>() > most) {
    Complain(key, absl::StrFormat("%s: give a number, %g ... %g", Shown(*member), least, most));
    return false;
  }
  *value = member->get<double>();
  return true;
}

bool ObjectReader::Array(std::string_view key,
                         const std::function<void(const JsonValue&, const std::string&)>& each) {
  const JsonValue* const member = Take(key);
  if (member == nullptr) return false;
  if (!member->is_array()) {
    Complain(key, Shown(*member) + ": give an array, [ ... ]");
    return false;
  }
  for (size_t i = 0; i < member->size(); ++i) {
    each((*member)[i], PathOf(key) + "[" + std::to_string(i) + "]");
  }
  return true;
}

void ObjectReader::Require(std::string_view key) {
  if (json_.is_object() && !json_.contains(key)) Complain(key, "is missing");
}

void ObjectReader::Finish() {
  if (!json_.is_object()) return;
  for (const auto& [key, value] : json_.items()) {
    if (std::ranges::find(asked_, key) != asked_.end()) continue;
    Complain(key, "unknown; use one of " + absl::StrJoin(asked_, ", "));
  }
}

}  // namespace sluice::runtime
