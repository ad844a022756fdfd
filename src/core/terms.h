/*
 * terms.h
 *		How does a conjunction of terms look as one filter?
 */
#ifndef MTS_TERMS_H
#define MTS_TERMS_H

#include "core/bson.h"
#include <stdbool.h>

extern void mts_terms_add_not(bson_t *terms, const char *field, const char *op,
							  bson_iter_t *value);
extern void mts_terms_join(const bson_t *terms, bson_t *doc);

#endif /* MTS_TERMS_H */
