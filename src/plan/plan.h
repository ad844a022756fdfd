/*
 * plan.h
 *		Paths and plans of scans, and what the planner knows of a relation.
 */
#ifndef MTS_PLAN_H
#define MTS_PLAN_H

#include "postgres.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "pushdown/shippable.h"

/* Costs, in the units of seq_page_cost and cpu_tuple_cost */
#define STARTUP_COST 25.0 /* a round trip */
#define BUCKET_COST 0.05  /* to send and to open one */

/* A row that is kept, besides its values */
#define ROW_BYTES 64

/* A relation's fdw_private, while it is planned */
typedef struct MtsRelInfo
{
	const MtsTable *table;

	/* clauses that have been classified, and their MtsQuals, or NULL */
	List *known;
	List *quals;

	/* the RestrictInfos of baserestrictinfo */
	List *pushed; /* MongoDB or the unfolding decides them, perhaps in part */
	List *exact;  /* those of pushed that PostgreSQL need not check again */
	List *local;  /* all but exact, which PostgreSQL checks */

	/* RestrictInfos that joins imply: pushed, too, but not checked again */
	List *implied;

	double points_per_bucket;
	double points; /* of the buckets that match baserestrictinfo and implied */
	double rows;   /* of these points that are rows; rel->rows without joins */
	double collections; /* of a rolling set; otherwise 1 */
	bson_t *indexes;    /* those of MtsKnown; NULL if they are of no use */

	bool workers_may_scan; /* a worker may scan the whole relation */
	bool is_async; /* an Append may ask for its rows, and others, at once */
} MtsRelInfo;

/* The setting mongo_ts_fdw.processors; 0 for those of the host */
extern int mts_processors;

extern void mtsGetForeignRelSize(PlannerInfo *root, RelOptInfo *baserel,
								 Oid relid);

extern void mtsGetForeignPaths(PlannerInfo *root, RelOptInfo *baserel,
							   Oid relid);
extern const MtsQual *mts_plan_qual(RelOptInfo *rel, RestrictInfo *rinfo);
extern const MtsTable *mts_plan_table(PlannerInfo *root, Index varno,
									  Relation relation);
extern List *mts_plan_attributes(List *exprs, Index varno);
extern void mts_plan_split_clauses(RelOptInfo *rel, List *rinfos,
								   List **pushed, List **exact, List **local);
extern double mts_plan_points(PlannerInfo *root, RelOptInfo *rel,
							  const ParamPathInfo *param);
extern Path *mts_plan_path(PlannerInfo *root, RelOptInfo *rel,
						   ParamPathInfo *param, List *pathkeys, List *order);
extern double mts_plan_time_share(PlannerInfo *root, RelOptInfo *rel,
								  List *rinfos);
extern bool mts_plan_divide(RelOptInfo *rel, Path *path);
extern ForeignScan *mts_plan_scan(PlannerInfo *root, RelOptInfo *baserel,
								  ForeignPath *best_path, List *tlist,
								  List *scan_clauses, Plan *outer_plan);

#endif /* MTS_PLAN_H */
