/*
 * agg_private.h
 *		A partial aggregation as its files see it.
 */
#ifndef MTS_AGG_PRIVATE_H
#define MTS_AGG_PRIVATE_H

#include "agg/agg.h"
#include "agg/transition.h"
#include "pushdown/stretch.h"

/* An expression that is grouped by */
typedef struct MtsGroupKey
{
	ExprState *state;
	bool is_of_time; /* does it keep its value over a stretch of time? */
	Datum value;     /* of the current group */
	bool is_null;
} MtsGroupKey;

typedef struct MtsHeaders MtsHeaders;

struct MtsAgg
{
	MtsScan *scan;         /* the plan's */
	MtsBucket *bucket;     /* that is read: its, or one of the headers' */
	MtsHeaders *headers;   /* NULL: values must be read */
	TupleTableSlot *row;   /* the point */
	ExprContext *econtext; /* has the row */
	int time;              /* the time's attribute, from 0; or -1 */
	int ncolumns;          /* of what the scan gives */
	int *columns;          /* a key's number, or -1 - an aggregate's */
	int nkeys;
	MtsGroupKey *keys;
	bool has_point_keys;      /* may keys differ for each point? */
	MtsStretch *stretch;      /* over which the others don't change; NULL:
								* they are of the bucket */
	bool is_stale;            /* is it another one than the keys' of time? */
	MemoryContext key_memory; /* of these keys' values */
	int naggregates;
	MtsTransition *aggregates;

	/* the conditions that stay here */
	ExprState *bucket_filter; /* the first, of columns of the bucket */
	ExprState *filter;        /* the others */
	bool has_filtered; /* has the first been evaluated for the bucket? */
	bool filtered_out; /* does it leave the bucket out? */

	/* the groups */
	MemoryContext memory; /* of all of them */
	TupleHashTable table; /* NULL: there is but one group */
	TupleTableSlot *key;
	TupleTableSlot *given; /* a group that is given */
	TupleHashIterator next;
	MtsState *only; /* of the one group */
	bool is_giving;
	bool has_given; /* have groups been given before? */
	bool is_done;

	bool reads_doubles; /* may the values of a bucket be read at once? */

	/* the group of the last point, and as long as it is that */
	MtsState *current; /* NULL: none in this bucket */
	MtsTime from;      /* it is the group of from <= t <= to in this bucket */
	MtsTime to;
};

/* What became of a bucket that was entered whole */
typedef enum MtsEntry
{
	MTS_ENTRY_GROUP,   /* its points are of the current group */
	MTS_ENTRY_REFUSED, /* a condition leaves all of them out */
	MTS_ENTRY_SEVERAL  /* they may be of several groups */
} MtsEntry;

/* agg_group.c */
extern void mts_agg_begin_groups(MtsAgg *agg);
extern void mts_agg_begin_bucket(MtsAgg *agg, MtsBucket *bucket);
extern bool mts_agg_wants_point(MtsAgg *agg);
extern void mts_agg_enter_point(MtsAgg *agg);
extern MtsEntry mts_agg_enter_bucket(MtsAgg *agg, MtsTime first, MtsTime last);

/* aggregate_header.c */
extern void mts_agg_init_headers(MtsAgg *agg, TupleDesc desc);
extern bool mts_agg_next_bucket(MtsAgg *agg, MtsBucket **bucket);
extern void mts_agg_reset_headers(MtsAgg *agg);

#endif /* MTS_AGG_PRIVATE_H */
