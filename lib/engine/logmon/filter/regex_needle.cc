// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/regex_needle.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <string>

#include "engine/logmon/filter/literal.h"

namespace sluice::engine::logmon {
namespace {

using Kind = RegexNode::Kind;

// Approximate numbers of automaton states. Above the first limit, counted repetitions become
// unbounded; above the second, no needle is created.
constexpr uint64_t kMaxPreciseStates = 300;
constexpr uint64_t kMaxStates = 3000;
constexpr size_t kMaxNeedleBytes = 8000;

std::bitset<256> WithoutLineEnds(std::bitset<256> set) { return set.reset('\r').reset('\n'); }

bool MatchesEmpty(const RegexNode& node) {
  switch (node.kind) {
    case Kind::kSet:
      return false;
    case Kind::kSequence:
      return std::all_of(node.children.begin(), node.children.end(), MatchesEmpty);
    case Kind::kChoice:
      return std::any_of(node.children.begin(), node.children.end(), MatchesEmpty);
    case Kind::kRepeat:
      return node.min == 0 || MatchesEmpty(node.children[0]);
    default:
      return true;
  }
}

/// Returns whether the node cannot match any text within a line.
bool MatchesNothing(const RegexNode& node) {
  switch (node.kind) {
    case Kind::kSet:
      return WithoutLineEnds(node.set).none();
    case Kind::kSequence:
      return std::any_of(node.children.begin(), node.children.end(), MatchesNothing);
    case Kind::kChoice:
      return std::all_of(node.children.begin(), node.children.end(), MatchesNothing);
    case Kind::kRepeat:
      return node.min != 0 && MatchesNothing(node.children[0]);
    default:
      return false;
  }
}

uint64_t States(const RegexNode& node, bool counted) {
  uint64_t inner = node.kind == Kind::kSet ? 1 : 0;
  for (const RegexNode& child : node.children) inner += States(child, counted);
  if (node.kind == Kind::kRepeat && counted) {
    const uint32_t times = node.max == RegexNode::kUnbounded ? node.min + 1 : node.max;
    inner *= std::max(times, 1u);
  }
  return std::min<uint64_t>(inner, 1 << 20);  // Prevents overflow from nested repetitions.
}

class Printer {
 public:
  Printer(RegexNeedleOptions options, bool counted) : options_(options), counted_(counted) {}

  /// Appends the needle of a node. `is_first` and `is_last` mean that the node is at the start or
  /// the end of the expression.
  void Print(const RegexNode& node, bool is_first, bool is_last) {
    switch (node.kind) {
      case Kind::kSet:
        return PrintSet(node.set);
      case Kind::kBegin:
        // An anchor elsewhere holds only if the match does not extend beyond it. Such an anchor is
        // omitted, because the match may include a CR.
        if (is_first && options_.whole_line) {
          out_ += "(?:^|\\r)";
        } else {
          exact_ = false;
        }
        return;
      case Kind::kEnd:
        if (is_last && options_.whole_line) {
          out_ += "(?:\\r|$)";
        } else {
          exact_ = false;
        }
        return;
      case Kind::kAssert:
        exact_ = false;
        return;
      case Kind::kSequence:
        for (size_t i = 0; i < node.children.size(); ++i) {
          Print(node.children[i], is_first && i == 0, is_last && i + 1 == node.children.size());
        }
        return;
      case Kind::kChoice:
        return PrintChoice(node, is_first, is_last);
      case Kind::kRepeat:
        return PrintRepeat(node);
    }
  }

  std::string Release() { return std::move(out_); }
  bool exact() const { return exact_ && multi_byte_ <= 1; }

 private:
  void PrintChoice(const RegexNode& node, bool is_first, bool is_last) {
    out_ += "(?:";
    bool first = true;
    for (const RegexNode& child : node.children) {
      if (MatchesNothing(child)) continue;
      if (!first) out_ += '|';
      first = false;
      Print(child, is_first, is_last);
    }
    out_ += ')';
  }

  void PrintRepeat(const RegexNode& node) {
    const RegexNode& child = node.children[0];
    if (node.max == 0 || MatchesNothing(child)) return;
    uint32_t min = node.min, max = node.max;
    if (!counted_ && (min > 1 || (max > 1 && max != RegexNode::kUnbounded))) {
      min = std::min(min, 1u);
      max = RegexNode::kUnbounded;
      exact_ = false;
    }
    if (IsCharacters(child) && max == RegexNode::kUnbounded && min <= 1) {
      // A run of bytes can replace a run of characters. However, between two adjacent runs, a
      // character must not be split.
      if (min == 1) ++multi_byte_;
      AppendSet(WithoutLineEnds(child.set));
    } else {
      out_ += "(?:";
      Print(child, false, false);
      out_ += ')';
    }
    if (max == RegexNode::kUnbounded && min <= 1) {
      out_ += min == 0 ? '*' : '+';
    } else if (max == RegexNode::kUnbounded) {
      absl::StrAppend(&out_, "{", min, ",}");
    } else {
      absl::StrAppend(&out_, "{", min, ",", max, "}");
    }
  }

  bool IsCharacters(const RegexNode& node) const {
    return options_.characters && node.kind == Kind::kSet && node.set[0x80];
  }

  void PrintSet(std::bitset<256> set) {
    set = WithoutLineEnds(set);
    if (!options_.characters || !set[0x80]) return AppendSet(set);
    exact_ = false;
    std::bitset<256> ascii = set;
    for (size_t byte = 0x80; byte < 256; ++byte) ascii.reset(byte);
    out_ += "(?:";
    if (ascii.any()) {
      AppendSet(ascii);
      out_ += '|';
    }
    out_ += "[\\x80-\\xff]{1,4})";
  }

  void AppendSet(const std::bitset<256>& set) {
    const auto append = [&](size_t byte) {
      const char c = static_cast<char>(byte);
      AppendExpressionOf({&c, 1}, &out_);
    };
    if (set.count() == 1) return append(set._Find_first());
    out_ += '[';
    for (size_t byte = set._Find_first(); byte < 256;) {
      size_t last = byte;
      while (last + 1 < 256 && set[last + 1]) ++last;
      append(byte);
      if (last > byte) {
        out_ += '-';
        append(last);
      }
      byte = set._Find_next(last);
    }
    out_ += ']';
  }

  const RegexNeedleOptions options_;
  const bool counted_;
  std::string out_;
  bool exact_ = true;
  int multi_byte_ = 0;  // Number of runs of at least one character.
};

}  // namespace

std::optional<RegexNeedle> NeedleOf(const RegexTree& tree, RegexNeedleOptions options) {
  const RegexNode& root = tree.root;
  if (MatchesEmpty(root) || MatchesNothing(root)) return std::nullopt;
  const bool counted = States(root, true) <= kMaxPreciseStates;
  if (!counted && States(root, false) > kMaxStates) return std::nullopt;
  Printer printer(options, counted);
  printer.Print(root, true, true);
  RegexNeedle needle;
  needle.needle.expression = printer.Release();
  needle.is_exact = printer.exact() && !tree.is_wider;
  if (needle.needle.expression.size() > kMaxNeedleBytes) return std::nullopt;
  return needle;
}

}  // namespace sluice::engine::logmon
