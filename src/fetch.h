/*
 * fetch.h
 *		Which bucket comes next?
 */
#ifndef MTS_FETCH_H
#define MTS_FETCH_H

#include "scan.h"

extern void mts_fetch_append_id(const MtsScan *scan, const bson_t *bucket,
								bson_t *doc, const char *key);
extern bool mts_fetch_open(MtsScan *scan);
extern const bson_t *mts_fetch_next(MtsScan *scan);

#endif /* MTS_FETCH_H */
