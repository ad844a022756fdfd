/*
 * query.h
 *		The query of a scan: what it asks MongoDB for, and how it trims that.
 */
#ifndef MTS_QUERY_H
#define MTS_QUERY_H

#include "postgres.h"
#include "nodes/execnodes.h"

#include "core/query/filter.h"
#include "pushdown/sort_order.h"
#include "table/table.h"

/* What a scan reads of each bucket */
typedef enum MtsContent
{
	MTS_CONTENT_WHOLE,
	MTS_CONTENT_SLOTS,  /* those slots that points in the ranges can have */
	MTS_CONTENT_HEADERS /* pre-aggregates and bounds in place of the points */
} MtsContent;

/* It is not changed once it is made. */
typedef struct MtsQuery
{
	MtsTable *table;
	Oid userid;
	const bool *needed;        /* by column of the layout */
	const MtsSortOrder *order; /* NULL: none */
	bool is_possible;          /* can any bucket match? */
	MtsContent content;
	bson_t *filter;
	bson_t *projection;
	bson_t *sort;
	MtsRanges ranges;       /* of the points that are wanted */
	bool accepts_null_time; /* are points without a time wanted, too? */
	int first_batch;        /* buckets to ask for at first; 0: fetch_size */
	bool on_primary;        /* do writes depend on what is read? */
} MtsQuery;

/* What a query is made of */
typedef struct MtsQuerySpec
{
	MtsTable *table;
	Oid userid;
	bool *needed;              /* by column of the layout */
	List *quals;               /* MtsQual: the conditions that go down */
	const MtsSortOrder *order; /* NULL: none */
	int first_batch;
	bool on_primary;
	const MtsField **headers; /* fields that can stand for the points of a
							   * bucket; NULL: none */
	int nheaders;
} MtsQuerySpec;

extern MtsQuery *mts_query_make(const MtsQuerySpec *spec,
								ExprContext *econtext);
extern MtsQuery *mts_query_of_filter(const MtsQuerySpec *spec,
									 const bson_t *filter);
extern MtsQuery *mts_query_of_ids(const MtsQuery *query, const bson_t *ids);
extern bson_t *mts_query_whole_projection(const MtsQuery *query);
extern bson_t *mts_query_restrict(const bson_t *filter, const bson_t *terms);
extern bool mts_query_fixes_keys(const MtsTable *table, const bson_t *filter);

#endif /* MTS_QUERY_H */
