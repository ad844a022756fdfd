/*
 * batch_reader.h
 *		Read all points of a bucket at once, by column.
 */
#ifndef MTS_BATCH_READER_H
#define MTS_BATCH_READER_H

#include "core/bucket/batch.h"
#include "table/table.h"

struct MtsBucket;
struct MtsPoints;

/* The keys of the series that a batch knows, as Datums */
typedef struct MtsKeys
{
	MemoryContext context;
	int version;           /* changes when the series are numbered anew */
	int room;              /* for series */
	NullableDatum *values; /* by known series and output */
	bool *are_set;         /* by known series: these have been converted */
	bool has_failed;       /* a conversion, which left memory behind */
} MtsKeys;

typedef struct MtsBatchReader
{
	MtsBatch *batch;       /* NULL if points cannot be read so */
	bool is_of_series;     /* points are sorted by series */
	bool remembers_series; /* the caller looks up only new series */
	bool texts_are_keys;   /* of series, when rows are read */
	bool takes_memory;     /* some values of points are not words */
	int failures;          /* of successive attempts */
	int pause;             /* buckets until the next attempt */
	MtsKeys keys;
} MtsBatchReader;

/* Lets all points of a bucket be read at once; otherwise one by one */
extern bool mts_enable_column_reader;

extern bool mts_batch_reader_takes_words(const MtsTable *table, int column);
extern bool mts_batch_reader_takes_key(const MtsTable *table, int column);
extern void mts_batch_reader_init(MtsBatchReader *reader,
								  struct MtsBucket *bucket);
extern bool mts_batch_reader_init_series(MtsBatchReader *reader,
										 struct MtsBucket *bucket,
										 const bool *is_value,
										 const bool *is_key,
										 bool remembers_series);
extern bool mts_batch_reader_read(MtsBatchReader *reader,
								  struct MtsBucket *bucket,
								  struct MtsPoints *points);
extern const MtsBatch *mts_batch_reader_times(const MtsBatchReader *reader,
											  struct MtsBucket *bucket);

#endif /* MTS_BATCH_READER_H */
