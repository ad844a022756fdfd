/*
 * doubt.c
 *		Remarks on what a declaration assumes, and lists the other ones that
 *		the samples allow.
 *
 * A remark speaks of the whole table, in the words of the documents.  What a
 * single column holds is not judged here, except if it could hold points.
 */
#include "advice/infer/infer_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Keys end within such a part of those of others if both are times. */
#define SAME_REACH 20

/* 1990-01-01 and 2100-01-01, in days since 1899-12-30, as Excel stores them */
#define FIRST_DAY 32874
#define END_DAY 73051

/* Of so many documents one in so many has a rare field. */
#define MIN_COMMON 100
#define RARE 50

/* Append to a text that has room for size bytes, which may cut it. */
static void BSON_GNUC_PRINTF(3, 4)
	add_text(char *text, size_t size, const char *format, ...)
{
	size_t len = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + len, size - len, format, args);
	va_end(args);
}

/* Fields that a remark names, as many as it has room for */
typedef struct Names
{
	char text[512];
	int n;
	const char *separator; /* ", " if it is NULL */
} Names;

#define MAX_NAMES 4

static void BSON_GNUC_PRINTF(2, 3)
	add_name(Names *names, const char *format, ...)
{
	const char *separator = names->separator ? names->separator : ", ";
	char name[120];
	va_list args;

	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	if (names->n++ <= MAX_NAMES)
		add_text(names->text, sizeof(names->text), "%s%s",
				 names->n > 1 ? separator : "",
				 names->n > MAX_NAMES ? "..." : name);
}

/* ---- Alternatives ------------------------------------------------------- */

/* Append several of a unit: "minutes" or "steps of 15 minutes". */
static void
add_units(char *text, size_t size, int unit)
{
	char name[32];

	add_text(text, size, mts_unit_is_single(unit) ? "%ss" : "steps of %s",
			 mts_unit_name(unit, name));
}

/* Append one of a unit: "an hour" or "an interval of 15 minutes". */
static void
add_unit(char *text, size_t size, int unit)
{
	char name[32];

	mts_unit_name(unit, name);
	add_text(text, size, "%s%s",
			 !mts_unit_is_single(unit) ? "an interval of "
			 : name[0] == 'h'          ? "an "
									   : "a ",
			 name);
}

/* Append the slots of some levels that count: "minutes of hours of a day". */
static void
add_levels(char *text, size_t size, const MtsReading *reading, int first,
		   int end)
{
	for (int i = end - 1; i >= first; i--)
	{
		add_units(text, size, reading->slots[i].unit);
		add_text(text, size,
				 mts_unit_is_single(reading->slots[i].unit) ? " of " : " in ");
	}
	add_unit(text, size, mts_candidate_enclosing(reading, first));
	if (reading->slots_are_local)
		add_text(text, size, " by the local clock");
}

/*
 * Describe the slots of a reading: "minutes of an hour", or "minutes of an
 * hour, with names under them".
 */
static void
describe(const MtsReading *reading, char *text, size_t size)
{
	int names = reading->names;

	text[0] = '\0';
	if (names != 1)
		add_levels(text, size, reading, 0,
				   names > 0 ? names - 1 : reading->nslots);
	if (names > 0)
		add_text(text, size, names > 1 ? ", with names under them" : "names");
	if (names > 0 && names < reading->nslots)
	{
		add_text(text, size, ", and under these ");
		add_levels(text, size, reading, names, reading->nslots);
	}
}

/* Add the declaration of another reading, if it holds. */
static void add_alternative(MtsInfer *infer, const MtsReading *reading,
							const char *format, ...) BSON_GNUC_PRINTF(3, 4);

static void
add_alternative(MtsInfer *infer, const MtsReading *reading, const char *format,
				...)
{
	MtsInferred *result = infer->result;
	MtsInferAlternative *alternative;
	MtsInfer other = *infer;
	va_list args;

	other.reading = *reading;
	other.is_declared =
		mts_infer_allocate(infer, infer->survey.nnodes, sizeof(bool));
	other.is_total =
		mts_infer_allocate(infer, infer->survey.nnodes, sizeof(bool));
	other.is_excluded =
		mts_infer_allocate(infer, infer->nsamples, sizeof(bool));
	other.nexcluded = 0;
	other.result = NULL;
	if (reading->ncontainers > 0 && !mts_trial_holds(&other))
		return;
	result->alternatives =
		infer->host->resize(result->alternatives,
							(result->nalternatives + 1) *
								sizeof(*result->alternatives));
	alternative = &result->alternatives[result->nalternatives++];
	va_start(args, format);
	vsnprintf(alternative->condition, MTS_INFER_REMARK, format, args);
	va_end(args);
	alternative->table = mts_infer_allocate(infer, 1, sizeof(MtsInferred));
	other.result = alternative->table;
	other.is_quiet = true;
	strcpy(other.result->group, result->group);
	other.result->value = result->value;
	mts_declare_table(&other);
}

/* Whether a field only repeats the unit in which the bucket's time lies */
static bool
is_derived(const MtsInfer *infer, const MtsTimeField *field,
		   const MtsTimeField *bucket)
{
	const MtsClock *clock = mts_time_field_clock(infer, field);
	bool derived = field->unit < mts_unit_count();

	for (int i = 0; i < infer->nsamples && derived; i++)
		derived =
			bucket->times[i] == MTS_TIME_MIN ||
			field->times[i] == mts_clock_floor(clock, bucket->times[i],
											   mts_unit_span(field->unit));
	return derived;
}

/* The field that is the declared time, or NULL */
static const MtsTimeField *
find_time(const MtsInfer *infer)
{
	const MtsInferred *table = infer->result;

	for (int i = 0; i < table->ncolumns; i++)
		for (int j = 0; j < infer->nfields; j++)
			if (table->columns[i].role == MTS_ROLE_TIME &&
				table->columns[i].node == infer->fields[j].node)
				return &infer->fields[j];
	return NULL;
}

/*
 * Whether a field could be the declared time as well: it begins the buckets'
 * span, its times are as far apart and tell as many documents apart, or as
 * many documents have it.  Numbers are other times only of those that are
 * doubtful.
 */
static bool
is_other_time(const MtsInfer *infer, const MtsTimeField *field)
{
	const MtsTimeField *time = find_time(infer);
	int span = infer->reading.span;

	if (!time || infer->hints->time || field->node == time->node ||
		field->present < time->present)
		return false;
	if (infer->reading.ncontainers == 0)
		return field->present == time->present &&
			   (!mts_time_field_is_number(field->format) ||
				mts_time_field_is_number(time->format) ||
				mts_time_field_is_storing(infer, time));
	if (span == MTS_NO_UNIT)
		span = time->unit;
	return (field->unit <= span ||
			(field->distinct > 1 && field->told >= time->told &&
			 field->nindexes >= time->nindexes &&
			 field->gap >= mts_span_length(mts_unit_span(span), 28))) &&
		   !is_derived(infer, field, time);
}

/* Whether an array's elements count a unit, which only their number shows */
static bool
are_counted(const MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;

	return reading->time_node < 0 && reading->ncontainers > 0 &&
		   infer->survey.nodes[reading->containers[0]].kind ==
			   MTS_NODE_ELEMENTS;
}

/* Whether the slots are the only ones that the samples allow */
static bool
is_forced(const MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;

	return reading->grade == MTS_GRADE_FORCED && reading->names == 0 &&
		   !are_counted(infer) &&
		   strncmp(reading->time_format, "offset:", 7) != 0;
}

/*
 * The declared time by the format with the day before the month, or NULL: it
 * must fit, and its times be closer together than those that do not all begin
 * a month.
 */
static const MtsTimeField *
find_swapped(MtsInfer *infer)
{
	const MtsTimeField *time = find_time(infer), *other;
	const char *month = time ? strstr(time->format, "MM") : NULL;
	char format[MTS_INFER_FORMAT];

	if (!month || strncmp(time->format, "text:YYYY", 9) != 0 ||
		month[-1] == 'M' || strncmp(month + 3, "DD", 2) != 0 ||
		mts_time_field_begins(infer, time, mts_unit_find((MtsSpan){1, 0, 0})))
		return NULL;
	strcpy(format, time->format);
	memcpy(format + (month - time->format), "DD", 2);
	memcpy(format + (month - time->format) + 3, "MM", 2);
	if (!mts_time_field_fits(infer, time->node, format, true))
		return NULL;
	other = mts_time_field_change(infer, time, format);
	return other->gap < time->gap ? other : NULL;
}

/*
 * mts_doubt_list_alternatives
 *		List the other declarations of the samples, by their evidence.
 */
void
mts_doubt_list_alternatives(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	MtsReading other;
	char text[160];

	for (int i = 0; i < infer->nothers; i++)
	{
		const MtsReading *item = &infer->others[i];

		describe(item, text, sizeof(text));
		if (!is_forced(infer) || item->grade == MTS_GRADE_FORCED)
			add_alternative(infer, item, "If the keys of \"%s\" are %s%s",
							mts_remark_label(infer, item->containers[0]), text,
							item->bucket->is_local &&
									!(reading->bucket &&
									  reading->bucket->is_local)
								? " in the session's time zone"
								: "");
	}
	if (infer->details.ncontainers > 0)
		add_alternative(infer, &infer->details,
						"If the elements of \"%s\" are the points",
						mts_remark_label(infer, infer->details.containers[0]));
	for (int i = 0; i < infer->nfields; i++)
	{
		other = *reading;
		other.bucket = &infer->fields[i];
		if (is_other_time(infer, other.bucket))
			add_alternative(infer, &other, "If \"%s\" is the time",
							mts_remark_label(infer, other.bucket->node));
	}
	other = *reading;
	other.bucket = find_swapped(infer);
	if (other.bucket)
		add_alternative(infer, &other, "If \"%s\" is a time of pattern %s",
						mts_remark_label(infer, other.bucket->node),
						other.bucket->format + 5);
	if (reading->ncontainers == 0 || is_forced(infer))
		return;
	other = *reading;
	mts_candidate_set_names(infer, &other, 0);
	other.span = MTS_NO_UNIT;
	other.slots_are_local = false;
	if (reading->names == 0 && reading->nslots == 1 &&
		!reading->is_unpivoted &&
		infer->survey.nodes[reading->containers[0]].kind == MTS_NODE_KEYS)
		add_alternative(infer, &other, "If the keys of \"%s\" are names",
						mts_remark_label(infer, reading->containers[0]));
	other = (MtsReading){.span = MTS_NO_UNIT, .time_node = -1};
	add_alternative(infer, &other, "If each document is a row");
}

/* ---- Remarks on the reading --------------------------------------------- */

/* Whether a text is an offset from UTC, such as +01:00, or a zone's name */
static bool
is_zone(const MtsElement *element)
{
	static const char *const areas[] = {"Africa/", "America/",  "Antarctica/",
										"Asia/",   "Atlantic/", "Australia/",
										"Europe/", "Indian/",   "Pacific/"};
	const char *text;
	size_t len;

	if (element->type != BSON_TYPE_UTF8)
		return true;
	text = mts_element_text(element, &len);
	for (size_t i = 0; i < sizeof(areas) / sizeof(areas[0]); i++)
		if (strncmp(text, areas[i], strlen(areas[i])) == 0)
			return true;
	return (len == 5 || len == 6) && (*text == '+' || *text == '-') &&
		   strspn(text + 1, MTS_DIGITS ":") == len - 1 &&
		   strspn(text + 1, MTS_DIGITS) == (len == 5 ? 4 : 2);
}

/* The field whose times depend on a zone that they do not name, or -1 */
static int
find_zoneless(const MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	bool owns_time = reading->time_node >= 0 || reading->has_time_keys;

	for (int i = 0; i < infer->result->ncolumns; i++)
	{
		const MtsInferColumn *column = &infer->result->columns[i];

		if (column->role == MTS_ROLE_TIME && column->node > 0 &&
			!mts_time_field_has_zone(column->format))
			return column->node;
	}
	if (reading->bucket && !owns_time && reading->span != MTS_NO_UNIT &&
		mts_unit_span(reading->span).usecs == 0)
		return reading->bucket->node;
	return -1;
}

/* Remark on times that are stored in several types. */
static void
remark_mixed(MtsInfer *infer)
{
	const MtsTimeField *bucket = infer->reading.bucket;
	const MtsTimeField *time = bucket ? bucket : find_time(infer);

	if (time && strstr(time->format, " or "))
		mts_remark(
			infer,
			"the times in \"%s\" have several types\nThey are read as %s, and MongoDB does not sort them by time.",
			mts_remark_label(infer, time->node), time->format);
}

/* Remark on fields that have the zone of local times. */
static void
remark_zone(MtsInfer *infer)
{
	int node = find_zoneless(infer);
	Names names = {""};
	MtsLeaves leaves;

	if (node < 0)
		return;
	mts_column_leaves(infer, 0, &leaves);
	for (int i = 0; i < leaves.n; i++)
		if (infer->survey.nodes[leaves.nodes[i]].nslots == 0 &&
			mts_column_has_only(infer, leaves.nodes[i],
								MTS_TYPE_BIT(BSON_TYPE_UTF8)) &&
			mts_survey_all(&infer->survey, leaves.nodes[i], is_zone))
			add_name(&names, "\"%s\"",
					 mts_remark_label(infer, leaves.nodes[i]));
	if (names.n > 0)
		mts_remark(
			infer,
			"the times in \"%s\" are taken as those of one zone\nThe zones in %s are not applied. If all documents have the same one, declare it with options bucket_time_zone and slot_clock 'local'.",
			mts_remark_label(infer, node), names.text);
}

/* Remark on dates that could also have the day before the month. */
static void
remark_swapped(MtsInfer *infer)
{
	const MtsTimeField *other = find_swapped(infer);

	if (other)
		mts_remark(
			infer,
			"\"%s\" is taken as a time of pattern %s\nThe pattern could also be %s, as no day after the 12th was sampled.",
			mts_remark_label(infer, other->node), find_time(infer)->format + 5,
			other->format + 5);
}

/* The alternative that the samples show as well as the reading, or NULL */
static const MtsReading *
find_equal(const MtsInfer *infer)
{
	for (int i = 0; i < infer->nothers; i++)
		if (infer->others[i].grade == MTS_GRADE_FORCED)
			return &infer->others[i];
	return NULL;
}

/* Say what a level of slots lacks to be forced; false if nothing. */
static bool
explain_level(const MtsInfer *infer, int level, char *text, size_t size)
{
	const MtsReading *reading = &infer->reading;
	const MtsInferSlot *slot = &reading->slots[level];
	int outer = mts_candidate_enclosing(reading, level);
	int node = mts_survey_slot(&infer->survey, reading->containers[0], level);

	if (slot->unit == MTS_NO_UNIT || slot->grade == MTS_GRADE_FORCED)
		return false;
	if (!mts_unit_is_single(slot->unit))
		add_text(text, size, "Only their number shows it.");
	else if (slot->keys < mts_unit_capacity(outer, slot->unit, false))
	{
		add_text(text, size, "Only %lld ", (long long) slot->keys);
		if (mts_unit_span(outer).months == 0)
			add_text(text, size, "of the %lld ",
					 (long long) mts_unit_capacity(outer, slot->unit, false));
		add_units(text, size, slot->unit);
		add_text(text, size, " occur in the sampled documents.");
	}
	else
		add_text(text, size, "Keys such as \"%.60s\" could also be names.",
				 infer->survey.nodes[node].name);
	return true;
}

/* Say why the span of the reading's buckets is not certain. */
static void
explain_span(MtsInfer *infer, char *text, size_t size)
{
	const MtsReading *reading = &infer->reading;
	const char *label = mts_remark_label(infer, reading->bucket->node);
	char name[32];

	if (reading->bucket->is_local)
		add_text(text, size,
				 "Few days in \"%s\" begin in the session's time zone", label);
	else if (!mts_unit_is_single(reading->span))
		add_text(
			text, size,
			"Only the distances of the times in \"%s\" show that a document has %s",
			label, mts_unit_name(reading->span, name));
	else
		add_text(text, size, "The times in \"%s\" do not begin at full %ss",
				 label, mts_unit_name(reading->span, name));
}

/* Say why the slots of the reading are not certain. */
static void
explain_slots(MtsInfer *infer, char *text, size_t size)
{
	const MtsReading *reading = &infer->reading;
	const MtsReading *equal = find_equal(infer);

	text[0] = '\0';
	if (are_counted(infer))
		add_text(text, size, "Only their number shows it.");
	for (int i = 0; i < reading->nslots && !text[0]; i++)
		(void) explain_level(infer, i, text, size);
	if (text[0])
		return;
	if (equal)
	{
		add_text(text, size, "They could also be ");
		describe(equal, text + strlen(text), size - strlen(text));
	}
	else
		explain_span(infer, text, size);
	add_text(text, size, ".");
}

/* Remark on keys that are names, perhaps under or over slots that count. */
static void
remark_names(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	int first = reading->containers[0], names = reading->names;
	char under[48] = "", over[96] = "", name[MTS_INFER_NAME];

	if (names > 1)
	{
		add_text(under, sizeof(under), "under the ");
		add_units(under, sizeof(under), reading->slots[names - 2].unit);
		add_text(under, sizeof(under), " ");
	}
	if (names < reading->nslots)
	{
		add_text(over, sizeof(over), ", and those under them as ");
		add_levels(over, sizeof(over), reading, names, reading->nslots);
	}
	mts_remark(
		infer,
		"the keys %sof \"%s\" are taken as names, in column \"%s\"%s\nNothing shows that they count a unit of time.",
		under, mts_remark_label(infer, first),
		mts_column_key_name(infer, first, name), over);
}

/* Remark on slots that are not forced, or not the only ones that are. */
static void
remark_slots(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	char text[160], reason[240];

	if (is_forced(infer) && !find_equal(infer))
		return;
	if (reading->names > 0)
	{
		remark_names(infer);
		return;
	}
	describe(reading, text, sizeof(text));
	explain_slots(infer, reason, sizeof(reason));
	mts_remark(infer, "the %s of \"%s\" are taken as %s\n%s",
			   are_counted(infer) ? "elements" : "keys",
			   mts_remark_label(infer, reading->containers[0]), text, reason);
}

/* Remark on keys that are times only because others are. */
static void
remark_siblings(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	const MtsNode *nodes = infer->survey.nodes;
	int first = reading->containers[0];
	Names names = {""};

	for (int i = 1; i < reading->ncontainers; i++)
		if (nodes[reading->containers[i]].greatest * SAME_REACH <
			nodes[first].greatest * (SAME_REACH - 1))
			add_name(&names, "\"%s\"",
					 mts_remark_label(infer, reading->containers[i]));
	if (names.n > 0)
		mts_remark(
			infer,
			"the keys of %s are taken as times like those of \"%s\"\nBy themselves they could be names.",
			names.text, mts_remark_label(infer, first));
}

/* Remark on other fields that could be the time. */
static void
remark_others(MtsInfer *infer)
{
	const MtsTimeField *time = find_time(infer);
	Names names = {.separator = " or "};

	for (int i = 0; i < infer->nfields; i++)
		if (is_other_time(infer, &infer->fields[i]))
			add_name(&names, "\"%s\"",
					 mts_remark_label(infer, infer->fields[i].node));
	if (names.n > 0)
		mts_remark(infer, "\"%s\" is taken as the time\nIt could also be %s.",
				   mts_remark_label(infer, time->node), names.text);
	if (time && infer->reading.ncontainers == 0 && !infer->hints->time &&
		mts_time_field_is_number(time->format))
		mts_remark(infer,
				   "the numbers in \"%s\" are taken as times of format %s",
				   mts_remark_label(infer, time->node), time->format);
}

static bool
is_hour(const MtsElement *element)
{
	double hour;

	return mts_element_amount(element, &hour) && hour >= 0 && hour < 24 &&
		   hour == (int) hour;
}

/* Remark on a field that could have the hour of days. */
static void
remark_hours(MtsInfer *infer)
{
	static const MtsSpan day = {.days = 1};
	const MtsNode *nodes = infer->survey.nodes;
	const MtsTimeField *time = find_time(infer);

	if (!time || !mts_time_field_begins(infer, time, mts_unit_find(day)))
		return;
	for (int i = 0; i < infer->result->ncolumns; i++)
	{
		int node = infer->result->columns[i].node;

		if (node > 0 && nodes[node].kind == MTS_NODE_NAME &&
			bson_strcasecmp(nodes[node].name, "hour") == 0 &&
			mts_survey_all(&infer->survey, node, is_hour))
			mts_remark(
				infer,
				"\"%s\" could be the hour of the times in \"%s\"\nA table has the time from one field. If that is the day, add the hour in a view.",
				mts_remark_label(infer, node),
				mts_remark_label(infer, time->node));
	}
}

/* Remark on what the buckets of the reading assume. */
static void
remark_buckets(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	const MtsTimeField *bucket = reading->bucket;
	int first = reading->containers[0];
	char name[MTS_INFER_NAME];

	if (strncmp(reading->time_format, "offset:", 7) == 0)
		mts_remark(
			infer,
			"\"%s\" is taken as the time of points\nIt counts %ss from \"%s\" on.",
			mts_remark_label(infer, reading->time_node),
			reading->time_format + 7, mts_remark_label(infer, bucket->node));
	else if (strncmp(reading->time_format, "time:", 5) == 0)
		mts_remark(
			infer,
			"\"%s\" is taken as the time of points\nIt is a time of the day in \"%s\".",
			mts_remark_label(infer, reading->time_node),
			mts_remark_label(infer, bucket->node));
	else if (reading->time_node < 0 && !reading->has_time_keys)
	{
		remark_slots(infer);
		remark_siblings(infer);
		remark_others(infer);
	}
	else if (!bucket && reading->has_time_keys)
		mts_remark(
			infer,
			"the keys of \"%s\" are taken as times of format %s\nNo field has the time of a document, so a range of time reads all documents.",
			mts_remark_label(infer, first), reading->slots[0].text);
	else if (infer->result->first[0] || infer->result->last[0])
		; /* the bounds of documents confirm the times */
	else if (!bucket && mts_time_field_is_number(reading->time_format))
		mts_remark(
			infer,
			"the numbers in \"%s\" are taken as times of format %s\nNo other field confirms it.",
			mts_remark_label(infer, reading->time_node), reading->time_format);
	else if (!bucket && infer->nfields > 0)
		mts_remark(
			infer,
			"\"%s\" is taken as the time\nNo field of the document bounds the times of its points, so a query for a range of time reads all documents.",
			mts_remark_label(infer, reading->time_node));
	if (bucket && bucket->has_daily_phase)
		mts_remark(
			infer,
			"the days in \"%s\" do not begin at midnight in UTC or in the session's time zone\nIf they do in another zone, set TimeZone to it and import again.",
			mts_remark_label(infer, bucket->node));
	if (infer->nexcluded > 0)
		mts_remark(
			infer,
			"documents without \"%s\" are left out by option \"filter\"\nThey are %d of the %d sampled documents.",
			mts_remark_label(infer, bucket->node), infer->nexcluded,
			infer->nsamples);
	if (reading->is_unpivoted)
		mts_remark(
			infer,
			"each field of the points of \"%s\" is a row, with its name in column \"%s\"\nSome points lack some of these fields.",
			mts_remark_label(infer, first),
			mts_column_key_name(infer, first, name));
}

/* ---- Remarks on fields -------------------------------------------------- */

/* Whether a text has digits as dates and times have them */
static bool
is_like_text(const MtsElement *element)
{
	size_t len, digits = 0;
	const char *text = mts_element_text(element, &len);

	for (size_t i = 0; i < len; i++)
		digits += text[i] >= '0' && text[i] <= '9';
	return digits >= 6 && len < 40 && digits < len &&
		   strspn(text, MTS_DIGITS "-/.:+ TZ") == len;
}

/*
 * Whether a value could be a time of an unknown format: text with digits, days
 * since 1900, one of several epochs, or an array that begins with a time or
 * with a year and a month
 */
static bool
is_like_time(const MtsElement *element)
{
	MtsElementCursor cursor;
	MtsElement first, second;
	char format[MTS_INFER_FORMAT];
	double year, month;

	if (MTS_TYPE_BIT(element->type) &
		(MTS_NULL_TYPES | MTS_TYPE_BIT(BSON_TYPE_DATE_TIME)))
		return true;
	if (element->type == BSON_TYPE_UTF8)
		return is_like_text(element);
	if (element->type != BSON_TYPE_ARRAY)
		return mts_element_number(element, &year) &&
			   ((year >= FIRST_DAY && year < END_DAY) ||
				mts_time_field_epoch(year, year, format));
	if (!mts_element_open(&cursor, element->value, element->size) ||
		mts_element_next(&cursor, &first) != MTS_NEXT_OK ||
		first.type == BSON_TYPE_ARRAY)
		return false;
	return is_like_time(&first) ||
		   (mts_element_number(&first, &year) && year >= 1990 && year < 2100 &&
			mts_element_next(&cursor, &second) == MTS_NEXT_OK &&
			mts_element_number(&second, &month) && month >= 1 && month <= 12);
}

/* Whether a column could hold points, whose times were not found */
static bool
may_hold_points(const MtsInfer *infer, const MtsInferColumn *column)
{
	const MtsSurvey *survey = &infer->survey;
	int element = mts_survey_child(survey, column->node, MTS_NODE_ELEMENTS);
	int inner = element < 0
					? -1
					: mts_survey_child(survey, element, MTS_NODE_ELEMENTS);

	if (survey->nodes[column->node].nslots > 0)
		return false;
	/* arrays of arrays; shorter ones are lists of coordinates */
	if (inner >= 0 && survey->nodes[inner].greatest + 1 >= MTS_MIN_ARRAY)
		element = inner;
	if (column->is_array || (inner >= 0 && element == inner))
		return infer->nfields > 0 &&
			   survey->nodes[element].greatest + 1 >= MTS_MIN_ARRAY &&
			   mts_column_has_only(infer, element, MTS_NUMBER_TYPES);
	return column->type == MTS_INFER_JSON &&
		   (mts_survey_child(survey, column->node, MTS_NODE_KEYS) >= 0 ||
			survey->nodes[column->node].has_odd_keys ||
			survey->nodes[column->node].holds_tuples ||
			survey->nodes[column->node].is_truncated ||
			(element >= 0 && mts_column_is_record(infer, element)));
}

/* Remark on fields that are data, though they look like points or times. */
static void
remark_data(MtsInfer *infer)
{
	Names points = {""}, times = {""};
	bool has_time = false;
	int details =
		infer->details.ncontainers == 0
			? -1
			: infer->survey.nodes[infer->details.containers[0]].parent;

	for (int i = 0; i < infer->result->ncolumns; i++)
		has_time |= infer->result->columns[i].role == MTS_ROLE_TIME;
	for (int i = 0; i < infer->result->ncolumns; i++)
	{
		const MtsInferColumn *column = &infer->result->columns[i];

		if (column->node <= 0 || column->role == MTS_ROLE_TIME)
			continue;
		if (may_hold_points(infer, column) && column->node != details)
			add_name(&points, "\"%s\"", mts_remark_label(infer, column->node));
		if (!has_time &&
			(infer->survey.nodes[column->node].types & ~MTS_NULL_TYPES) &&
			mts_survey_all(&infer->survey, column->node, is_like_time))
			add_name(&times, "\"%s\"", mts_remark_label(infer, column->node));
	}
	if (times.n > 0)
		mts_remark(
			infer,
			"the table has no time\n%s could have it, but not in a known format.",
			times.text);
	if (details >= 0)
		mts_remark(
			infer,
			"\"%s\" is taken as data\nIts few elements have times, but each document has other measured values.",
			mts_remark_label(infer, details));
	if (points.n > 0)
		mts_remark(
			infer,
			"%s %s taken as data\nNothing shows a time for each of %s values.",
			points.text, points.n > 1 ? "are" : "is",
			points.n > 1 ? "their" : "its");
}

/* Remark on a word among numbers, or null, that is taken as no reading. */
static void
remark_missing(MtsInfer *infer)
{
	Names words = {""}, nulls = {""};

	for (int i = 0; i < infer->result->ncolumns; i++)
	{
		const MtsInferColumn *column = &infer->result->columns[i];

		if (strcmp(column->missing, "null") == 0)
			add_name(&nulls, "\"%s\"", mts_remark_label(infer, column->node));
		else if (column->missing[0])
			add_name(&words, "points of \"%s\" that are \"%s\"",
					 mts_remark_label(infer, column->node), column->missing);
	}
	if (words.n > 0)
		mts_remark(infer, "%s are not rows\nAll other values are numbers.",
				   words.text);
	if (nulls.n > 0)
		mts_remark(
			infer,
			"points of %s that are null are not rows\n\"%s\" does not count them.",
			nulls.text, infer->result->count);
}

/* How many samples have a value at a node */
static int
count_samples(const MtsInfer *infer, int node)
{
	MtsElement element;
	int n = 0;

	for (int i = 0; i < infer->nsamples; i++)
		n += mts_survey_find(&infer->survey, i, node, &element);
	return n;
}

/* Remark on rare fields, as other ones may not have been sampled. */
static void
remark_rare(MtsInfer *infer)
{
	Names names = {""};

	if (infer->hints->are_all || infer->nsamples < MIN_COMMON)
		return;
	for (int i = 0; i < infer->result->ncolumns; i++)
	{
		int node = infer->result->columns[i].node;
		int n = node > 0 ? count_samples(infer, node) : infer->nsamples;

		if (RARE * n < infer->nsamples)
			add_name(&names, "\"%s\" (%d of %d)",
					 mts_remark_label(infer, node), n, infer->nsamples);
	}
	if (names.n > 0)
		mts_remark(
			infer,
			"few of the sampled documents have %s\nOther fields may not have been sampled at all.",
			names.text);
}

/* Whether a field beside slots is in no container, so that it has no column */
static bool
has_fields_beside(const MtsInfer *infer, int container)
{
	const MtsNode *nodes = infer->survey.nodes;

	for (int at = container; nodes[nodes[at].parent].nslots > 0;
		 at = nodes[at].parent)
		for (int child = nodes[nodes[at].parent].child; child >= 0;
			 child = nodes[child].next)
			if (child != at && nodes[child].kind == MTS_NODE_NAME &&
				!infer->is_declared[child])
				return true;
	return false;
}

/* Remark on fields that no column shows. */
static void
remark_lost(MtsInfer *infer)
{
	const MtsReading *reading = &infer->reading;
	const MtsNode *root = &infer->survey.nodes[0];
	int keys = mts_survey_child(&infer->survey, 0, MTS_NODE_KEYS);
	bool are_lost =
		infer->nlost > 0 || root->has_odd_keys || root->is_truncated ||
		(keys >= 0 && (reading->ncontainers == 0 ||
					   !mts_survey_is_within(&infer->survey,
											 reading->containers[0], keys)));

	for (int i = 0; i < reading->ncontainers; i++)
		are_lost |= has_fields_beside(infer, reading->containers[i]);
	if (are_lost)
		mts_remark(
			infer,
			"some fields have no column\nThey are beside the points, or too many, or no path can name them.");
}

/* Remark on a key that another field could replace. */
static void
remark_key(MtsInfer *infer)
{
	if (infer->rival < 0)
		return;
	mts_remark(
		infer,
		"\"%s\" is taken as the key of a series, and \"%s\" as an attribute\nThe sampled documents do not show which of them is the key.",
		mts_remark_label(infer, infer->key),
		mts_remark_label(infer, infer->rival));
}

/*
 * mts_doubt
 *		Remark on what the declared table assumes, the most important first.
 */
void
mts_doubt(MtsInfer *infer)
{
	if (infer->nsamples == 0)
		mts_remark(infer, "there are no documents to infer columns from");
	if (infer->nsamples == 0)
		return;
	if (infer->reading.ncontainers > 0)
		remark_buckets(infer);
	else
		remark_others(infer);
	remark_hours(infer);
	remark_swapped(infer);
	remark_zone(infer);
	remark_mixed(infer);
	remark_data(infer);
	remark_missing(infer);
	if (infer->result->truncates)
		mts_remark(
			infer,
			"times are rounded down to microseconds\nSome sampled ones are finer.");
	remark_key(infer);
	remark_lost(infer);
	remark_rare(infer);
}
