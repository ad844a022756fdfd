/*
 * span.h
 *		Lengths of time in months, days or microseconds, as in an interval.
 */
#ifndef MTS_SPAN_H
#define MTS_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MTS_SECOND INT64_C(1000000)
#define MTS_MINUTE (60 * MTS_SECOND)
#define MTS_HOUR (60 * MTS_MINUTE)
#define MTS_DAY (24 * MTS_HOUR)

/* At most one of the three is not zero. */
typedef struct MtsSpan
{
	int32_t months;
	int32_t days;
	int64_t usecs;
} MtsSpan;

extern bool mts_span_parse(const char *text, size_t len, MtsSpan *span);
extern bool mts_span_parse_count(const char *text, size_t len, MtsSpan *unit,
								 int64_t *base);
extern MtsSpan mts_span_enclosing(MtsSpan unit);

extern int64_t mts_span_length(MtsSpan span, int days_per_month);
extern int64_t mts_span_common_divisor(int64_t a, int64_t b);

/* Tell whether the length of a span depends on the calendar. */
static inline bool
mts_span_is_calendar(MtsSpan span)
{
	return span.months != 0 || span.days != 0;
}

static inline bool
mts_span_is_zero(MtsSpan span)
{
	return !mts_span_is_calendar(span) && span.usecs == 0;
}

#endif /* MTS_SPAN_H */
