/*
 * counterexample.h
 *		The pipeline that looks for documents which contradict what a table
 *		declares of their points.
 */
#ifndef MTS_COUNTEREXAMPLE_H
#define MTS_COUNTEREXAMPLE_H

#include "core/layout/layout.h"

typedef enum MtsClaimKind
{
	MTS_CLAIM_COUNT,   /* option count_field */
	MTS_CLAIM_SUM,     /* sum_field */
	MTS_CLAIM_MINIMUM, /* min_field */
	MTS_CLAIM_MAXIMUM, /* max_field */
	MTS_CLAIM_FIRST,   /* bucket_first_field */
	MTS_CLAIM_LAST     /* bucket_last_field */
} MtsClaimKind;

/* What a field of each bucket says of the bucket's points */
typedef struct MtsClaim
{
	MtsClaimKind kind;
	const MtsColumn *column; /* whose values it aggregates, or NULL */
	const MtsField *field;
} MtsClaim;

/* The most claims of a layout */
#define MTS_MAX_CLAIMS(layout) (3 * (layout)->ncolumns + 3)

/* What a document says, and what its points say */
typedef struct MtsCounterexample
{
	bool is_known;     /* MongoDB has compared the documents */
	int64_t documents; /* that contradict the claim */
	/* of one of these; all are missing if there is none */
	MtsElement id;
	MtsElement says;
	MtsElement points_say;
} MtsCounterexample;

extern int mts_counterexample_claims(const MtsLayout *layout,
									 MtsClaim *claims);
extern const char *mts_counterexample_option(const MtsClaim *claim);
extern bool mts_counterexample_exists_query(const MtsLayout *layout,
											const MtsClaim *claim);
extern void mts_counterexample_stages(const MtsLayout *layout,
									  const MtsClaim *claims, int n,
									  bson_t *pipeline);
extern MtsCounterexample mts_counterexample_read(const bson_t *result,
												 int claim);

#endif /* MTS_COUNTEREXAMPLE_H */
