// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/live_snapshot.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <vector>

#include "cpu/clock.h"
#include "engine/kv/snapshot_writer.h"

namespace sluice::engine::kv {
namespace {

/// Copies the chains of one snapshot one after another into the same buffer.
class ChainCopier {
 public:
  ChainCopier(const LiveSource& source, LiveFigures& figures)
      : source_(source), figures_(figures), room_(size_t{1} << 16) {}

  /// Returns a copy, which is valid until the next call. Returns nullopt if the snapshot was
  /// stopped, the chain could not be copied for more than kLongestTryS seconds, or its owner no
  /// longer answers.
  std::optional<Bytes> Copy(size_t partition, uint32_t chain) {
    const uint32_t give_up_s = source_.now_s() + kLongestTryS + 1;
    bool too_long = false;  // The chain is too long for its owner to copy.
    for (uint32_t tries = 1;; ++tries) {
      size_t bytes = 0;
      Copied copied = source_.partitions[partition].CopyChain(chain, room_, &bytes);
      if (copied == Copied::kChanged && tries >= source_.tries && !too_long) {
        const std::span<uint8_t> some =
            std::span(room_).first(std::min(room_.size(), kMostByOwnerBytes));
        const auto answer = source_.by_owner(partition, chain, some, &bytes);
        if (!answer) return std::nullopt;
        copied = *answer;
        too_long = bytes > kMostByOwnerBytes;
        ++figures_.by_owner;
      }
      if (copied == Copied::kWhole) return Bytes(room_).first(bytes);
      if (copied == Copied::kTooShort) {
        room_.resize(std::max(bytes, 2 * room_.size()));
      } else if (tries % source_.tries == 0 &&
                 (source_.stopped() || source_.now_s() >= give_up_s)) {
        return std::nullopt;
      }
      cpu::Pause();
    }
  }

 private:
  const LiveSource& source_;
  LiveFigures& figures_;
  std::vector<uint8_t> room_;
};

}  // namespace

bool WriteLiveSnapshot(const std::string& path, const LiveSource& source, LiveFigures* figures,
                       std::string* error) {
  error->clear();
  SnapshotWriter writer(path);
  ChainCopier copier(source, *figures);
  for (size_t partition = 0; partition < source.partitions.size(); ++partition) {
    for (uint32_t chain = 0; chain < source.partitions[partition].chains(); ++chain) {
      if (source.stopped()) return false;
      const std::optional<Bytes> copied = copier.Copy(partition, chain);
      if (!copied) {
        if (!source.stopped()) {
          *error = absl::StrCat(
              path,
              ": long items change faster than the snapshot can copy them: retry at a lower load");
        }
        return false;
      }
      const uint32_t now_s = source.now_s();
      ForEachCopied(*copied, [&](Bytes key, const ItemView& item) {
        const uint32_t expires_s = item.attributes.expires_s;
        if (expires_s == 0 || expires_s > now_s) writer.Add(key, item, now_s);
      });
      if (!writer.good()) break;
    }
  }
  figures->items = writer.items();
  return writer.Finish(std::min(writer.newest() + kUniquesAhead, kMaxUnique), error);
}

}  // namespace sluice::engine::kv
