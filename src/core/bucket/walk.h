/*
 * walk.h
 *		Walk the slots of a bucket's containers: of one, or of several together.
 *
 * Of unfold.c only, whose caller owns the MtsUnfold.
 */
#ifndef MTS_WALK_H
#define MTS_WALK_H

#include "core/bucket/unfold.h"

typedef enum MtsEntered
{
	MTS_ENTERED,
	MTS_SKIPPED,
	MTS_REFUSED
} MtsEntered;

extern void mts_walk_init(MtsWalk *walk, const MtsContainer *container);
extern MtsEntered mts_walk_open(MtsUnfold *unfold, MtsWalk *walk, int depth,
								const MtsElement *from);
extern MtsUnfolded mts_walk_next(MtsUnfold *unfold, MtsWalk *walk,
								 MtsElement *cell);
extern void mts_walk_slots(const MtsWalk *walk, int nslots, MtsSlotKey *slots);
extern MtsUnfolded mts_walk_refuse(MtsUnfold *unfold, const char *format, ...)
	BSON_GNUC_PRINTF(2, 3);
extern void mts_walk_locate_step(MtsUnfold *unfold, const MtsStep *step,
								 const MtsSlotKey *key);
extern void mts_walk_zip_init(MtsUnfold *unfold, int container);
extern MtsUnfolded mts_walk_zip_next(MtsUnfold *unfold, MtsPoint *point);

#endif /* MTS_WALK_H */
