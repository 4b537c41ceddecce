// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/config/config.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "config/json_reader.h"
#include "engine/logmon/filter/regex_file.h"
#include "engine/logmon/scan/rule_set.h"

namespace sluice::engine::logmon {

namespace {

using config::Errors;
using config::ObjectReader;
using nlohmann::json;

constexpr uint32_t kMaxWindowS = 86'400;
constexpr double kMaxNumber = 1e300;

class Reader {
 public:
  Reader(std::string folder, Errors* errors) : folder_(std::move(folder)), errors_(errors) {}

  Config ReadAll(ObjectReader& root) {
    root.Require("filters");
    root.Array("filters", kMaxFilters,
               [this](const json& value, const std::string& path) { ReadFilter(value, path); });
    return std::move(config_);
  }

 private:
  void ReadFilter(const json& value, const std::string& path) {
    ObjectReader reader(value, path, errors_);
    FilterConfig about;
    std::string pattern, regex, file;
    reader.Text("name", &about.name);
    const int given = reader.Text("pattern", &pattern) + reader.Text("regex", &regex) +
                      reader.Text("regex_file", &file);
    if (given != 1) reader.Complain("pattern", "give one of pattern, regex and regex_file");
    reader.Flag("show", &about.show);
    std::string alert_path;
    if (const json* alert = reader.Member("alert", &alert_path)) {
      about.alert = ReadAlert(*alert, alert_path, &by_host_);
    }
    std::string metric_path;
    const json* const metric = reader.Member("metric", &metric_path);
    reader.Finish();
    if (given != 1) return;
    if (!file.empty()) {
      if (metric != nullptr)
        reader.Complain("metric", "a filter with a regular expression has no metric: omit it");
      AddFile(file, std::move(about), reader);
      return;
    }
    about.pattern = pattern.empty() ? regex : pattern;
    if (about.name.empty()) about.name = about.pattern;
    std::string error;
    auto filter =
        regex.empty() ? Filter::CloudWatch(pattern, &error) : Filter::Regex(regex, &error);
    if (!filter) {
      reader.Complain(regex.empty() ? "pattern" : "regex", error);
      return;
    }
    if (metric != nullptr) ReadMetric(*metric, metric_path, *filter, &about);
    Add(*std::move(filter), std::move(about), reader);
  }

  /// `by_host` receives nullopt if the member is missing.
  AlertOptions ReadAlert(const json& value, const std::string& path, std::optional<bool>* by_host) {
    ObjectReader reader(value, path, errors_);
    AlertOptions alert;
    bool given = false;
    by_host->reset();
    if (reader.Flag("by_host", &given)) *by_host = given;
    uint64_t window_s = 60;
    reader.Whole("threshold", 1, kMaxAlertThreshold, &alert.threshold);
    reader.Whole("window_s", 1, kMaxWindowS, &window_s);
    alert.window = window_s * 1000;
    reader.Flag("sliding", &alert.sliding);
    reader.Finish();
    return alert;
  }

  void ReadMetric(const json& value, const std::string& path, const Filter& filter,
                  FilterConfig* about) {
    ObjectReader reader(value, path, errors_);
    std::string text, error;
    if (reader.Text("value", &text)) {
      about->value = MetricValue::Compile(text, filter, &error);
      if (!about->value) reader.Complain("value", error);
    }
    std::string dimensions_path;
    if (const json* const dimensions = reader.Member("dimensions", &dimensions_path)) {
      ReadDimensions(*dimensions, dimensions_path, filter, about);
    }
    double number = 0;
    if (reader.Real("default", -kMaxNumber, kMaxNumber, &number)) about->default_value = number;
    reader.Finish();
  }

  void ReadDimensions(const json& value, const std::string& path, const Filter& filter,
                      FilterConfig* about) {
    ObjectReader reader(value, path, errors_);
    if (!value.is_object()) return;
    std::vector<Dimensions::Named> named;
    for (const auto& [name, unused] : value.items()) {
      std::string selector;
      if (reader.Text(name, &selector)) named.push_back({name, selector});
    }
    std::string error;
    if (auto dimensions = Dimensions::Compile(named, filter, &error)) {
      about->dimensions = *std::move(dimensions);
    } else {
      config::AddError(errors_, path + ": " + error);
    }
  }

  void AddFile(const std::string& name, FilterConfig about, ObjectReader& reader) {
    const std::string path = std::filesystem::path(folder_) / name;
    if (about.name.empty()) about.name = name;
    std::string error;
    const auto file = ReadRegexFile(path, &error);
    if (!file) {
      reader.Complain("regex_file", error);
    } else if (file->is_fail2ban) {
      AddFail2ban(path, std::move(about), reader);
    } else {
      AddExpressions(file->expressions, about, reader);
    }
  }

  void AddFail2ban(const std::string& path, FilterConfig about, ObjectReader& reader) {
    std::string error;
    std::vector<std::string> skipped_rules;
    auto filter = Filter::Fail2ban(path, &skipped_rules, &error);
    if (!filter) return reader.Complain("regex_file", error);
    for (const std::string& rule : skipped_rules)
      config_.skipped_rules.push_back(about.name + ": " + rule);
    about.pattern = path;
    about.rules = filter->rules();
    Add(*std::move(filter), std::move(about), reader);
  }

  /// Adds a filter per expression, named after the file and the expression's number.
  void AddExpressions(const std::vector<std::string>& expressions, const FilterConfig& about,
                      ObjectReader& reader) {
    const size_t all = config_.filters.size() + config_.skipped_rules.size() + expressions.size();
    if (all > kMaxFilters) {
      reader.Complain("regex_file",
                      std::to_string(all) +
                          " filters in total with the expressions of this file: give at most " +
                          std::to_string(kMaxFilters));
      return;
    }
    size_t number = 0;
    for (const std::string& expression : expressions) {
      FilterConfig one;
      one.name = about.name + "#" + std::to_string(++number);
      one.pattern = expression;
      one.alert = about.alert;
      one.show = about.show;
      std::string error;
      auto filter = Filter::Regex(expression, &error);
      if (filter) {
        Add(*std::move(filter), std::move(one), reader);
      } else {
        config_.skipped_rules.push_back(one.name + ": " + error);
      }
    }
  }

  void Add(Filter filter, FilterConfig about, ObjectReader& reader) {
    if (!names_.insert(about.name).second) {
      reader.Complain("name", "\"" + about.name + "\": another filter has this name");
    }
    if (about.alert) {
      about.alert_by_host = by_host_.value_or(filter.names_host());
      if (about.alert_by_host && !filter.names_host()) {
        reader.Complain("alert", "the filter's expression has no <HOST>: omit by_host");
      }
    }
    config_.filters.push_back(std::move(filter));
    config_.about.push_back(std::move(about));
  }

  std::string folder_;
  Errors* errors_;
  Config config_;
  std::set<std::string> names_;
  std::optional<bool> by_host_;  ///< Member alert.by_host of the current filter.
};

}  // namespace

Config ReadFilters(ObjectReader& root, const std::string& folder, Errors* errors) {
  return Reader(folder, errors).ReadAll(root);
}

std::optional<Config> ParseConfig(std::string_view text, const std::string& folder,
                                  Errors* errors) {
  const size_t before = errors->size();
  const std::optional<json> root = config::ParseJson(text, errors, kMaxConfigBytes);
  if (!root) return std::nullopt;
  ObjectReader reader(*root, "", errors);
  Config config = ReadFilters(reader, folder, errors);
  reader.Finish();
  if (errors->size() != before) return std::nullopt;
  return config;
}

}  // namespace sluice::engine::logmon
