// SPDX-License-Identifier: BSD-3-Clause
#include "compress_device.h"

#include <rte_comp.h>
#include <rte_compressdev.h>
#include <rte_log.h>
#include <rte_mbuf.h>

#include <string>
#include <utility>
#include <vector>

#include "plain_mbuf.h"

namespace sluice::chain_app {
namespace {

constexpr uint8_t kWindow = 15;  ///< Log2 of the window: 32 KiB, the maximum of deflate.
static_assert(CompressDevice::kLongest <= kLongestMbuf);

/// Stopped devices of stages that have ended, kept for reuse. DPDK 22.11 cannot create a
/// compressdev with a device ID that was used before, because the memzone of that ID persists.
std::vector<std::unique_ptr<VirtualDevice>>& IdleDevices() {
  static auto& idle = *new std::vector<std::unique_ptr<VirtualDevice>>;
  return idle;
}

uint8_t IdOf(const VirtualDevice& device) {
  return static_cast<uint8_t>(rte_compressdev_get_dev_id(device.name().c_str()));
}

/// Returns a started device, or null with one line in `error`.
std::unique_ptr<VirtualDevice> StartedDevice(std::string* error) {
  if (!IdleDevices().empty()) {
    auto device = std::move(IdleDevices().back());
    IdleDevices().pop_back();
    rte_compressdev_start(IdOf(*device));
    return device;
  }
  auto device = VirtualDevice::Make("compress_zlib", error);
  if (device == nullptr) return nullptr;
  // The driver logs a line for each malformed message.
  rte_log_set_level_pattern("pmd.compress.zlib", RTE_LOG_CRIT);
  const uint8_t id = IdOf(*device);
  rte_compressdev_config config{};
  config.socket_id = SOCKET_ID_ANY;
  config.nb_queue_pairs = 1;
  config.max_nb_priv_xforms = 2;
  if (rte_compressdev_configure(id, &config) == 0 &&
      rte_compressdev_queue_pair_setup(id, 0, 8, SOCKET_ID_ANY) == 0 &&
      rte_compressdev_start(id) == 0)
    return device;
  *error = device->name() + " cannot start: give DPDK more memory";
  return nullptr;
}

}  // namespace

struct CompressDevice::Operation {
  rte_comp_op op;
  rte_mbuf from;
  rte_mbuf to;
};

std::unique_ptr<CompressDevice> CompressDevice::Make(int level, std::string* error) {
  auto device = StartedDevice(error);
  if (device == nullptr) return nullptr;
  std::unique_ptr<CompressDevice> made(new CompressDevice(std::move(device)));
  return made->SetLevel(level, error) ? std::move(made) : nullptr;
}

CompressDevice::CompressDevice(std::unique_ptr<VirtualDevice> device)
    : device_(std::move(device)), id_(IdOf(*device_)), operation_(std::make_unique<Operation>()) {}

CompressDevice::~CompressDevice() {
  for (void* transform : {compressing_, decompressing_})
    if (transform != nullptr) rte_compressdev_private_xform_free(id_, transform);
  rte_compressdev_stop(id_);
  IdleDevices().push_back(std::move(device_));
}

bool CompressDevice::SetLevel(int level, std::string* error) {
  rte_comp_xform deflate{};
  deflate.type = RTE_COMP_COMPRESS;
  deflate.compress.algo = RTE_COMP_ALGO_DEFLATE;
  deflate.compress.deflate.huffman = RTE_COMP_HUFFMAN_DYNAMIC;
  deflate.compress.level = level;
  deflate.compress.window_size = kWindow;
  deflate.compress.chksum = RTE_COMP_CHECKSUM_NONE;
  deflate.compress.hash_algo = RTE_COMP_HASH_ALGO_NONE;
  rte_comp_xform inflate{};
  inflate.type = RTE_COMP_DECOMPRESS;
  inflate.decompress.algo = RTE_COMP_ALGO_DEFLATE;
  inflate.decompress.chksum = RTE_COMP_CHECKSUM_NONE;
  inflate.decompress.window_size = kWindow;
  inflate.decompress.hash_algo = RTE_COMP_HASH_ALGO_NONE;
  if (rte_compressdev_private_xform_create(id_, &deflate, &compressing_) == 0 &&
      rte_compressdev_private_xform_create(id_, &inflate, &decompressing_) == 0)
    return true;
  *error = device_->name() + " does not support level " + std::to_string(level);
  return false;
}

CompressDevice::Result CompressDevice::Run(void* transform, std::span<const uint8_t> from,
                                           std::span<uint8_t> to) {
  Operation& one = *operation_;
  PointAt(one.from, from);
  PointAt(one.to, to);
  one.op = {};
  one.op.op_type = RTE_COMP_OP_STATELESS;
  one.op.private_xform = transform;
  one.op.m_src = &one.from;
  one.op.m_dst = &one.to;
  one.op.src.length = static_cast<uint32_t>(from.size());
  one.op.flush_flag = RTE_COMP_FLUSH_FINAL;
  one.op.status = RTE_COMP_OP_STATUS_NOT_PROCESSED;
  rte_comp_op* op = &one.op;
  // compress_zlib works inside the enqueue call, so the result is available immediately.
  if (rte_compressdev_enqueue_burst(id_, 0, &op, 1) != 1 ||
      rte_compressdev_dequeue_burst(id_, 0, &op, 1) != 1)
    return {};
  switch (one.op.status) {
    case RTE_COMP_OP_STATUS_SUCCESS:
      return {Status::kDone, one.op.consumed, one.op.produced};
    case RTE_COMP_OP_STATUS_OUT_OF_SPACE_TERMINATED:
    case RTE_COMP_OP_STATUS_OUT_OF_SPACE_RECOVERABLE:
      return {.status = Status::kNoRoom};
    default:
      return {};
  }
}

}  // namespace sluice::chain_app
