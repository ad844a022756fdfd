/*
 * convert_time.c
 *		Times as dates and timestamps, with and without a zone.
 */
#include "convert_text.h"

#include "catalog/pg_type.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "error.h"

/*
 * mts_convert_time
 *		An instant as a value of a time column.
 */
bool
mts_convert_time(const MtsConverter *converter, MtsTime t, Datum *value,
				 MtsError *error)
{
	const MtsClock *clock = &converter->table->layout.clock;
	Oid typid = converter->attribute->typid;
	int32 typmod = converter->attribute->typmod;
	Timestamp rounded;

	if (typid != TIMESTAMPTZOID && clock->to_local)
		t = clock->to_local(clock->arg, t);
	if (typid == DATEOID)
	{
		if (t % USECS_PER_DAY != 0)
			return mts_error_refuse(
				error,
				"The time is not midnight, and type date would lose it.",
				NULL);
		*value = DateADTGetDatum((DateADT) (t / USECS_PER_DAY));
		return true;
	}
	rounded = t;
	if (typmod >= 0)
		rounded = DatumGetTimestamp(
			DirectFunctionCall2(timestamp_scale, TimestampGetDatum(t),
								Int32GetDatum(typmod)));
	if (rounded != t)
		return mts_error_refuse(
			error, "The time is finer than the column's precision.", NULL);
	*value = TimestampGetDatum(t);
	return true;
}

/* Does a time's text name its zone after the hour: Z, CET, +02? */
static bool
names_zone(const char *text)
{
	text = strchr(text, ':');
	for (; text && *text; text++)
		if (*text == '+' || *text == '-' || isalpha((unsigned char) *text))
			return true;
	return false;
}

/*
 * A time as text.  With a zone it is an instant; without one it is what a
 * column without a zone shows, or, as ever, in the session's zone.
 */
static bool
text_to_time(MtsConverter *converter, const MtsElement *element, Datum *value,
			 MtsError *error)
{
	const MtsClock *clock = &converter->table->layout.clock;
	bool is_zoned = converter->attribute->typid == TIMESTAMPTZOID;
	char *text = mts_convert_value_text(element);
	MtsTime t;

	if (!text)
		return mts_convert_refuse_value(converter, element, error);
	is_zoned = is_zoned || names_zone(text);
	if (!mts_convert_input(converter,
						   is_zoned ? &converter->instant_input
									: &converter->local_input,
						   text, -1, value, error))
		return false;
	t = DatumGetTimestamp(*value);
	if (TIMESTAMP_NOT_FINITE(t))
		return mts_convert_by_text(converter, element, value, error);
	if (!is_zoned && clock->to_instant)
		t = clock->to_instant(clock->arg, t);
	return mts_convert_time(converter, t, value, error);
}

/*
 * mts_convert_to_time
 *		A value as a column that is a time: by its format, or from text.
 */
bool
mts_convert_to_time(MtsConverter *converter, const MtsElement *element,
					Datum *value, MtsError *error)
{
	const MtsColumn *column = converter->column;
	const MtsLayout *layout = &converter->table->layout;
	MtsTime t;

	if (element->type == BSON_TYPE_UTF8 && !converter->is_key &&
		column->format.kind == MTS_FORMAT_DATE)
		return text_to_time(converter, element, value, error);
	return mts_format_decode(&column->format, &layout->clock, element, 0,
							 layout->truncate, &t, error) == MTS_DECODED &&
		   mts_convert_time(converter, t, value, error);
}
