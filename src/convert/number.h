/*
 * number.h
 *		Exact conversions of BSON numbers, and their sums and comparisons.
 */
#ifndef MTS_NUMBER_H
#define MTS_NUMBER_H

#include "postgres.h"
#include "fmgr.h"
#include "utils/numeric.h"

#include "core/bson/element.h"

extern bool mts_number_as_double(const MtsElement *element, bool is_key,
								 double *d);
extern bool mts_number_fits_double(double d, const char *decimal, bool is_key);
extern bool mts_number_fits_float(float f, const char *decimal);
extern bool mts_number_as_int64(const MtsElement *element, int64 *n);
extern bool mts_number_as_numeric(const MtsElement *element, Numeric *n);
extern int mts_number_compare_numerics(Datum a, Datum b);
extern char *mts_number_double_text(double d);
extern Numeric mts_number_from_text(const char *text);
extern bool mts_number_is_number(const bson_value_t *value);
extern bson_value_t mts_number_add(const bson_value_t *a,
								   const bson_value_t *b);
extern int mts_number_compare_values(const bson_value_t *a,
									 const bson_value_t *b);

#endif /* MTS_NUMBER_H */
