/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions of zoo.x, for sluice-rpc and for the server that rpcgen -M generates. */
#include "zoo.h"

bool_t nothing_2_svc(void *arguments, void *result, struct svc_req *request) {
  (void)arguments;
  (void)result;
  (void)request;
  return TRUE;
}

/* Keeps names and swaps each corner with its neighbour. */
bool_t turn_2_svc(shape *sent, shape *result, struct svc_req *request) {
  u_int i;
  (void)request;
  *result = *sent;
  if (sent->kind != BLUE) return TRUE;
  for (i = 0; i + 1 < sent->shape_u.corners.corners_len; i += 2) {
    point *const pair = sent->shape_u.corners.corners_val + i;
    const point first = pair[0];
    pair[0] = pair[1];
    pair[1] = first;
  }
  return TRUE;
}

bool_t mirror_2_svc(everything *sent, everything *result, struct svc_req *request) {
  (void)request;
  *result = *sent;
  return TRUE;
}

bool_t sum_2_svc(chain_ptr *sent, u_int *result, struct svc_req *request) {
  const chain *link;
  (void)request;
  *result = 0;
  for (link = *sent; link != NULL; link = link->next) *result += (u_int)link->value;
  return TRUE;
}

bool_t first_2_svc(names *sent, name *result, struct svc_req *request) {
  static char none[] = "";
  (void)request;
  *result = sent->all.all_len != 0 ? sent->all.all_val[0] : none;
  return TRUE;
}

bool_t choose_2_svc(choice *sent, choice *result, struct svc_req *request) {
  (void)request;
  *result = *sent;
  return TRUE;
}

bool_t decline_2_svc(void *arguments, void *result, struct svc_req *request) {
  (void)arguments;
  (void)result;
  (void)request;
  return FALSE;
}

bool_t swap_4_svc(point *sent, point *result, struct svc_req *request) {
  (void)request;
  result->x = (int)sent->y;
  result->y = (u_int)sent->x;
  return TRUE;
}
