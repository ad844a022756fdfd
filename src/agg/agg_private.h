/*
 * agg_private.h
 *		The state of a partial aggregation, for the files of this folder.
 */
#ifndef MTS_AGG_PRIVATE_H
#define MTS_AGG_PRIVATE_H

#include "agg/agg.h"
#include "agg/transition.h"
#include "pushdown/stretch.h"

/* An argument of an aggregate: an attribute of the row, or an expression */
typedef struct MtsArgument
{
	int attribute;    /* from 0; -1 for an expression */
	ExprState *state; /* NULL for an attribute */
} MtsArgument;

typedef struct MtsAggregate
{
	Oid oid;
	MtsTransition transition;
	int narguments;
	MtsArgument *arguments;

	/* FILTER; one of these, or NULL without it */
	ExprState *filter;           /* evaluated for each point */
	ExprState *bucket_filter;    /* evaluated once for each bucket */
	bool bucket_is_filtered_out; /* bucket_filter fails on this bucket */
} MtsAggregate;

typedef struct MtsGroupKey
{
	ExprState *state;
	bool is_of_time; /* it depends on the time alone, by steps */
} MtsGroupKey;

typedef struct MtsHeaders MtsHeaders;
typedef struct MtsPreaggregates MtsPreaggregates;

struct MtsAgg
{
	/* what is read */
	MtsScan *scan;
	MtsHeaders *headers;   /* NULL if no bucket can do without its points */
	MtsBucket *bucket;     /* the current one */
	TupleTableSlot *row;   /* the current point */
	ExprContext *econtext; /* evaluates expressions of the row */
	bool reads_series;     /* aggregates can advance by many points at once */

	/* what is computed */
	int ncolumns;
	int *columns; /* of the result: a key's number, or -1 - an aggregate's */
	int nkeys;
	MtsGroupKey *keys;
	int naggregates;
	MtsAggregate *aggregates;

	/* WHERE, as far as it is evaluated here */
	ExprState *bucket_filter; /* the leading conditions on bucket columns */
	ExprState *filter;        /* the others */
	List *series_clauses;     /* of these: those left for points that are read
							   * by series */
	ExprState *series_filter;
	bool has_filtered_bucket; /* the next field is valid for this bucket */
	bool bucket_is_filtered_out;

	/* how keys depend on the time */
	int time;                 /* attribute of the time, from 0; or -1 */
	bool has_point_keys;      /* keys can differ between any two points */
	bool has_value_keys;      /* also between points of one series */
	MtsStretch *stretch;      /* times over which the keys of time keep their
						  * values; NULL without such keys */
	bool stretch_has_changed; /* since the keys of time were evaluated */
	MemoryContext key_memory; /* of their values */

	/* the groups: an array of transition values for each */
	MemoryContext memory;     /* of all groups */
	TupleHashTable table;     /* NULL without keys: there is one group */
	TupleTableSlot *key_slot; /* the keys of the current group */
	NullableDatum *only;   /* the one group; NULL with keys or once emitted */
	NullableDatum *group;  /* the current one; NULL before the first */
	bool bucket_has_group; /* the current group is one of this bucket */
	MtsTime from;          /* if so, for times from <= t <= to of it */
	MtsTime to;

	/* the result */
	bool is_emitting;
	bool has_emitted;           /* since the scan began */
	bool is_at_end;             /* all points have been read */
	TupleHashIterator iterator; /* over the groups that are emitted */
	TupleTableSlot *group_slot; /* the keys of the emitted group */
};

/* Which group all points of a bucket belong to */
typedef enum MtsBucketGroup
{
	MTS_BUCKET_IN_GROUP,     /* the current group */
	MTS_BUCKET_FILTERED_OUT, /* none, by a condition */
	MTS_BUCKET_UNDECIDED     /* perhaps several */
} MtsBucketGroup;

/* agg_group.c */
extern void mts_agg_init_groups(MtsAgg *agg, List *keys);
extern void mts_agg_reset_groups(MtsAgg *agg);
extern void mts_agg_set_bucket(MtsAgg *agg, MtsBucket *bucket);
extern bool mts_agg_bucket_passes(MtsAgg *agg, int64 npoints);
extern bool mts_agg_point_passes(MtsAgg *agg);
extern void mts_agg_enter_point(MtsAgg *agg);
extern int mts_agg_end_of_run(MtsAgg *agg, const MtsTime *times, int from,
							  int n);
extern MtsBucketGroup mts_agg_enter_bucket(MtsAgg *agg, int64 npoints);
extern void mts_agg_emit_groups(MtsAgg *agg);
extern const NullableDatum *mts_agg_next_group(MtsAgg *agg);

/* agg_header.c */
extern void mts_agg_init_headers(MtsAgg *agg);
extern bool mts_agg_next_bucket(MtsAgg *agg, MtsBucket **bucket);
extern void mts_agg_reset_headers(MtsAgg *agg);

/* agg_preaggregate.c */
extern MtsPreaggregates *mts_agg_find_preaggregates(const MtsAgg *agg,
													const char **problem);
extern int64 mts_agg_read_preaggregates(MtsAgg *agg,
										MtsPreaggregates *preaggregates);
extern void mts_agg_combine_preaggregates(
	MtsAgg *agg, const MtsPreaggregates *preaggregates, int64 points);

#endif /* MTS_AGG_PRIVATE_H */
