/*
 * rolling_name.c
 *		Compute the name of the collection that holds a time, and the times
 *		that a named collection holds.
 *
 * Each name belongs to one period and each period has one name, so a range of
 * times decides which collections a scan reads.  An hour that occurs twice
 * when clocks are set back is one period.
 */
#include "core/layout/rolling_name.h"

#include <stdio.h>
#include <string.h>

#define NFIELDS 4

static const struct
{
	char letter;
	int digits;
	MtsSpan span;
} fields[NFIELDS] = {
	{'Y', 4, {12, 0, 0}},
	{'m', 2, {1, 0, 0}},
	{'d', 2, {0, 1, 0}},
	{'H', 2, {0, 0, MTS_HOUR}},
};

/* A piece of a pattern: a placeholder or a character */
typedef struct Piece
{
	int field; /* of the placeholder; -1 for a character */
	char character;
} Piece;

/* Read the next piece; false at the end and before an invalid placeholder. */
static bool
next_piece(const char **pattern, Piece *piece)
{
	const char *at = *pattern;

	piece->field = -1;
	piece->character = *at;
	if (*at == '\0')
		return false;
	if (*at++ == '%')
	{
		for (int i = 0; i < NFIELDS; i++)
			if (*at == fields[i].letter)
				piece->field = i;
		if (piece->field < 0 && *at != '%')
			return false;
		at++;
	}
	*pattern = at;
	return true;
}

/*
 * Set nfields.  False if a field is repeated, or appears without every coarser
 * field.
 */
static bool
check_fields(const int *counts, MtsRollingName *rolling, MtsError *error)
{
	for (int i = 0; i < NFIELDS; i++)
	{
		if (counts[i] > 1)
			return mts_error_set(error, NULL,
								 "The value has %%%c more than once.",
								 fields[i].letter);
		if (counts[i] == 0)
			continue;
		if (rolling->nfields < i)
			return mts_error_set(
				error,
				"A pattern has %Y; or %Y and %m; or %Y, %m and "
				"%d; or %Y, %m, %d and %H.",
				"The value has %%%c, but not %%%c.", fields[i].letter,
				fields[rolling->nfields].letter);
		rolling->nfields++;
	}
	return true;
}

/*
 * mts_rolling_name_parse
 *		Parse the pattern of rolling names; false with the reason in *error.
 *
 * A pattern without a placeholder is the name of a single collection.
 */
bool
mts_rolling_name_parse(const char *pattern, MtsRollingName *rolling,
					   MtsError *error)
{
	int counts[NFIELDS] = {0};
	const char *at = pattern;
	Piece piece;

	*rolling = (MtsRollingName){pattern, 0};
	while (next_piece(&at, &piece))
		if (piece.field >= 0)
			counts[piece.field]++;
	if (*at != '\0')
		/* only ASCII: another character would be cut after its first byte */
		return mts_error_set(
			error,
			"Placeholders are %Y, %m, %d and %H; write %% for a percent sign.",
			at[1] > ' ' && at[1] < 127
				? "\"%%%c\" is not a placeholder."
				: "A percent sign is not followed by a placeholder.",
			at[1]);
	return check_fields(counts, rolling, error);
}

/*
 * mts_rolling_name_size
 *		The bytes that a name requires, NUL included; a regex requires four
 *		times as many.
 */
size_t
mts_rolling_name_size(const MtsRollingName *rolling)
{
	return strlen(rolling->pattern) + fields[0].digits + 1;
}

/*
 * mts_rolling_name_format
 *		Write the name of the collection that holds the buckets of time t.
 *
 * name has mts_rolling_name_size bytes.  False if the year does not have four
 * digits.  Without placeholders the time is not used.
 */
bool
mts_rolling_name_format(const MtsRollingName *rolling, const MtsClock *clock,
						MtsTime t, char *name)
{
	MtsTime local = rolling->nfields > 0 ? mts_clock_local(clock, t) : 0;
	const char *at = rolling->pattern;
	int64_t year;
	int month, day, hour;
	MtsTime midnight = 0;
	Piece piece;

	mts_clock_date(local, &year, &month, &day);
	if (local < MTS_FIRST_YEAR || local >= MTS_END_YEAR ||
		!mts_clock_midnight(year, month, day, &midnight))
		return false;
	hour = (int) ((local - midnight) / MTS_HOUR);
	while (next_piece(&at, &piece))
	{
		int values[NFIELDS] = {(int) year, month, day, hour};

		if (piece.field < 0)
			*name++ = piece.character;
		else
			name += sprintf(name, "%0*d", fields[piece.field].digits,
							values[piece.field]);
	}
	*name = '\0';
	return true;
}

/* Read the digits of a field; false if one is missing. */
static bool
read_digits(const char **name, int digits, int *value)
{
	*value = 0;
	for (int i = 0; i < digits; i++, (*name)++)
	{
		if (**name < '0' || **name > '9')
			return false;
		*value = *value * 10 + (**name - '0');
	}
	return true;
}

/*
 * Find bounds of the instants that have a local time.  The offsets a day
 * before and after it count, too, since clocks may change in between.
 */
static MtsRange
bound_instants(const MtsClock *clock, MtsTime local)
{
	MtsTime instant = mts_clock_instant(clock, local);
	MtsRange bounds = {instant, instant};

	for (int i = -1; i <= 1; i++)
	{
		MtsTime t = instant + i * MTS_ZONE_SLACK;
		MtsTime by_offset = local - (mts_clock_local(clock, t) - t);

		if (by_offset < bounds.from)
			bounds.from = by_offset;
		if (by_offset > bounds.to)
			bounds.to = by_offset;
	}
	return bounds;
}

/*
 * mts_rolling_name_period
 *		The times of the collection with a name, the inverse of
 *		mts_rolling_name_format.
 *
 * False if the pattern has no placeholder or does not match the name.
 */
bool
mts_rolling_name_period(const MtsRollingName *rolling, const MtsClock *clock,
						const char *name, MtsPeriod *period)
{
	int values[NFIELDS] = {0, 1, 1, 0};
	const char *at = rolling->pattern;
	MtsRange *local = &period->local;
	Piece piece;

	while (next_piece(&at, &piece))
		if (piece.field >= 0 ? !read_digits(&name, fields[piece.field].digits,
											&values[piece.field])
							 : *name++ != piece.character)
			return false;
	if (*name != '\0' || rolling->nfields == 0 || values[3] > 23 ||
		!mts_clock_midnight(values[0], values[1], values[2], &local->from) ||
		local->from < MTS_FIRST_YEAR)
		return false;
	local->from += values[3] * MTS_HOUR;
	if (!mts_clock_step(NULL, local->from, fields[rolling->nfields - 1].span,
						1, &local->to))
		return false;
	period->instants.from = bound_instants(clock, local->from).from;
	period->instants.to = bound_instants(clock, local->to).to;
	return true;
}

/*
 * mts_rolling_name_regex
 *		Write a regular expression that matches the names of a pattern, and few
 *		others: it does not check that the digits are a date.
 *
 * regex has four times mts_rolling_name_size bytes.
 */
void
mts_rolling_name_regex(const MtsRollingName *rolling, char *regex)
{
	const char *at = rolling->pattern;
	Piece piece;

	*regex++ = '^';
	while (next_piece(&at, &piece))
	{
		char c = piece.character;

		if (piece.field >= 0)
			regex += sprintf(regex, "[0-9]{%d}", fields[piece.field].digits);
		else
		{
			if ((c > 0 && c < '0') || (c > '9' && c < 'A') ||
				(c > 'Z' && c < '_') || c == '`' || (c > 'z' && c <= '~'))
				*regex++ = '\\';
			*regex++ = c;
		}
	}
	strcpy(regex, "$");
}

/*
 * mts_rolling_name_period_contains
 *		Tell whether an instant belongs to a period.
 */
bool
mts_rolling_name_period_contains(const MtsPeriod *period,
								 const MtsClock *clock, MtsTime t)
{
	MtsTime local = mts_clock_local(clock, t);

	return period->local.from <= local && local < period->local.to;
}
