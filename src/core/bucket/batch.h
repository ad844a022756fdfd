/*
 * batch.h
 *		All points of a bucket at once, as an array for each column.
 */
#ifndef MTS_BATCH_H
#define MTS_BATCH_H

#include "core/bson/outline.h"
#include "core/bucket/compressed.h"
#include "core/bucket/unfold.h"

/* The most points of a batch */
#define MTS_BATCH_ROOM 4096

/* The most series of a batch */
#define MTS_BATCH_SERIES 256

/* The outlines of documents that are known at a time */
#define MTS_BATCH_MODELS 4

typedef enum MtsBatchMethod
{
	MTS_BATCH_SLOTS,     /* values in slots that count units */
	MTS_BATCH_KEYS,      /* {column} slots, in those that count units */
	MTS_BATCH_COLUMNS,   /* values beside dates, in elements of containers */
	MTS_BATCH_ARRAY,     /* subdocuments with their times, in an array */
	MTS_BATCH_DOCUMENTS, /* documents that are points */
	MTS_BATCH_POINTS     /* any points, which are unfolded */
} MtsBatchMethod;

/*
 * Points of a batch that have the same keys: those in {column} slots or, of
 * documents, elements, with the type as the index and the value as the text
 */
typedef struct MtsSeries
{
	MtsSlotKey slots[MTS_MAX_SLOTS];
	int n;    /* points */
	int next; /* the series of the point that followed its last one */
} MtsSeries;

/* An element that has been read by its keys, for others with its outline */
typedef struct MtsModel
{
	MtsOutline outline;
	const uint8_t *base; /* its first byte */
	int npoints;         /* in it, at most MTS_BATCH_SERIES */
	MtsElement *values;  /* by point and column */
	int *numbers;        /* of the points' series */
	uint8_t *copy;       /* of a document, as far as the outline knows it */
} MtsModel;

typedef struct MtsBatch
{
	MtsBatchMethod method;
	int column;           /* the first wanted one, or another */
	int n;                /* points, in the order in which they are stored */
	MtsTime *times;       /* of the points */
	MtsWords *words;      /* by column: the values of the points; without room
						   * if the column is not wanted */
	int64_t *keys;        /* of the elements that are read */
	MtsElement *elements; /* of a point, by container */
	int nmodels;
	int oldest; /* the model that is replaced next */
	MtsModel *models;

	/* of documents */
	bool needs_time;       /* those without a time are unfolded */
	const uint32_t *types; /* by column: a bit for each type of its words */
	int key_columns[MTS_MAX_SLOTS];
	uint8_t *key_bytes; /* of the series */
	size_t nkey_bytes;

	/* the points by series, if the keys of these are wanted */
	int nseries;
	MtsSeries *series; /* NULL if they are not wanted */
	int nkeys;
	int key_slots[MTS_MAX_SLOTS]; /* which slots of a series the keys are */
	int *series_of;               /* by point, as it was read */
	int64_t *old_words;           /* room to sort by series */
	bool *old_missing;
} MtsBatch;

extern void mts_batch_init(MtsBatch *batch, const MtsLayout *layout,
						   const bool *wanted, const MtsArena *arena);
extern bool mts_batch_init_documents(MtsBatch *batch, const MtsLayout *layout,
									 const bool *wanted, const uint32_t *types,
									 const bool *keys, const MtsArena *arena);
extern bool mts_batch_read(MtsBatch *batch, MtsUnfold *unfold);
extern void mts_batch_clear(MtsBatch *batch, const MtsLayout *layout);
extern bool mts_batch_append(MtsBatch *batch, MtsUnfold *unfold,
							 const uint8_t *document, size_t size);
extern void mts_batch_remove_last(MtsBatch *batch, const MtsLayout *layout);
extern void mts_batch_sort(MtsBatch *batch, const MtsLayout *layout);

#endif /* MTS_BATCH_H */
