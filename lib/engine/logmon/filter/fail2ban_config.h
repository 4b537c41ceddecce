// SPDX-License-Identifier: BSD-3-Clause
//
// Options of fail2ban's files (fail2ban, jail.conf(5)): sections of `name = value`, values that
// go on in indented lines, comments behind # and ;, files that include others.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::engine::logmon {

/// Up to a MiB. Nothing, and one line in `error`, if it cannot be read.
std::optional<std::string> ReadTextFile(const std::filesystem::path& file, std::string* error);

/// `sshd.conf[mode=aggressive, publickey="any"]`: a file, and options that count before its own.
struct FileWithOptions {
  std::filesystem::path file;
  std::map<std::string, std::string, std::less<>> options;
};
/// As a jail of fail2ban's reads the name of its filter: values may be in either kind of quotes.
/// What does not end with `]` is the file alone. Nothing, and one line in `error`, if the brackets
/// hold anything but options.
std::optional<FileWithOptions> SplitOptions(const std::filesystem::path& name, std::string* error);

class Fail2banConfig {
 public:
  /// `file`, whose text is `text`, and the files it includes from its folder. Of an option that is
  /// given several times, the last counts: of those in `before`, the file, those in `after`, and
  /// the file's name with .local, where there is one. An included file has the same order.
  /// `options` count before all that files say.
  static std::optional<Fail2banConfig> Parse(const FileWithOptions& file, std::string_view text,
                                             std::string* error);

  /// An option of [Init], [Definition] or [DEFAULT], with %(name)s and <name> replaced. A name is
  /// also section/name, and known/name what the option was before a later file's. Empty if there is
  /// none; nothing, and one line in `error`, if it refers to what is not there, to itself, or to
  /// more than a MiB. A <name> that is no option stays.
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
