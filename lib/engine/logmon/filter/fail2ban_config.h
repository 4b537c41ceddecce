// SPDX-License-Identifier: BSD-3-Clause
//
// Reads the options in fail2ban's files (fail2ban, jail.conf(5)). The files contain sections with
// `name = value` entries, whose values may continue on indented lines. They also contain comments
// (lines that start with # or ;, and text from " ;" on) and references to included files.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::engine::logmon {

/// Reads a file of at most 1 MiB. Returns nullopt and one line in `error` on failure.
std::optional<std::string> ReadTextFile(const std::filesystem::path& file, std::string* error);

/// A file, and options that override those in the file, as in `sshd.conf[mode=aggressive,
/// publickey="any"]`.
struct FileWithOptions {
  std::filesystem::path file;
  std::map<std::string, std::string, std::less<>> options;
};
/// Splits a name in the syntax of a jail's filter option: values may have single or double quotes.
/// A name that does not end with `]` has no options. Returns nullopt and one line in `error` if the
/// brackets contain anything except options.
std::optional<FileWithOptions> SplitOptions(const std::filesystem::path& name, std::string* error);

class Fail2banConfig {
 public:
  /// Parses `file`, whose text is `text`, and the files in its folder that it includes. If an
  /// option is given several times, the last one wins in this order: the files in `before`, the
  /// file, the files in `after`, and the file's name with .local, if it exists. Included files are
  /// parsed in the same order. `options` override all files. Returns nullopt and one line in
  /// `error` if an included file cannot be read or there are more than 32 files.
  static std::optional<Fail2banConfig> Parse(const FileWithOptions& file, std::string_view text,
                                             std::string* error);

  /// Returns an option of [Init], [Definition] or [DEFAULT] with %(name)s and <name> replaced. A
  /// name may also be section/name; known/name is the value of the option before a later file
  /// overrode it. Returns an empty string if the option does not exist. Returns nullopt and one
  /// line in `error` if the value refers to a missing option or to itself, or exceeds 1 MiB. A
  /// <name> that is not an option stays unchanged.
  std::optional<std::string> Get(std::string_view name, std::string* error) const;

 private:
  using Section = std::map<std::string, std::string, std::less<>>;

  bool Add(const std::filesystem::path& file, std::string_view text, int depth, std::string* error);
  bool Include(const std::filesystem::path& folder, const std::string& names, bool must_exist,
               int depth, std::string* error);
  void AddOptions(std::string_view text, std::map<std::string, Section, std::less<>>* to) const;
  const std::string* Find(std::string_view section, std::string_view name) const;
  bool Interpolate(std::string_view value, std::string_view section, int depth, std::string* out,
                   std::string* error) const;
  bool ReplaceTags(std::string* value, std::string* error) const;

  std::map<std::string, Section, std::less<>> sections_;
  int files_ = 0;
};

}  // namespace sluice::engine::logmon
