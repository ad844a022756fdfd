/*
 * batch.h
 *		All points of a bucket at once, as an array for each column.
 */
#ifndef MTS_BATCH_H
#define MTS_BATCH_H

#include "core/bucket/model.h"
#include "core/bucket/series_set.h"
#include "core/bucket/unfold.h"
#include "core/bucket/words.h"

/* The points that a batch has room for at first, and at most; and their
 * values, if there is room for more points than at first */
#define MTS_BATCH_ROOM 4096
#define MTS_BATCH_MAX_ROOM 262144
#define MTS_BATCH_MAX_VALUES 4194304

/* The most keys of a series */
#define MTS_BATCH_KEYS 8

/* The outlines of elements that are known at a time */
#define MTS_BATCH_MODELS 4

typedef enum MtsBatchMethod
{
	MTS_BATCH_SLOTS, /* a value of each container in slots that count units */
	MTS_BATCH_HOLDERS,   /* {column} slots, in those that count units */
	MTS_BATCH_COLUMNS,   /* values beside dates, in elements of containers */
	MTS_BATCH_ELEMENTS,  /* subdocuments with their times */
	MTS_BATCH_DOCUMENTS, /* documents that are points */
	MTS_BATCH_POINTS     /* any points, which are unfolded */
} MtsBatchMethod;

/* Points of a batch that have the same keys */
typedef struct MtsSeries
{
	int known; /* the number of the series in the set */
	int n;     /* points, perhaps none */
} MtsSeries;

/* The points of a batch by series, if these have keys */
typedef struct MtsBatchSeries
{
	int nkeys;
	int keys[MTS_BATCH_KEYS]; /* which of the columns that are read */
	bool keys_are_slots;      /* those of the innermost slots */
	MtsSeriesSet known;       /* the series of all batches */
	int n;
	MtsSeries *items; /* in the order of their first points */
	int *of;          /* by point, as it was read: its series */
} MtsBatchSeries;

/* The outlines of elements that are known */
typedef struct MtsModels
{
	int n;
	int oldest; /* the one that is replaced next */
	MtsModel *items;
} MtsModels;

/* Room to read, sort and select points */
typedef struct MtsBatchSpare
{
	int64_t *numbers; /* of the points of a level, and room to unite them */
	int *old_places;
	int *new_places;
	int64_t *old_words;
	bool *old_missing;
} MtsBatchSpare;

typedef struct MtsBatch
{
	MtsBatchMethod method;
	int n;               /* points, in the order in which they are stored */
	int room;            /* for points */
	bool lacks_room;     /* more points could be read at once */
	bool has_unfit_keys; /* those of a series are too long */
	MtsTime *times;      /* of the points */
	MtsWords *words;     /* by column: the values of the points; without room
					  * if the column is not wanted */

	/* the columns that are read: of values, and then keys of series */
	int nwords;
	int ncolumns;
	int *columns;
	int time; /* which of them is the time of a point; or -1 */
	const MtsLayout *layout;
	const MtsElement *document; /* that is read */
	const MtsArena *arena; /* of what follows, which is made when points are
							* read */
	MtsElement *point;     /* its elements, by container */
	MtsModels models;      /* of their elements */

	/* of documents */
	bool needs_time;       /* those without a time are unfolded */
	const uint32_t *types; /* by column: a bit for each type of its words */

	MtsBatchSeries series;
	MtsBatchSpare spare;
} MtsBatch;

extern bool mts_batch_init(MtsBatch *batch, const MtsLayout *layout,
						   const bool *values, const bool *keys,
						   const uint32_t *types, const MtsArena *arena);
extern bool mts_batch_read(MtsBatch *batch, MtsUnfold *unfold);
extern void mts_batch_take_words(MtsBatch *batch);
extern void mts_batch_clear(MtsBatch *batch);
extern bool mts_batch_forget_series(MtsBatch *batch);
extern bool mts_batch_append(MtsBatch *batch, MtsUnfold *unfold,
							 const uint8_t *document, size_t size);
extern void mts_batch_remove_last(MtsBatch *batch);
extern void mts_batch_select(MtsBatch *batch, const bool *wanted);
extern void mts_batch_keep(MtsBatch *batch, const int *points, int n);
extern void mts_batch_sort(MtsBatch *batch);
extern const MtsElement *mts_batch_key(const MtsBatch *batch, int series,
									   int column);

#endif /* MTS_BATCH_H */
