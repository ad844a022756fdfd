/*
 * derived.h
 *		Numbers and times that follow from the values of a bucket.
 */
#ifndef MTS_DERIVED_H
#define MTS_DERIVED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/time/clock.h"

typedef enum MtsDerivation
{
	MTS_DERIVED_COUNT, /* of the values */
	MTS_DERIVED_SUM,
	MTS_DERIVED_MIN,
	MTS_DERIVED_MAX,
	MTS_DERIVED_FIRST, /* the value that has the first time */
	MTS_DERIVED_LAST,
	MTS_DERIVED_AVERAGE,
	MTS_DERIVED_ROUNDED_SUM, /* to 0 digits, then to 1, 2 and 3 */
	MTS_DERIVED_ROUNDED_AVERAGE = MTS_DERIVED_ROUNDED_SUM + 4,
	MTS_DERIVED_NUMBERS = MTS_DERIVED_ROUNDED_AVERAGE + 4,

	/* times of values */
	MTS_DERIVED_MIN_TIME = MTS_DERIVED_NUMBERS,
	MTS_DERIVED_MAX_TIME,
	MTS_DERIVED_FIRST_TIME,
	MTS_DERIVED_LAST_TIME,
	MTS_DERIVATIONS
} MtsDerivation;

/* The values of a column in a bucket; all zero without one */
typedef struct MtsDerived
{
	int64_t n;
	double numbers[MTS_DERIVED_AVERAGE]; /* by derivation, from the sum on */
	double size;                         /* the sum of absolute values */
	bool is_whole;                       /* the sum is exact */
	MtsTime times[MTS_DERIVATIONS - MTS_DERIVED_NUMBERS];
} MtsDerived;

extern void mts_derived_add(MtsDerived *derived, double d, MtsTime time);
extern bool mts_derived_equals(const MtsDerived *derived,
							   MtsDerivation derivation, double d);
extern const char *mts_derived_name(MtsDerivation derivation);

#endif /* MTS_DERIVED_H */
