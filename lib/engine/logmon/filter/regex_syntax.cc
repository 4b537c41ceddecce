// SPDX-License-Identifier: BSD-3-Clause
#include "engine/logmon/filter/regex_syntax.h"

#include <absl/strings/ascii.h>

#include <utility>

namespace sluice::engine::logmon {
namespace {

using ByteSet = std::bitset<256>;
using Kind = RegexNode::Kind;

ByteSet Range(int first, int last) {
  ByteSet set;
  for (int byte = first; byte <= last; ++byte) set.set(static_cast<size_t>(byte));
  return set;
}

ByteSet Bytes(std::string_view bytes) {
  ByteSet set;
  for (const char c : bytes) set.set(static_cast<uint8_t>(c));
  return set;
}

/// Returns the bytes of \d, \w or \s as RE2 defines them, or their complement for a capital letter;
/// nullopt for other letters.
std::optional<ByteSet> PerlClass(char letter) {
  ByteSet set;
  switch (absl::ascii_tolower(static_cast<unsigned char>(letter))) {
    case 'd':
      set = Range('0', '9');
      break;
    case 'w':
      set = Range('0', '9') | Range('a', 'z') | Range('A', 'Z') | Bytes("_");
      break;
    case 's':
      set = Bytes("\t\n\f\r ");
      break;
    default:
      return std::nullopt;
  }
  return absl::ascii_isupper(static_cast<unsigned char>(letter)) ? ~set : set;
}

class RegexParser {
 public:
  explicit RegexParser(std::string_view text) : text_(text) {}

  std::optional<RegexTree> Parse() {
    auto root = Choice(0);
    if (!root || !AtEnd()) return std::nullopt;
    return RegexTree{*std::move(root), is_wider_};
  }

 private:
  static constexpr int kMaxDepth = 64;

  bool AtEnd() const { return at_ == text_.size(); }
  bool Consume(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  std::optional<RegexNode> Choice(int depth) {
    if (depth > kMaxDepth) return std::nullopt;
    const bool outer_fold = fold_;
    RegexNode choice{.kind = Kind::kChoice};
    do {
      auto sequence = Sequence(depth);
      if (!sequence) return std::nullopt;
      choice.children.push_back(*std::move(sequence));
    } while (Consume("|"));
    fold_ = outer_fold;
    if (choice.children.size() == 1) return std::move(choice.children[0]);
    return choice;
  }

  std::optional<RegexNode> Sequence(int depth) {
    RegexNode sequence;
    while (!AtEnd() && text_[at_] != '|' && text_[at_] != ')') {
      auto item = Item(depth);
      if (!item) return std::nullopt;
      if (!Repeats(&*item)) return std::nullopt;
      if (item->kind == Kind::kSequence && item->children.empty()) continue;
      sequence.children.push_back(*std::move(item));
    }
    return sequence;
  }

  /// Wraps `item` in the repetitions that follow it in the expression.
  bool Repeats(RegexNode* item) {
    while (!AtEnd()) {
      uint32_t min = 0, max = RegexNode::kUnbounded;
      if (Consume("+")) {
        min = 1;
      } else if (Consume("?")) {
        max = 1;
      } else if (!Consume("*") && !Counts(&min, &max)) {
        return true;
      }
      // A lazy repetition matches the same texts as a greedy one; a possessive one matches fewer.
      if (!Consume("?") && Consume("+")) is_wider_ = true;
      RegexNode repeat{.kind = Kind::kRepeat, .min = min, .max = max};
      repeat.children.push_back(std::move(*item));
      *item = std::move(repeat);
      if (++repeats_ > 1000) return false;
    }
    return true;
  }

  /// Parses {m}, {m,} or {m,n}; other text in braces is literal.
  bool Counts(uint32_t* min, uint32_t* max) {
    const size_t begin = at_;
    if (Consume("{") && Number(min)) {
      *max = *min;
      if (Consume(",")) {
        *max = RegexNode::kUnbounded;
        if (!AtEnd() && text_[at_] != '}' && !Number(max)) at_ = begin;
      }
      if (at_ != begin && Consume("}")) return true;
    }
    at_ = begin;
    return false;
  }
  bool Number(uint32_t* value) {
    const size_t begin = at_;
    *value = 0;
    while (!AtEnd() && absl::ascii_isdigit(static_cast<unsigned char>(text_[at_])) &&
           at_ - begin < 5) {
      *value = *value * 10 + static_cast<uint32_t>(text_[at_++] - '0');
    }
    return at_ != begin;
  }

  std::optional<RegexNode> Item(int depth) {
    if (Consume("(")) return Group(depth);
    if (Consume("[")) return Class();
    if (Consume("^")) return RegexNode{.kind = Kind::kBegin};
    if (Consume("$")) return RegexNode{.kind = Kind::kEnd};
    if (Consume(".")) return RegexNode{.kind = Kind::kSet, .set = ByteSet().set()};
    if (Consume("\\")) {
      if (AtEnd()) return std::nullopt;
      const char c = text_[at_];
      if (c == 'A') return ++at_, RegexNode{.kind = Kind::kBegin};
      if (c == 'z') return ++at_, RegexNode{.kind = Kind::kEnd};
      if (c == 'b' || c == 'B') return ++at_, RegexNode{.kind = Kind::kAssert};
      if (c == 'C') return ++at_, RegexNode{.kind = Kind::kSet, .set = ByteSet().set()};
      if (uint32_t group = 0; c != '0' && Number(&group)) return AnyText();
      auto set = Escape();
      if (!set) return std::nullopt;
      return RegexNode{.kind = Kind::kSet, .set = Folded(*set)};
    }
    ByteSet set;
    set.set(static_cast<uint8_t>(text_[at_++]));
    return RegexNode{.kind = Kind::kSet, .set = Folded(set)};
  }

  /// Returns a node that matches any text, in place of a back-reference.
  RegexNode AnyText() {
    is_wider_ = true;
    RegexNode any{.kind = Kind::kRepeat, .min = 0, .max = RegexNode::kUnbounded};
    any.children.push_back({.kind = Kind::kSet, .set = ByteSet().set()});
    return any;
  }

  /// Parses a group after its opening parenthesis.
  std::optional<RegexNode> Group(int depth) {
    if (Consume("?P=")) {
      if (!SkipBehind(')')) return std::nullopt;
      return AnyText();
    }
    if (Consume("?=") || Consume("?!") || Consume("?<=") || Consume("?<!")) {
      if (!Inner(depth)) return std::nullopt;
      return RegexNode{.kind = Kind::kAssert};
    }
    if (Consume("?(")) return SkipBehind(')') ? Condition(depth) : std::nullopt;
    if (Consume("?>")) {
      is_wider_ = true;
      return Inner(depth);
    }
    if (Consume("?P<") || Consume("?<")) return SkipBehind('>') ? Inner(depth) : std::nullopt;
    const bool outer_fold = fold_;
    if (Consume("?")) {
      if (!Flags()) return std::nullopt;
      if (Consume(")")) return RegexNode{};  // The flags apply to the rest of the outer group.
      if (!Consume(":")) return std::nullopt;
    }
    auto inner = Inner(depth);
    fold_ = outer_fold;
    return inner;
  }

  /// Parses a choice and the closing parenthesis of its group.
  std::optional<RegexNode> Inner(int depth) {
    auto inner = Choice(depth + 1);
    if (!inner || !Consume(")")) return std::nullopt;
    return inner;
  }

  /// Parses the "yes|no" or "yes" part of a condition; the tree accepts both alternatives.
  std::optional<RegexNode> Condition(int depth) {
    is_wider_ = true;
    auto inner = Inner(depth);
    if (!inner || inner->kind == Kind::kChoice) return inner;
    RegexNode optional{.kind = Kind::kRepeat, .min = 0, .max = 1};
    optional.children.push_back(*std::move(inner));
    return optional;
  }

  bool Flags() {
    bool on = true;
    for (; !AtEnd() && text_[at_] != ':' && text_[at_] != ')'; ++at_) {
      switch (text_[at_]) {
        case '-':
          on = false;
          break;
        case 'i':
          fold_ = on;
          break;
        case 's':
        case 'm':
        case 'U':
          break;  // No effect: lines contain no line ends.
        default:
          return false;
      }
    }
    return true;
  }

  bool SkipBehind(char end) {
    const size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) return false;
    at_ = found + 1;
    return true;
  }

  /// Parses an escape sequence after its backslash.
  std::optional<ByteSet> Escape() {
    if (AtEnd()) return std::nullopt;
    const char c = text_[at_++];
    if (auto set = PerlClass(c)) return set;
    switch (c) {
      case 'a':
        return Bytes("\a");
      case 'f':
        return Bytes("\f");
      case 'n':
        return Bytes("\n");
      case 'r':
        return Bytes("\r");
      case 't':
        return Bytes("\t");
      case 'v':
        return Bytes("\v");
      case 'x':
        return Hex();
      default:
        break;
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || absl::ascii_isalnum(byte)) return std::nullopt;
    return Bytes({&c, 1});
  }

  std::optional<ByteSet> Hex() {
    const bool braces = Consume("{");
    int value = 0, digits = 0;
    for (; !AtEnd() && absl::ascii_isxdigit(static_cast<unsigned char>(text_[at_])); ++digits) {
      if (digits == 2 && !braces) break;
      const char c = absl::ascii_tolower(static_cast<unsigned char>(text_[at_++]));
      value = value * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
      if (value > 0xff) return std::nullopt;
    }
    if (digits == 0 || (braces ? !Consume("}") : digits != 2)) return std::nullopt;
    return Range(value, value);
  }

  /// Parses a class after its opening bracket.
  std::optional<RegexNode> Class() {
    const bool negated = Consume("^");
    ByteSet set;
    for (bool first = true; first || AtEnd() || text_[at_] != ']'; first = false) {
      if (AtEnd() || text_.substr(at_).starts_with("[:")) return std::nullopt;
      const auto low = ClassItem();
      if (!low) return std::nullopt;
      const bool is_range = text_.size() - at_ >= 2 && text_[at_] == '-' && text_[at_ + 1] != ']';
      if (!is_range) {
        set |= *low;
        continue;
      }
      ++at_;
      const auto high = ClassItem();
      if (!high || low->count() != 1 || high->count() != 1) return std::nullopt;
      set |= Range(static_cast<int>(low->_Find_first()), static_cast<int>(high->_Find_first()));
    }
    ++at_;
    const bool was_wider = std::exchange(is_wider_, false);
    set = Folded(set);
    if (negated && is_wider_)
      return std::nullopt;  // The set is too large, so its complement would be too small.
    is_wider_ |= was_wider;
    return RegexNode{.kind = Kind::kSet, .set = negated ? ~set : set};
  }
  std::optional<ByteSet> ClassItem() {
    if (AtEnd()) return std::nullopt;
    if (Consume("\\")) return Escape();
    return Bytes(text_.substr(at_++, 1));
  }

  /// If case is ignored, returns `set` with both cases of its letters, and with all non-ASCII bytes
  /// if it contains any. Otherwise returns `set`.
  ByteSet Folded(ByteSet set) {
    if (!fold_) return set;
    for (size_t c = 'a'; c <= 'z'; ++c) {
      const size_t capital = c - 'a' + 'A';
      if (set[c] || set[capital]) set.set(c).set(capital);
    }
    const ByteSet high = Range(0x80, 0xff);
    if ((set & high).any() && (set & high) != high) {
      set |= high;
      is_wider_ = true;
    }
    return set;
  }

  std::string_view text_;
  size_t at_ = 0;
  int repeats_ = 0;
  bool fold_ = false;
  bool is_wider_ = false;
};

}  // namespace

std::optional<RegexTree> ParseRegex(std::string_view expression) {
  return RegexParser(expression).Parse();
}

}  // namespace sluice::engine::logmon
