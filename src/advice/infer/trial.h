/*
 * trial.h
 *		The layout that an inferred declaration means.
 */
#ifndef MTS_TRIAL_H
#define MTS_TRIAL_H

#include "advice/infer/infer.h"
#include "core/arena.h"

extern bool mts_trial_build(const MtsInferred *table, const MtsClock *clock,
							const MtsArena *arena, MtsLayout *layout);

#endif /* MTS_TRIAL_H */
