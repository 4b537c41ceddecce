// SPDX-License-Identifier: BSD-3-Clause
//
// Ports in secondary processes. A secondary process sees a port's ethdev data in shared memory, but
// only the primary process has the device and the driver's heap. Secondary processes therefore send
// requests to the primary over rte_mp. The answer is a file attached to the reply, because most
// answers exceed the size of an rte_mp message.
//
// Each driver has a copy of this code with a separate channel.
#pragma once

#include <ethdev_driver.h>

#include <mutex>

namespace sluice::drivers {

/// Primary process: starts answering requests of secondary processes about this driver's ports.
/// Further calls have no effect. If there cannot be secondary processes (--in-memory), no requests
/// arrive. `channel` is the driver's channel name, at most 63 characters; it must stay valid until
/// the process ends.
void AnswerSecondaries(const char* channel);

/// The caller must hold this mutex while it frees a port's memory, so that no answer reads the
/// memory in the meantime. Requests for a port with a null dev_private fail.
std::mutex& AnswerMutex();

/// Secondary process: returns the operations that every port has in a secondary process: link,
/// statistics and capabilities. Closing the port releases it only in this process.
eth_dev_ops SecondaryOps();

/// Secondary process: attaches the primary's port with that name, using `ops`, which must outlive
/// the port. Its burst functions do not transfer packets; the first call logs the port's name and
/// `refusal`. Returns null and logs the reason if the port does not exist. The caller may set other
/// burst functions, and must then call FinishSecondary.
rte_eth_dev* AttachSecondary(const char* channel, const char* name, rte_device* device,
                             const eth_dev_ops* ops, const char* refusal);
/// Makes the port visible to applications.
void FinishSecondary(rte_eth_dev* dev);
/// Called when the bus device is removed from this process. Returns 0 even if the port has already
/// been closed.
int RemoveSecondary(const char* name);

}  // namespace sluice::drivers
