// SPDX-License-Identifier: BSD-3-Clause
//
// Tags in fail2ban's expressions, such as <HOST> and <F-USER>…</F-USER> (fail2ban, jail.conf(5),
// "FILTER FILES"), and the values that their groups yield for a line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/logmon/filter/line_regex.h"

namespace sluice::engine::logmon {

/// Replaces the tags in `expression` with the expressions for the texts that they match, in groups
/// with fail2ban's names. The tags are <HOST>, <ADDR>, <IP4>, <IP6>, <DNS>, <CIDR>, <SUBNET>,
/// <F-ID/> and <F-PORT/>; <F-…> and </F-…> become a group. If several tags have the same group,
/// only the first captures. Returns nullopt and one line in `error` if a tag is not closed, or for
/// <SKIPLINES> (several lines) unless `multi_line` is set.
std::optional<std::string> ReplaceTags(std::string_view expression, bool multi_line,
                                       std::string* error);

/// The values that a rule yields for a matching line, as views into the line. A view has no data if
/// the rule does not yield the value.
struct TaggedLine {
  std::string_view content;  ///< The part that the prefix selects for the rules.
  std::string_view session;  ///< F-MLFID: identifies the connection of the line.
  std::string_view no_fail;  ///< F-NOFAIL: if not empty, the line is not a failure.
  std::string_view gained;   ///< F-MLFGAINED: if not empty, a login succeeded.
  std::string_view forget;   ///< F-MLFFORGET: if not empty, the session ends.
  std::string_view user;
  /// The groups that can name the offending host. host() returns the first that took part in the
  /// match, even if its text is empty.
  std::string_view ip4, ip6, dns, id;

  std::string_view host() const;
};

/// For each member of TaggedLine, the numbers of its groups in an expression.
class TagGroups {
 public:
  explicit TagGroups(const LineRegex& regex);
  /// Returns whether a group names the host.
  bool names_host() const;
  /// Returns whether a group names the session.
  bool names_session() const;
  /// Stores the values that the groups of the last search matched in `line`. A value replaces the
  /// previous value of its member, even if it is empty. Exception: if a member has only alternative
  /// groups and all of them are empty, the member does not change.
  void Add(const RegexMemory& memory, TaggedLine* line) const;

 private:
  struct Group {
    std::string_view TaggedLine::*value;
    int number;                  ///< Number of the group; -1 if only alternatives exist.
    std::vector<int> stand_ins;  ///< Alternative groups, used if group `number` has no value.
  };
  bool Has(std::string_view TaggedLine::*value) const;

  std::vector<Group> groups_;
};

}  // namespace sluice::engine::logmon
