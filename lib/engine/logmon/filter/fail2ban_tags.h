// SPDX-License-Identifier: BSD-3-Clause
//
// <HOST>, <F-USER>…</F-USER>: the tags in fail2ban's expressions (fail2ban, jail.conf(5), "FILTER
// FILES"), and what the groups that they stand for say of a line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/logmon/filter/line_regex.h"

namespace sluice::engine::logmon {

/// `expression` with its tags replaced by what they match, in groups with fail2ban's names: <HOST>,
/// <ADDR>, <IP4>, <IP6>, <DNS>, <CIDR>, <SUBNET>, <F-ID/>, <F-PORT/>; <F-…> and </F-…> by a group.
/// Of tags for the same group, the later ones only match. Nothing, and one line in `error`, for
/// tags that do not close, and for <SKIPLINES> (more lines) unless it is `multi_line`.
std::optional<std::string> ReplaceTags(std::string_view expression, bool multi_line,
                                       std::string* error);

/// What a rule says of a line that it matches. Views into the line, without data where the rule
/// says nothing of it.
struct TaggedLine {
  std::string_view content;  ///< What a prefix leaves to the rules.
  std::string_view session;  ///< F-MLFID: what lines of one connection have in common.
  std::string_view no_fail;  ///< F-NOFAIL: empty, too, means that it is a failure.
  std::string_view gained;   ///< F-MLFGAINED: logged in.
  std::string_view forget;   ///< F-MLFFORGET: the session ends.
  std::string_view user;
  std::string_view ip4, ip6, dns, id;  ///< Who fails: the first of them that says something.

  std::string_view host() const;
};

/// Where an expression has the groups of TaggedLine.
class TagGroups {
 public:
  explicit TagGroups(const LineRegex& regex);
  /// There is one that says who fails.
  bool names_host() const;
  /// There is one for the session.
  bool names_session() const;
  /// Adds what the groups of the last search say; it counts before what `line` has, even nothing.
  void Add(const RegexMemory& memory, TaggedLine* line) const;

 private:
  struct Group {
    std::string_view TaggedLine::*value;
    int number;                  ///< -1: there are stand-ins only.
    std::vector<int> stand_ins;  ///< Groups that count where it has nothing.
  };
  bool Has(std::string_view TaggedLine::*value) const;

  std::vector<Group> groups_;
};

}  // namespace sluice::engine::logmon
