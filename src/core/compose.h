/*
 * compose.h
 *		Which document has these values at these paths?
 */
#ifndef MTS_COMPOSE_H
#define MTS_COMPOSE_H

#include "core/layout.h"

/* A value at a path of names; both are the caller's */
typedef struct MtsPlaced
{
	const MtsStep *steps;
	int nsteps;
	const bson_value_t *value;
} MtsPlaced;

extern void mts_compose(const MtsPlaced *fields, int n, bson_t *doc);
extern bool mts_step_same_name(const MtsStep *a, const MtsStep *b);

#endif /* MTS_COMPOSE_H */
