/*
 * import_family.c
 *		Finds the collections whose names differ only by a date.
 *
 * Such collections can be shown by one table, as a rolling set.  Each of them
 * is imported as a table of its own; a NOTICE names the pattern for the option
 * collection.
 */
#include "import/import.h"

#include "lib/stringinfo.h"

/* Whether text begins with n digits, of a number between two bounds */
static bool
is_number(const char *text, int n, int least, int greatest)
{
	int number = 0;

	for (int i = 0; i < n; i++)
	{
		if (!isdigit((unsigned char) text[i]))
			return false;
		number = 10 * number + text[i] - '0';
	}
	return number >= least && number <= greatest;
}

/*
 * Append the placeholders of the month and the day after a year to pattern.
 * Returns the end of the date.
 */
static const char *
read_month_and_day(const char *text, StringInfo pattern)
{
	static const struct
	{
		const char *placeholder;
		int greatest;
	} parts[] = {{"%m", 12}, {"%d", 31}};
	int separator = *text && strchr("-_.", *text) ? 1 : 0;
	char first = *text;

	for (int i = 0; i < 2; i++)
	{
		if ((separator == 1 && *text != first) ||
			!is_number(text + separator, 2, 1, parts[i].greatest))
			break;
		appendBinaryStringInfo(pattern, text, separator);
		appendStringInfoString(pattern, parts[i].placeholder);
		text += separator + 2;
	}
	return text;
}

/*
 * A name as a pattern of the option collection, with placeholders for the
 * first date in it; NULL if there is no date.
 */
static char *
date_pattern(const char *name)
{
	for (const char *at = name; *at; at++)
	{
		StringInfoData pattern;
		const char *rest;

		if ((at > name && isdigit((unsigned char) at[-1])) ||
			!is_number(at, 4, 1990, 2099))
			continue;
		initStringInfo(&pattern);
		appendStringInfoString(&pattern,
							   mts_import_escape(pnstrdup(name, at - name)));
		appendStringInfoString(&pattern, "%Y");
		rest = read_month_and_day(at + 4, &pattern);
		if (isdigit((unsigned char) *rest))
			continue;
		appendStringInfoString(&pattern, mts_import_escape(rest));
		return pattern.data;
	}
	return NULL;
}

/* Collections that have one pattern */
typedef struct Family
{
	char *pattern;
	const char *first;
	int n;
} Family;

static Family *
find_family(List *families, const char *pattern)
{
	ListCell *lc;

	foreach (lc, families)
		if (strcmp(((Family *) lfirst(lc))->pattern, pattern) == 0)
			return lfirst(lc);
	return NULL;
}

/*
 * mts_import_families
 *		Report which of these collections one table could show.
 *
 * names is a List of C strings.
 */
void
mts_import_families(List *names)
{
	List *families = NIL;
	ListCell *lc;

	foreach (lc, names)
	{
		char *pattern = date_pattern(lfirst(lc));
		Family *family;

		if (!pattern)
			continue;
		family = find_family(families, pattern);
		if (!family)
		{
			family = palloc0(sizeof(Family));
			family->pattern = pattern;
			family->first = lfirst(lc);
			families = lappend(families, family);
		}
		family->n++;
	}
	foreach (lc, families)
	{
		const Family *family = lfirst(lc);

		if (family->n > 1)
			ereport(
				NOTICE,
				(errmsg("collection \"%s\" and %d more differ only by a date",
						family->first, family->n - 1),
				 errhint(
					 "A foreign table with collection '%s' shows them as one table.",
					 family->pattern)));
	}
}
