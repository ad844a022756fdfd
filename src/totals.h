/*
 * totals.h
 *		What do BSON numbers add up to, and which is the least?
 */
#ifndef MTS_TOTALS_H
#define MTS_TOTALS_H

#include "postgres.h"

#include "core/bson.h"

extern bool mts_totals_is_number(const bson_value_t *value);
extern bson_value_t mts_totals_add(const bson_value_t *a,
								   const bson_value_t *b);
extern int mts_totals_compare(const bson_value_t *a, const bson_value_t *b);

#endif /* MTS_TOTALS_H */
