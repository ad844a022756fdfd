/*
 * format.h
 *		The formats in which fields store times.
 */
#ifndef MTS_FORMAT_H
#define MTS_FORMAT_H

#include "core/bson/element.h"
#include "core/error.h"
#include "core/time/range.h"

/* Room for the text of a time, its NUL included */
#define MTS_MAX_TIME_TEXT 128

typedef enum MtsFormatKind
{
	MTS_FORMAT_DATE,
	MTS_FORMAT_EPOCH,
	MTS_FORMAT_EPOCH_MS,
	MTS_FORMAT_EPOCH_US,
	MTS_FORMAT_EPOCH_NS,
	MTS_FORMAT_TICKS,     /* 100 nanoseconds since year 1, as .NET counts */
	MTS_FORMAT_TEXT,      /* a to_char pattern */
	MTS_FORMAT_ISO8601,   /* text with an offset from UTC */
	MTS_FORMAT_OFFSET,    /* units since the bucket's time */
	MTS_FORMAT_OF_DAY,    /* a to_char pattern of a time of the bucket's day */
	MTS_FORMAT_OID,       /* the seconds inside an ObjectId */
	MTS_FORMAT_TIMESTAMP, /* the seconds inside a BSON timestamp */
	MTS_FORMAT_MIXED      /* one of several formats, by the BSON type */
} MtsFormatKind;

/* The classes of BSON types that MTS_FORMAT_MIXED tells apart */
#define MTS_FORMAT_MEMBERS 5

typedef struct MtsFormat
{
	MtsFormatKind kind;
	const char *pattern; /* of TEXT and OF_DAY */
	bool is_number;      /* of TEXT: the text is the digits of a number */
	bson_type_t type;    /* of a number: long or double; EOD if it is an int or
						  * a long, by the format and the value */
	int64_t scale;       /* of a number: the microseconds in its unit, or 0 */
	int64_t fineness;    /* if that is finer: how many are a microsecond */
	MtsTime origin;      /* and the instant from which they count */
	int ndigits;         /* of an epoch that is text: its length; else 0 */
	MtsSpan unit;        /* of OFFSET; of others, to what an encoded time is
						  * rounded, zero if it is not or that is not known */
	int64_t base;        /* of OFFSET: the number that stands for no offset */
	bool sorted;         /* of TEXT: the text sorts as time */
	int nmembers;        /* of MIXED: the formats, by their numbers */
	uint8_t members[MTS_FORMAT_MEMBERS]; /* the first one is written */
} MtsFormat;

typedef enum MtsDecoded
{
	MTS_DECODED,
	MTS_DECODED_NULL,
	MTS_DECODED_INVALID
} MtsDecoded;

extern bool mts_format_parse(const char *text, MtsFormat *format,
							 MtsError *error);
extern bool mts_format_check(const MtsFormat *format, const MtsClock *clock,
							 MtsError *error);
extern MtsDecoded mts_format_decode(const MtsFormat *format,
									const MtsClock *clock,
									const MtsElement *element,
									MtsTime base_time, bool truncate,
									MtsTime *t, MtsError *error);
extern bool mts_format_is_key(const char *text, MtsFormat *format);
extern bool mts_format_decode_key(const MtsFormat *format,
								  const MtsClock *clock, const char *key,
								  size_t len, MtsTime *t, MtsError *error);
extern bool mts_format_encode_key(const MtsFormat *format,
								  const MtsClock *clock, MtsTime t, char *key,
								  MtsTime *stored, MtsError *error);
extern MtsSpan mts_format_key_unit(const MtsFormat *format);
extern bool mts_format_date(int64_t ms, MtsTime *t);
extern bool mts_format_encode(const MtsFormat *format, const MtsClock *clock,
							  MtsTime t, MtsTime base_time,
							  bson_value_t *value, char *text, MtsTime *stored,
							  MtsError *error);
extern void mts_format_bounds(const MtsFormat *format, const MtsClock *clock,
							  MtsRange range, bson_t *ops);
extern bson_type_t mts_format_type(const MtsFormat *format);
extern bool mts_format_enumerate(const MtsFormat *format,
								 const MtsClock *clock, MtsRange range,
								 int limit, bson_t *ops);

/* Tell whether a stored value is a time only with that of its bucket. */
static inline bool
mts_format_is_relative(const MtsFormat *format)
{
	return format->kind == MTS_FORMAT_OFFSET ||
		   format->kind == MTS_FORMAT_OF_DAY;
}

/* Tell whether only one stored value stands for a time. */
static inline bool
mts_format_is_unique(const MtsFormat *format)
{
	return format->kind != MTS_FORMAT_ISO8601 &&
		   format->kind != MTS_FORMAT_MIXED;
}

/*
 * Tell whether the stored values sort as times, those of local times except
 * where clocks are set back.
 */
static inline bool
mts_format_is_sorted(const MtsFormat *format)
{
	return format->kind == MTS_FORMAT_TEXT ? format->sorted
										   : !mts_format_is_relative(format) &&
												 mts_format_is_unique(format);
}

static inline bool
mts_format_is_writable(const MtsFormat *format)
{
	return format->kind != MTS_FORMAT_OID &&
		   format->kind != MTS_FORMAT_TIMESTAMP;
}

#endif /* MTS_FORMAT_H */
