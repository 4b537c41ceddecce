/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Native face of net_ipu: what an application can ask beyond ethdev.
 */
#ifndef RTE_PMD_IPU_H
#define RTE_PMD_IPU_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** True if the port is driven by net_ipu. Any thread. */
bool rte_pmd_ipu_supported(uint16_t port_id);

#ifdef __cplusplus
}
#endif

#endif /* RTE_PMD_IPU_H */
