/*
 * part_reader.h
 *		Read the buckets of one part of a query.
 */
#ifndef MTS_PART_READER_H
#define MTS_PART_READER_H

#include "scan/source.h"

extern MtsPartReader *mts_part_reader_new(MtsBucketSource *source);
extern void mts_part_reader_begin(MtsPartReader *reader, const MtsPart *part);
extern void mts_part_reader_sample(MtsPartReader *reader, int64 size,
								   bool draws_first);
extern void mts_part_reader_close(MtsPartReader *reader);
extern const bson_t *mts_part_reader_next(MtsPartReader *reader);
extern MtsCursor *mts_part_reader_awaited(MtsPartReader *reader);
extern bool mts_part_reader_next_time(const MtsPartReader *reader, MtsTime *t);

#endif /* MTS_PART_READER_H */
