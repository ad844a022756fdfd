/*
 * infer_private.h
 *		Types and functions that the files of the inference share.
 *
 * A *reading* is one interpretation of the samples: which nodes hold the
 * points, which units their slots count, and which nodes are times. infer.c
 * explains in which order readings are tried.
 */
#ifndef MTS_INFER_PRIVATE_H
#define MTS_INFER_PRIVATE_H

#include "core/infer/infer.h"
#include "core/bucket/unfold.h"

/* Units from coarse to fine, of slots and of the spans of buckets */
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
#define MTS_INFER_COLUMNS 1000
#define MTS_INFER_VALUES 16 /* that are compared with pre-aggregates */

/* A field of documents that is a time in every sample that has it */
typedef struct MtsInferField
{
	int node;
	char format[MTS_INFER_FORMAT];
	MtsTime *times;       /* of each sample, MTS_TIME_MIN where it is absent */
	int present;          /* samples that have it */
	int distinct;         /* different times */
	MtsTime gap;          /* the least distance between two of them */
	MtsInferUnit unit;    /* the coarsest unit that all times begin */
	bool is_local;        /* they begin it in hints->local */
	bool has_daily_phase; /* they have the same time of day, not midnight */
} MtsInferField;

typedef struct MtsInferSlot
{
	MtsInferUnit unit; /* NONE for [], the elements of an array */
	int64_t base;      /* of the first key, 0 or 1 */
	int64_t times;     /* units that a slot counts */
} MtsInferSlot;

/* The slots of a node, over all subdocuments or arrays that hold any */
typedef struct MtsInferShape
{
	bool is_measured;
	bool has_padding; /* arrays have nulls or {} */
	bool is_dense;    /* all subdocuments, or most arrays, have all keys */
	int64_t holders;  /* subdocuments or arrays that hold slots */
	int64_t full;     /* holders with all keys up to the greatest */
} MtsInferShape;

typedef struct MtsReading
{
	int containers[MTS_INFER_CONTAINERS]; /* nodes of the innermost slots */
	int ncontainers;                      /* 0 if each document is a row */
	int nslots;
	MtsInferSlot slots[MTS_MAX_SLOTS];
	bool is_unpivoted;           /* keys of points are values of a column */
	const MtsInferField *bucket; /* the bucket's time, or NULL */
	MtsInferUnit span;           /* of a bucket, NONE if it is not known */
	int64_t spans;               /* how many of these a bucket has */
	int time_node;               /* the point's time, or -1 */
	char time_format[MTS_INFER_FORMAT];
} MtsReading;

/* Nodes that become columns of their own */
typedef struct MtsInferLeaves
{
	int nodes[MTS_INFER_COLUMNS];
	int n;
	int nlost; /* leaves without room */
} MtsInferLeaves;

typedef struct MtsInfer
{
	const MtsInferHints *hints;
	const MtsInferHost *host;
	int nsamples;
	MtsSurvey survey;
	MtsInferField *fields;
	int nfields;
	MtsInferShape *shapes; /* by node */
	MtsReading reading;
	bool *is_excluded; /* by sample: it is not a bucket of the reading */
	int nexcluded;
	int possible_offset;   /* a node that may be an offset, or 0 */
	int64_t *point_counts; /* by sample */
	bool *is_declared;     /* by node */
	int column_nodes[MTS_INFER_COLUMNS]; /* of the result's, -1 for a slot */
	MtsReading alternatives[MTS_INFER_ALTERNATIVES]; /* of the result's */
	MtsInferred *result;
} MtsInfer;

/* The order in which fields are tried as the bucket's time */
typedef enum MtsInferFieldOrder
{
	MTS_FIELDS_BY_BUCKETS, /* the field that differs in most buckets first */
	MTS_FIELDS_BY_UNIT     /* the field that begins the largest unit first */
} MtsInferFieldOrder;

/* The units that nested slots may count */
typedef enum MtsInferFit
{
	MTS_FIT_ADJACENT, /* the next finer unit than the enclosing slot's */
	MTS_FIT_ANY       /* any finer unit */
} MtsInferFit;

/* The use of a column's numbers */
typedef enum MtsInferUse
{
	MTS_USE_IDENTIFY, /* integers stay integers */
	MTS_USE_MEASURE   /* unsampled numbers may be fractions */
} MtsInferUse;

/* Checks a point; false if the reading is wrong. */
typedef bool (*MtsInferPoint)(void *arg, int sample, MtsUnfold *unfold,
							  const MtsPoint *point);

/* infer.c */
extern void mts_infer_pause(const MtsInfer *infer);
extern void *mts_infer_allocate(const MtsInfer *infer, size_t n, size_t size);
extern void mts_infer_clear_reading(MtsInfer *infer);

/* infer_path.c */
extern bool mts_infer_write_path(const MtsInfer *infer, int node, char *text);
extern bool mts_infer_write_dotted_path(const MtsInfer *infer, int node,
										char *text);

/* infer_remark.c */
extern size_t mts_infer_clip(const char *text, size_t len, size_t room);
extern void mts_infer_remark(MtsInfer *infer, const char *format, ...)
	BSON_GNUC_PRINTF(2, 3);
extern void mts_infer_forbid_writes(MtsInfer *infer);
extern void mts_infer_suggest_option(MtsInfer *infer, int column,
									 const char *option, const char *value);
extern const char *mts_infer_label(const MtsInfer *infer, int node,
								   char *text);

/* infer_shape.c */
extern const MtsInferShape *mts_infer_shape(const MtsInfer *infer, int node);
extern bool mts_infer_has_tuples(const MtsInfer *infer, int node);

/* infer_time.c */
extern bool mts_infer_find_format(const MtsInfer *infer, int node,
								  char *format);
extern void mts_infer_remark_pattern(MtsInfer *infer, int node,
									 const char *format);
extern bool mts_infer_looks_like_time(const MtsInfer *infer, int node);
extern const MtsClock *mts_infer_field_clock(const MtsInfer *infer,
											 const MtsInferField *field);
extern void mts_infer_find_fields(MtsInfer *infer);
extern MtsInferUnit mts_infer_longest_span(const MtsInferField *field);
extern int64_t mts_infer_common_distance(const MtsInfer *infer,
										 const MtsInferField *field);
extern void mts_infer_sort_fields(MtsInfer *infer, MtsInferFieldOrder order);

/* infer_unit.c */
extern const char *mts_infer_unit_name(MtsInferUnit unit);
extern const char *mts_infer_unit_phrase(MtsInferUnit unit);
extern int64_t mts_infer_unit_length(MtsInferUnit unit);
extern MtsSpan mts_infer_unit_span(MtsInferUnit unit);
extern MtsSpan mts_infer_bucket_span(const MtsReading *reading);
extern int64_t mts_infer_units_in(MtsInferUnit outer, MtsInferUnit inner);
extern bool mts_infer_fit_units(const MtsInfer *infer, MtsReading *reading,
								MtsInferUnit span, MtsInferFit fit);
extern bool mts_infer_fit_wide_bucket(const MtsInfer *infer,
									  MtsReading *reading, MtsInferUnit span,
									  int64_t spans);
extern bool mts_infer_fit_multiples(const MtsInfer *infer, MtsReading *reading,
									MtsInferUnit span);
extern MtsSpan mts_infer_slot_span(const MtsInferSlot *slot);

/* infer_series.c */
extern bool mts_infer_find_series(MtsInfer *infer);
extern bool mts_infer_slots_are_elements(const MtsInfer *infer);
extern void mts_infer_set_bucket_time(MtsInfer *infer,
									  const MtsInferField *field);

/* infer_counted.c */
extern bool mts_infer_find_slot_units(MtsInfer *infer, char *why);
extern bool mts_infer_find_slot_times(MtsInfer *infer, char *why);

/* infer_offset.c */
extern bool mts_infer_find_offset(MtsInfer *infer, char *why);

/* infer_check.c */
extern bool mts_infer_unfold(MtsInfer *infer, const int *values, int nvalues,
							 MtsInferPoint visit, void *arg, char *why);
extern bool mts_infer_check(MtsInfer *infer, char *why);

/* infer_totals.c */
extern void mts_infer_declare_totals(MtsInfer *infer);

/* infer_bucket.c */
extern void mts_infer_declare_bucket(MtsInfer *infer);

/* infer_column.c */
extern bool mts_infer_has_only(const MtsInfer *infer, int node,
							   uint32_t types);
extern bool mts_infer_is_record(const MtsInfer *infer, int node);
extern bool mts_infer_is_id(const MtsInfer *infer, int node);
extern bool mts_infer_is_in_id(const MtsInfer *infer, int node);
extern void mts_infer_collect_leaves(MtsInfer *infer, int node,
									 MtsInferLeaves *leaves);
extern MtsInferColumn *mts_infer_add_column(MtsInfer *infer, int node,
											MtsRole role, MtsInferType type);
extern uint32_t mts_infer_node_types(const MtsInfer *infer, int node);
extern MtsInferType mts_infer_column_type(const MtsInfer *infer, int node,
										  MtsInferUse use);

/* infer_declare.c */
extern void mts_infer_declare_rows(MtsInfer *infer);
extern void mts_infer_declare_points(MtsInfer *infer);
extern void mts_infer_declare_keys(MtsInfer *infer);

#endif /* MTS_INFER_PRIVATE_H */
