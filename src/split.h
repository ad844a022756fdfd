/*
 * split.h
 *		Where can the buckets of a query be divided?
 */
#ifndef MTS_SPLIT_H
#define MTS_SPLIT_H

#include "scan.h"

extern bson_t *mts_split_make(MtsScan *scan, int parts);
extern int mts_split_count(const bson_t *split);
extern void mts_split_append(const bson_t *split, int part, bson_t *terms);

#endif /* MTS_SPLIT_H */
