/*
 * guard.h
 *		Under which condition is a bucket as it was read?
 */
#ifndef MTS_GUARD_H
#define MTS_GUARD_H

#include "postgres.h"

#include "core/element.h"
#include "core/layout.h"

extern void mts_guard_element(bson_t *selector, const char *path,
							  const MtsElement *element);
extern void mts_guard_field(const bson_t *bucket, const MtsPath *path,
							int nsteps, bson_t *selector);
extern void mts_guard_containers(const MtsLayout *layout, const bson_t *bucket,
								 bson_t *selector);

#endif /* MTS_GUARD_H */
