/*
 * unfold.h
 *		The points of a bucket.
 */
#ifndef MTS_UNFOLD_H
#define MTS_UNFOLD_H

#include "core/bucket/zip.h"

typedef struct MtsUnfold
{
	const MtsLayout *layout;
	const MtsRanges *ranges; /* the wanted times */
	bool accepts_null_time;  /* points without a time are wanted, too */
	bool headers_only;       /* buckets are fetched without their points */
	MtsWalk *walks;          /* one for each container */
	MtsZip zip;              /* of several containers */

	/* the current bucket */
	MtsElement document;
	MtsTime start;
	MtsTime end;
	MtsTime first; /* declared bounds of its points' times */
	MtsTime last;
	MtsTime earliest; /* what all of these say about the times */
	MtsTime latest;
	MtsSlotClock slots;   /* the clock of its slots */
	bool lacks_container; /* some container is missing */
	bool is_read;         /* the point of a flat document was returned */

	/* after MTS_INVALID, or false from mts_unfold_start */
	MtsInvalid invalid;
} MtsUnfold;

extern void mts_unfold_init(MtsUnfold *unfold, const MtsLayout *layout,
							const MtsRanges *ranges, const MtsArena *arena);
extern bool mts_unfold_start(MtsUnfold *unfold, const uint8_t *bucket,
							 size_t size);
extern MtsUnfolded mts_unfold_next(MtsUnfold *unfold, MtsPoint *point);
extern MtsFound mts_unfold_value(MtsUnfold *unfold, const MtsPoint *point,
								 const MtsColumn *column, MtsElement *element);
extern bool mts_unfold_is_missing(const MtsMissing *missing,
								  const MtsElement *element);
extern void mts_unfold_locate(MtsUnfold *unfold, const MtsPoint *point,
							  const MtsColumn *column);

/* How many of a bucket's points lie in the wanted ranges */
typedef enum MtsCoverage
{
	MTS_COVERED_NONE,
	MTS_COVERED_SOME, /* perhaps all or none; their times decide */
	MTS_COVERED_ALL
} MtsCoverage;

extern bool mts_unfold_header_is_worthwhile(const MtsLayout *layout,
											const MtsRanges *ranges,
											bool is_one_series);
extern MtsCoverage mts_unfold_header_coverage(const MtsUnfold *unfold);
extern bool mts_unfold_header_find(const MtsUnfold *unfold,
								   const MtsField *field, MtsElement *element);
extern bool mts_unfold_header_double(const MtsElement *element, double *d);

#endif /* MTS_UNFOLD_H */
