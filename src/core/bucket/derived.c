/*
 * derived.c
 *		Computes numbers and times that follow from the values of a bucket.
 */
#include "core/bucket/derived.h"

#include <math.h>

#include "core/bson/element.h"

/* Sums of fractions depend on the order of addition, up to this part. */
#define TOLERANCE 1e-9

/* Keep a value, and its time, as one of the numbers. */
static void
keep(MtsDerived *derived, MtsDerivation number, MtsDerivation at, double d,
	 MtsTime time)
{
	derived->numbers[number] = d;
	derived->times[at - MTS_DERIVED_NUMBERS] = time;
}

/*
 * mts_derived_add
 *		Add a value.  Of equal extremes, the first one counts.
 */
void
mts_derived_add(MtsDerived *derived, double d, MtsTime time)
{
	const double *numbers = derived->numbers;
	const MtsTime *times = derived->times;
	bool is_first = derived->n++ == 0;

	if (is_first || d < numbers[MTS_DERIVED_MIN] ||
		(d == numbers[MTS_DERIVED_MIN] && time < times[0]))
		keep(derived, MTS_DERIVED_MIN, MTS_DERIVED_MIN_TIME, d, time);
	if (is_first || d > numbers[MTS_DERIVED_MAX] ||
		(d == numbers[MTS_DERIVED_MAX] && time < times[1]))
		keep(derived, MTS_DERIVED_MAX, MTS_DERIVED_MAX_TIME, d, time);
	if (is_first || time < times[2])
		keep(derived, MTS_DERIVED_FIRST, MTS_DERIVED_FIRST_TIME, d, time);
	if (is_first || time >= times[3])
		keep(derived, MTS_DERIVED_LAST, MTS_DERIVED_LAST_TIME, d, time);
	derived->numbers[MTS_DERIVED_SUM] += d;
	derived->size += fabs(d);
	derived->is_whole = (is_first || derived->is_whole) && d == rint(d) &&
						derived->size < MTS_MAX_EXACT;
}

/*
 * mts_derived_equals
 *		Tell whether a number, or a time, is derived from the values in this
 *		way.  Without a value it may be their number or a sum only.
 */
bool
mts_derived_equals(const MtsDerived *derived, MtsDerivation derivation,
				   double d)
{
	int digits = derivation - MTS_DERIVED_ROUNDED_SUM;
	double tolerance = derived->is_whole ? 0 : TOLERANCE * derived->size;
	double sum = derived->numbers[MTS_DERIVED_SUM];
	double scale;

	if (derivation == MTS_DERIVED_COUNT)
		return d == (double) derived->n;
	if (derived->n == 0)
		return derivation == MTS_DERIVED_SUM && d == 0;
	if (derivation >= MTS_DERIVED_NUMBERS)
		return d == (double) derived->times[derivation - MTS_DERIVED_NUMBERS];
	if (derivation == MTS_DERIVED_SUM)
		return fabs(d - sum) <= tolerance;
	if (derivation < MTS_DERIVED_AVERAGE)
		return d == derived->numbers[derivation];
	if (derivation == MTS_DERIVED_AVERAGE)
		return fabs(d - sum / derived->n) <= TOLERANCE * derived->size;
	if (digits >= 4)
		sum /= derived->n;
	scale = pow(10, digits % 4);
	return fabs(d * scale - rint(d * scale)) <= TOLERANCE * fabs(d * scale) &&
		   fabs(d - sum) <= 0.5 / scale + TOLERANCE * derived->size;
}

/* mts_derived_name: say what is derived. */
const char *
mts_derived_name(MtsDerivation derivation)
{
	static const char *const names[] = {"number",
										"sum",
										"minimum",
										"maximum",
										"first value",
										"last value",
										"average",
										[MTS_DERIVED_MIN_TIME] =
											"time of the minimum",
										"time of the maximum",
										"first time",
										"last time"};

	return derivation < MTS_DERIVED_ROUNDED_SUM ||
				   derivation >= MTS_DERIVED_NUMBERS
			   ? names[derivation]
		   : derivation < MTS_DERIVED_ROUNDED_AVERAGE ? "rounded sum"
													  : "rounded average";
}
