/*
 * trial.h
 *		The layout that an inferred declaration means.
 */
#ifndef MTS_TRIAL_H
#define MTS_TRIAL_H

#include "core/infer/infer.h"

/* A layout, and its memory */
typedef struct MtsTrial
{
	MtsLayout layout;
	char *text; /* of its paths */
	char *next; /* the rest of it */
} MtsTrial;

extern bool mts_trial_build(const MtsInferred *table, const MtsClock *clock,
							const MtsInferHost *host, MtsTrial *trial);

#endif /* MTS_TRIAL_H */
