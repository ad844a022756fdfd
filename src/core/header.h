/*
 * header.h
 *		What do a bucket's own fields say of its points?
 */
#ifndef MTS_HEADER_H
#define MTS_HEADER_H

#include "core/unfold.h"

/* How many of a bucket's points lie in the ranges that are wanted */
typedef enum MtsWanted
{
	MTS_WANTED_NONE,
	MTS_WANTED_SOME, /* or all, or none: their times decide */
	MTS_WANTED_ALL
} MtsWanted;

extern bool mts_header_is_worth(const MtsLayout *layout,
								const MtsRanges *ranges);
extern MtsWanted mts_header_wanted(const MtsUnfold *unfold, MtsTime *first,
								   MtsTime *last);
extern bool mts_header_find(const MtsUnfold *unfold, const MtsField *field,
							MtsElement *element);
extern bool mts_header_integer(const MtsElement *element, int64_t *n);
extern bool mts_header_double(const MtsElement *element, double *d);

#endif /* MTS_HEADER_H */
