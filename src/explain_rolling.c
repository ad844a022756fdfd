/*
 * explain_rolling.c
 *		Name the collections of a rolling set that a scan reads.
 *
 * Without ANALYZE those that it would read, which takes a list of those that
 * there are; under ANALYZE those that it has asked, in any of its loops.
 */
#include "explain.h"

#include "lib/stringinfo.h"

#include "rolling.h"

/* More names than this are not listed unless EXPLAIN is VERBOSE */
#define MAX_NAMED 6

/* The collections that are read, in this order */
static List *
name_chosen(const MtsScan *scan)
{
	const MtsRolling *rolling = scan->rolling;
	List *names = NIL;

	for (int i = 0; i < rolling->nchosen; i++)
		names = lappend(names,
						(char *) rolling->all->items[rolling->chosen[i]].name);
	return names;
}

/* The same of a scan that has run, perhaps several times */
static List *
name_read(const MtsScan *scan)
{
	const MtsRolling *rolling = scan->rolling;
	List *names = NIL;

	for (int i = 0; i < rolling->all->n; i++)
		if (rolling->was_read[i])
			names = lappend(names, (char *) rolling->all->items[i].name);
	return names;
}

/* a, b (2 of 30) */
static char *
describe(List *names, int all, bool is_verbose)
{
	int n = list_length(names);
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < n; i++)
	{
		if (!is_verbose && n > MAX_NAMED && i == 2)
		{
			appendStringInfoString(&text, ", ...");
			i = n - 1;
		}
		appendStringInfo(&text, "%s%s", i > 0 ? ", " : "",
						 (char *) list_nth(names, i));
	}
	if (n == 0)
		appendStringInfoString(&text, "none");
	appendStringInfo(&text, " (%d of %d)", n, all);
	return text.data;
}

/*
 * mts_explain_first
 *		The collection that a scan reads first; NULL when it reads none.
 *
 * Of a set the pattern, where more can't be told.
 */
const char *
mts_explain_first(MtsScan *scan)
{
	const MtsRolling *rolling = scan->rolling;

	if (!rolling || !scan->is_ready || !mts_rolling_choose(scan, true))
		return scan->table->collection;
	return rolling->nchosen > 0 ? rolling->all->items[rolling->chosen[0]].name
								: NULL;
}

/* mts_explain_collections: name the collections of a set that a scan reads. */
void
mts_explain_collections(const MtsScan *scan, ExplainState *es)
{
	const MtsRolling *rolling = scan->rolling;
	List *names;

	if (!rolling || !scan->is_ready || !scan->is_possible)
		return;
	if (!rolling->all)
	{
		ExplainPropertyText("Collections",
							"not known, as MongoDB could not list them", es);
		return;
	}
	/* workers have read the others */
	names = es->analyze && !scan->split ? name_read(scan) : name_chosen(scan);
	if (es->format == EXPLAIN_FORMAT_TEXT)
		ExplainPropertyText("Collections",
							describe(names, rolling->all->n, es->verbose), es);
	else
	{
		ExplainPropertyList("Collections", names, es);
		ExplainPropertyInteger("Collections in Set", NULL, rolling->all->n,
							   es);
	}
}
