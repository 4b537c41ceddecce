// SPDX-License-Identifier: BSD-3-Clause
#include "config/json_reader.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

namespace sluice::config {

namespace {

using JsonValue = nlohmann::json;

constexpr size_t kMaxDepth = 16;

// Returns a value as one short line for use in messages.
std::string Shown(const JsonValue& value) {
  const std::string text = value.dump(-1, ' ', true, JsonValue::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

// Detects duplicate keys, which a parsed tree hides, and excessive nesting. This is a separate
// pass, because nlohmann's parser, if given a callback, visits all items of an array at the end of
// each item.
class Watch final : public nlohmann::json_sax<JsonValue> {
 public:
  const std::string& wrong() const { return wrong_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return Open(); }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t) override { return Open(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    if (keys_.back().insert(name).second) return true;
    wrong_ = Shown(name) + ": duplicate member";
    return false;
  }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& error) override {
    wrong_ = std::string("not JSON: ") + error.what();
    return false;
  }

 private:
  bool Open() {
    if (keys_.size() == kMaxDepth) {
      wrong_ = "the JSON is nested too deeply";
      return false;
    }
    keys_.emplace_back();
    return true;
  }
  bool Close() {
    keys_.pop_back();
    return true;
  }

  std::vector<std::set<std::string>> keys_;  // Keys of the objects and arrays that are open.
  std::string wrong_;
};

}  // namespace

void AddError(Errors* errors, std::string line) {
  if (Full(*errors)) return;
  // The line may quote unprintable bytes from the file.
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  errors->push_back(errors->size() < kMaxErrors ? std::move(line) : "and more");
}

std::optional<std::string> ReadFile(const std::string& path, Errors* errors, size_t max_bytes) {
  const auto fail = [&](const std::string& why) {
    AddError(errors, path + ": " + why);
    return std::nullopt;
  };
  const auto close_it = [](std::FILE* file) { std::fclose(file); };
  // Without O_NONBLOCK, opening a pipe would wait for its other end.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const std::unique_ptr<std::FILE, decltype(close_it)> file(
      descriptor < 0 ? nullptr : fdopen(descriptor, "rb"), close_it);
  struct stat status;
  if (file == nullptr || fstat(descriptor, &status) != 0) return fail(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return fail("not a regular file");
  // The file may grow while it is read.
  std::string text(std::min(static_cast<size_t>(status.st_size), max_bytes) + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return fail(std::strerror(errno));
  if (text.empty()) return fail("empty");
  if (text.size() > max_bytes || static_cast<size_t>(status.st_size) > max_bytes) {
    return fail("more than " + std::to_string(max_bytes) + " bytes");
  }
  return text;
}

std::optional<JsonValue> ParseJson(std::string_view text, Errors* errors, size_t max_bytes) {
  if (text.size() > max_bytes) {
    AddError(errors, "the file has more than " + std::to_string(max_bytes) + " bytes");
    return std::nullopt;
  }
  Watch watch;
  if (JsonValue::sax_parse(text, &watch, JsonValue::input_format_t::json, true, true)) {
    return JsonValue::parse(text, nullptr, true, true);
  }
  AddError(errors, watch.wrong());
  return std::nullopt;
}

ObjectReader::ObjectReader(const JsonValue& json, std::string path, Errors* errors)
    : json_(json), path_(std::move(path)), errors_(errors) {
  if (json_.is_object()) return;
  AddError(errors_, (path_.empty() ? "the file" : path_) + ": " + Shown(json_) +
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
  AddError(errors_, PathOf(key) + ": " + what);
}

const JsonValue* ObjectReader::Find(std::string_view key) {
  asked_.emplace_back(key);
  if (!json_.is_object()) return nullptr;
  const auto it = json_.find(key);
  return it == json_.end() ? nullptr : &*it;
}

const JsonValue* ObjectReader::Member(std::string_view key, std::string* path) {
  *path = PathOf(key);
  return Find(key);
}

bool ObjectReader::Text(std::string_view key, std::string* value) {
  const JsonValue* const member = Find(key);
  if (member == nullptr) return false;
  if (!member->is_string()) {
    Complain(key, Shown(*member) + ": must be a string, \"...\"");
    return false;
  }
  *value = member->get<std::string>();
  return true;
}

bool ObjectReader::Flag(std::string_view key, bool* value) {
  const JsonValue* const member = Find(key);
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
  const JsonValue* const member = Find(key);
  if (member == nullptr) return false;
  // nlohmann treats a negative number as an integer, but not as an unsigned integer.
  const bool whole = member->is_number_unsigned();
  if (!whole || member->get<uint64_t>() < least || member->get<uint64_t>() > most) {
    Complain(key,
             absl::StrFormat("%s: give a whole number, %d ... %d", Shown(*member), least, most));
    return false;
  }
  *value = member->get<uint64_t>();
  return true;
}

bool ObjectReader::Real(std::string_view key, double least, double most, double* value) {
  const JsonValue* const member = Find(key);
  if (member == nullptr) return false;
  if (!member->is_number() || member->get<double>() < least || member->get<double>() > most) {
    Complain(key, absl::StrFormat("%s: give a number, %g ... %g", Shown(*member), least, most));
    return false;
  }
  *value = member->get<double>();
  return true;
}

bool ObjectReader::Array(std::string_view key, size_t most,
                         const std::function<void(const JsonValue&, const std::string&)>& each) {
  const JsonValue* const member = Find(key);
  if (member == nullptr) return false;
  if (!member->is_array()) {
    Complain(key, Shown(*member) + ": give an array, [ ... ]");
    return false;
  }
  if (member->size() > most) {
    Complain(key, absl::StrFormat("%d elements: give at most %d", member->size(), most));
    return false;
  }
  for (size_t i = 0; i < member->size() && !Full(*errors_); ++i) {
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
    if (Full(*errors_)) return;
    if (std::ranges::find(asked_, key) != asked_.end()) continue;
    Complain(key, "unknown member; use one of " + absl::StrJoin(asked_, ", "));
  }
}

}  // namespace sluice::config
