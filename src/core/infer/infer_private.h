/*
 * infer_private.h
 *		What the files of the inference share.
 *
 * A *reading* is one way to understand the samples: which nodes hold the
 * points, what their slots count, where the times are.  infer_slots.c proposes
 * readings, infer_check.c unfolds the samples by one, and the first that holds
 * is what infer_column.c and infer_bucket.c declare.
 */
#ifndef MTS_INFER_PRIVATE_H
#define MTS_INFER_PRIVATE_H

#include "core/infer/infer.h"
#include "core/bucket/unfold.h"

/* Units from coarse to fine; a span is one of these, too */
typedef enum MtsInferUnit
{
	MTS_UNIT_YEAR,
	MTS_UNIT_MONTH,
	MTS_UNIT_DAY,
	MTS_UNIT_HOUR,
	MTS_UNIT_MINUTE,
	MTS_UNIT_SECOND,
	MTS_UNIT_MILLISECOND,
	MTS_UNIT_NONE
} MtsInferUnit;

#define MTS_INFER_CONTAINERS 64
#define MTS_INFER_FIELDS 16
#define MTS_INFER_TIMES 8 /* of a point */
#define MTS_INFER_COLUMNS 1000
#define MTS_INFER_VALUES 16 /* that are compared with pre-aggregates */

/* A field of the bucket that holds a time in every sample that has it */
typedef struct MtsInferField
{
	int node;
	char format[MTS_INFER_FORMAT];
	MtsTime *times;    /* of each sample; MTS_TIME_MIN: none */
	int present;       /* samples that have it */
	int distinct;      /* times */
	MtsTime gap;       /* the least between two of them */
	MtsInferUnit unit; /* the coarsest that all times begin */
	bool is_local;     /* in the local zone? */
	bool is_phased;    /* or at the same time of the day, but no zone's? */
} MtsInferField;

typedef struct MtsInferSlot
{
	MtsInferUnit unit; /* NONE: [], each element of an array */
	int64_t base;
	int64_t times; /* of the unit, where it is a multiple; else 0 or 1 */
} MtsInferSlot;

/* How slots are filled, over all subdocuments or arrays that hold any */
typedef struct MtsInferShape
{
	bool is_known;
	bool is_padded;  /* are there nulls or {} in arrays? */
	int64_t holders; /* how many hold slots */
	int64_t full;    /* of these, as many slots as the keys allow */
	int64_t least;   /* slots of one */
} MtsInferShape;

typedef struct MtsReading
{
	int containers[MTS_INFER_CONTAINERS]; /* nodes of the innermost slots */
	int ncontainers;                      /* 0: a document is a row */
	int nslots;
	MtsInferSlot slots[MTS_MAX_SLOTS];
	bool is_unpivoted;           /* are the point's keys a column's values? */
	const MtsInferField *bucket; /* its time, or NULL */
	MtsInferUnit span;           /* NONE: unknown */
	int64_t spans;               /* how many of these; 0: one */
	int own_time;                /* node of the point's time, or -1 */
	char own_format[MTS_INFER_FORMAT];
} MtsReading;

typedef struct MtsInfer
{
	const MtsSample *samples;
	int nsamples;
	const MtsInferHints *hints;
	const MtsInferHost *host;
	MtsSurvey survey;
	MtsInferField *fields;
	int nfields;
	MtsInferShape *shapes; /* of the slots of nodes, by their index */
	MtsReading reading;
	bool *others; /* samples that are no buckets of the reading */
	int nothers;
	MtsReading readings[MTS_INFER_OTHERS]; /* of the result's others */
	int leaves[MTS_INFER_COLUMNS];
	int nleaves;
	int nlost;       /* leaves for which there was no room */
	int64_t *points; /* of each sample */
	int doubtful;    /* node that could be an offset, or 0 */
	bool *used;      /* nodes that have been declared, by their index */
	int nodes[MTS_INFER_COLUMNS]; /* of the result's columns; -1: none */
	MtsInferred *result;
} MtsInfer;

/* Judge a point; false: the reading does not hold. */
typedef bool (*MtsInferPoint)(void *arg, int sample, MtsUnfold *unfold,
							  const MtsPoint *point);

/* infer.c */
extern void mts_infer_pause(const MtsInfer *infer);

/* infer_path.c */
extern bool mts_infer_path(const MtsInfer *infer, int node, char *text);
extern bool mts_infer_dotted(const MtsInfer *infer, int node, char *text);

/* infer_remark.c */
extern void mts_infer_remark(MtsInfer *infer, const char *format, ...)
	BSON_GNUC_PRINTF(2, 3);
extern void mts_infer_forbid(MtsInfer *infer);
extern void mts_infer_advise(MtsInfer *infer, int column, const char *option,
							 const char *value);
extern const char *mts_infer_show(const MtsInfer *infer, int node, char *text);

/* infer_shape.c */
extern const MtsInferShape *mts_infer_shape(const MtsInfer *infer, int node);
extern bool mts_infer_is_tuple(const MtsInfer *infer, int node);

/* infer_time.c */
extern bool mts_infer_format(const MtsInfer *infer, int node, char *format);
extern void mts_infer_doubt(MtsInfer *infer, int node, const char *format);
extern bool mts_infer_seems_time(const MtsInfer *infer, int node);
extern const MtsClock *mts_infer_clock(const MtsInfer *infer,
									   const MtsInferField *field);
extern void mts_infer_fields(MtsInfer *infer);
extern int64_t mts_infer_rhythm(const MtsInfer *infer,
								const MtsInferField *field);
extern void mts_infer_sort_fields(MtsInfer *infer, bool by_unit);

/* infer_unit.c */
extern const char *mts_infer_unit_name(MtsInferUnit unit);
extern const char *mts_infer_unit_article(MtsInferUnit unit);
extern int64_t mts_infer_unit_length(MtsInferUnit unit);
extern MtsSpan mts_infer_unit_span(MtsInferUnit unit);
extern MtsSpan mts_infer_span(const MtsReading *reading);
extern int64_t mts_infer_units_in(MtsInferUnit outer, MtsInferUnit inner);
extern bool mts_infer_units(const MtsInfer *infer, MtsReading *reading,
							MtsInferUnit span, bool adjacent);
extern bool mts_infer_wide(const MtsInfer *infer, MtsReading *reading,
						   MtsInferUnit span, int64_t spans);
extern bool mts_infer_multiples(const MtsInfer *infer, MtsReading *reading,
								MtsInferUnit span);
extern MtsSpan mts_infer_slot_span(const MtsInferSlot *slot);

/* infer_series.c */
extern bool mts_infer_series(MtsInfer *infer);
extern bool mts_infer_is_array(const MtsInfer *infer);
extern void mts_infer_set_bucket(MtsInfer *infer, const MtsInferField *field);

/* infer_counted.c */
extern bool mts_infer_slots(MtsInfer *infer, char *why);
extern bool mts_infer_counted(MtsInfer *infer, char *why);

/* infer_offset.c */
extern bool mts_infer_offset(MtsInfer *infer, char *why);

/* infer_check.c */
extern bool mts_infer_unfold(MtsInfer *infer, const int *values, int nvalues,
							 MtsInferPoint visit, void *arg, char *why);
extern bool mts_infer_check(MtsInfer *infer, char *why);

/* infer_totals.c */
extern void mts_infer_totals(MtsInfer *infer);

/* infer_bucket.c */
extern void mts_infer_bucket(MtsInfer *infer);

/* infer_column.c */
extern bool mts_infer_is_only(const MtsInfer *infer, int node, uint32_t types);
extern bool mts_infer_is_record(const MtsInfer *infer, int node);
extern bool mts_infer_is_id(const MtsInfer *infer, int node);
extern bool mts_infer_is_in_id(const MtsInfer *infer, int node);
extern void mts_infer_leaves(MtsInfer *infer, int node);
extern MtsInferColumn *mts_infer_column(MtsInfer *infer, int node,
										MtsRole role, MtsInferType type);
extern uint32_t mts_infer_types(const MtsInfer *infer, int node);
extern MtsInferType mts_infer_type(const MtsInfer *infer, int node,
								   bool is_value);

/* infer_declare.c */
extern void mts_infer_flat(MtsInfer *infer);
extern void mts_infer_points(MtsInfer *infer);
extern void mts_infer_keys(MtsInfer *infer);

#endif /* MTS_INFER_PRIVATE_H */
