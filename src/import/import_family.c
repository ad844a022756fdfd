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
 * A name as a pattern of the option collection, with placeholders for the
 * first date in it, of one separator or none; NULL if there is no date.
 */
static char *
date_pattern(const char *name)
{
	for (const char *at = name; *at; at++)
	{
		const char *rest = at + 4;
		StringInfoData pattern;
		int separator;

		if ((at > name && isdigit((unsigned char) at[-1])) ||
			!is_number(at, 4, 1990, 2099))
			continue;
		initStringInfo(&pattern);
		appendStringInfo(&pattern, "%s%%Y",
						 mts_import_escape(pnstrdup(name, at - name)));
		separator = *rest && strchr("-_.", *rest) ? 1 : 0;
		for (int i = 0; i < 2; i++)
		{
			if ((separator == 1 && *rest != at[4]) ||
				!is_number(rest + separator, 2, 1, i == 0 ? 12 : 31))
				break;
			appendStringInfo(&pattern, "%.*s%s", separator, rest,
							 i == 0 ? "%m" : "%d");
			rest += separator + 2;
		}
		if (isdigit((unsigned char) *rest))
			continue;
		appendStringInfoString(&pattern, mts_import_escape(rest));
		return pattern.data;
	}
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
	List *patterns = NIL; /* of all names, with repetitions */
	List *reported = NIL;
	ListCell *lc, *other;

	foreach (lc, names)
		patterns = lappend(patterns, date_pattern(lfirst(lc)));
	forboth(lc, names, other, patterns)
	{
		const char *pattern = lfirst(other);
		int n = 0;
		ListCell *same;

		foreach (same, patterns)
			n += pattern && lfirst(same) && strcmp(pattern, lfirst(same)) == 0;
		if (n < 2 || list_member(reported, makeString(pstrdup(pattern))))
			continue;
		reported = lappend(reported, makeString(pstrdup(pattern)));
		ereport(
			NOTICE,
			(errmsg("collection \"%s\" and %d more differ only by a date",
					(char *) lfirst(lc), n - 1),
			 errhint(
				 "A foreign table with collection '%s' shows them as one table.",
				 pattern)));
	}
}
