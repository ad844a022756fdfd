/*
 * rollup.c
 *		Read what a roll-up declares, and what of it is complete.
 *
 * A roll-up is a foreign table with option rollup_of.  Its rows have the
 * totals of the points of a series in an interval: their number, and of each
 * column the number, sum, minimum and maximum of its values.  It summarizes
 * the points, or a finer roll-up of the same points.  Its columns name those
 * of the points in either case.
 *
 * The catalogs have no index from a table to its roll-ups.  So the session
 * keeps a list of all of them, made by one scan of pg_foreign_table, until a
 * foreign table changes.  It keeps the names that they declare: to look up
 * those of other owners would cost time.
 */
#include "table/rollup.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_table.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

#include "driver/command.h"
#include "driver/document.h"
#include "driver/server_error.h"
#include "table/fingerprint.h"
#include "table/known.h"
#include "table/rollup_field.h"
#include "table/zone.h"

/* By how many items the list of roll-ups grows */
#define LIST_STEP 64

/* The names of totals, and of the aggregates that they are */
const char *const mts_rollup_kinds[] = {"count", "sum", "min", "max"};

/* Find a total by its name; false if there is none. */
static bool
find_kind(const char *name, MtsRollupKind *kind)
{
	for (*kind = 0; *kind < MTS_ROLLUP_NKINDS; (*kind)++)
		if (strcmp(name, mts_rollup_kinds[*kind]) == 0)
			return true;
	return false;
}

/* ---- The list ----------------------------------------------------------- */

/* A foreign table with option rollup_of */
typedef struct Declared
{
	Oid relid;
	Oid owner;
	Oid serverid;
	const char *schema; /* of the table that it summarizes */
	const char *name;   /* of that table */
	int64 length;       /* of its interval, about */
	int64 refresh;      /* how often it is refreshed, in microseconds; or 0 */
} Declared;

static Declared *declared = NULL; /* the coarsest first */
static int ndeclared = 0;
static MemoryContext list_memory = NULL; /* of the list */
static bool is_current = false; /* nothing has changed since it was made */
static uint64 changes = 0;      /* that could matter to it */

/* Handle a change of a foreign table's options, or of a foreign server. */
static void
foreign_table_changed(Datum arg, int cacheid, uint32 hash)
{
	changes++;
	is_current = false;
}

/* Handle a change of a relation, which may have another owner. */
static void
relation_changed(Datum arg, Oid relid)
{
	bool matters = !OidIsValid(relid);

	for (int i = 0; i < ndeclared; i++)
		matters |= relid == declared[i].relid;
	if (matters)
		foreign_table_changed(arg, 0, 0);
}

static Oid
owner_of(Oid relid)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid owner = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
		ReleaseSysCache(tuple);
	}
	return owner;
}

/* Return the table that a roll-up summarizes; InvalidOid if there is none. */
static Oid
source_of(const Declared *item)
{
	Oid namespace = get_namespace_oid(item->schema, true);

	return OidIsValid(namespace) ? get_relname_relid(item->name, namespace)
								 : InvalidOid;
}

static int
compare_lengths(const void *a, const void *b)
{
	const Declared *left = a, *right = b;

	if (left->length != right->length)
		return left->length < right->length ? 1 : -1;
	return left->relid < right->relid ? -1 : left->relid > right->relid;
}

/* Append a foreign table to the list if it has the options of a roll-up. */
static void
add_declared(HeapTuple tuple, TupleDesc desc)
{
	Form_pg_foreign_table form = (Form_pg_foreign_table) GETSTRUCT(tuple);
	bool isnull;
	Datum options =
		heap_getattr(tuple, Anum_pg_foreign_table_ftoptions, desc, &isnull);
	List *list = isnull ? NIL : untransformRelOptions(options);
	const char *source = mts_option_get(list, "rollup_of");
	const char *interval = mts_option_get(list, "rollup_interval");
	const char *refresh = mts_option_get(list, "rollup_refresh");
	List *names;

	if (!source || !SplitIdentifierString(pstrdup(source), '.', &names) ||
		list_length(names) != 2 ||
		!mts_table_server_is_ours(GetForeignServer(form->ftserver)))
		return;
	if (ndeclared % LIST_STEP == 0)
		declared = declared ? repalloc(declared, (ndeclared + LIST_STEP) *
													 sizeof(Declared))
							: palloc(LIST_STEP * sizeof(Declared));
	declared[ndeclared++] =
		(Declared){.relid = form->ftrelid,
				   .owner = owner_of(form->ftrelid),
				   .serverid = form->ftserver,
				   .schema = linitial(names),
				   .name = lsecond(names),
				   .length =
					   interval
						   ? mts_span_length(mts_option_span(interval), 30)
						   : 0,
				   .refresh =
					   refresh ? mts_span_length(mts_option_span(refresh), 30)
							   : 0};
}

static void
watch_changes(void)
{
	static bool is_watching = false;

	if (is_watching)
		return;
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(FOREIGNTABLEREL, foreign_table_changed,
								  (Datum) 0);
	CacheRegisterSyscacheCallback(FOREIGNSERVEROID, foreign_table_changed,
								  (Datum) 0);
	is_watching = true;
}

/* Make the list, unless it is current. */
static void
make_list(void)
{
	uint64 changes_before = changes;
	MemoryContext old;
	Relation catalog;
	SysScanDesc scan;
	HeapTuple tuple;

	if (is_current)
		return;
	watch_changes();
	if (list_memory)
		MemoryContextReset(list_memory);
	else
		list_memory =
			AllocSetContextCreate(TopMemoryContext, "mongo_ts_fdw roll-ups",
								  ALLOCSET_SMALL_SIZES);
	declared = NULL;
	ndeclared = 0;
	old = MemoryContextSwitchTo(list_memory);
	catalog = table_open(ForeignTableRelationId, AccessShareLock);
	scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		add_declared(tuple, RelationGetDescr(catalog));
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	if (ndeclared > 1)
		qsort(declared, ndeclared, sizeof(Declared), compare_lengths);
	/* reading looks at the catalogs, and so can meet a change */
	is_current = changes == changes_before;
	MemoryContextSwitchTo(old);
}

/* Return the item of a roll-up, or NULL. */
static const Declared *
find_declared(Oid relid)
{
	for (int i = 0; i < ndeclared; i++)
		if (declared[i].relid == relid)
			return &declared[i];
	return NULL;
}

/* Say why a table of this owner and server does not have a roll-up. */
static const char *
problem_of_owner(const Declared *item, Oid owner, Oid serverid)
{
	if (item->owner != owner)
		return "it has another owner than the points";
	if (item->serverid != serverid)
		return "it is on another server than the points";
	return NULL;
}

/*
 * List what a table can have, as indexes; with MTS_ROLLUPS_NAMED, also what
 * has another owner or server.
 */
static List *
list_allowed(Oid relid, MtsRollupsOf use)
{
	Oid owner = owner_of(relid);
	Oid serverid = GetForeignTable(relid)->serverid;
	List *allowed = NIL;

	for (int i = 0; i < ndeclared; i++)
		if (use == MTS_ROLLUPS_NAMED ||
			!problem_of_owner(&declared[i], owner, serverid))
			allowed = lappend_int(allowed, i);
	return allowed;
}

/* Append those of a list that summarize a table, unless they are in found. */
static List *
append_rollups(List *found, const List *allowed, Oid of)
{
	const char *schema = get_namespace_name(get_rel_namespace(of));
	const char *name = get_rel_name(of);
	ListCell *lc;

	foreach (lc, allowed)
	{
		const Declared *item = &declared[lfirst_int(lc)];

		if (schema && name && strcmp(item->name, name) == 0 &&
			strcmp(item->schema, schema) == 0)
			found = list_append_unique_oid(found, item->relid);
	}
	return found;
}

/*
 * mts_rollup_list
 *		Return the OIDs of the roll-ups of a table, and of those computed from
 *		these, the coarsest first.
 *
 * Those that are read or marked belong to the owner of the table.  Otherwise
 * anybody could declare a roll-up with false totals, or let the writes of
 * others wait for one.  A write must also mark those whose option names no
 * table, since this one may have had the name.
 */
List *
mts_rollup_list(Oid source, MtsRollupsOf use)
{
	List *found = list_make1_oid(source);
	List *result = NIL;
	List *allowed;
	ListCell *lc;

	make_list();
	allowed = ndeclared > 0 ? list_allowed(source, use) : NIL;
	if (allowed == NIL)
		return NIL;
	foreach (lc, allowed)
		if (use == MTS_ROLLUPS_TO_MARK &&
			!OidIsValid(source_of(&declared[lfirst_int(lc)])))
			found =
				list_append_unique_oid(found, declared[lfirst_int(lc)].relid);
	/* the list grows, but has each roll-up once */
	foreach (lc, found)
		found = append_rollups(found, allowed, lfirst_oid(lc));
	foreach (lc, allowed)
	{
		Oid relid = declared[lfirst_int(lc)].relid;

		if (relid != source && list_member_oid(found, relid))
			result = lappend_oid(result, relid);
	}
	return result;
}

/*
 * mts_rollup_owner_problem
 *		Say why a table does not have a listed roll-up that names it: that has
 *		another owner or server.  NULL if it has.
 */
const char *
mts_rollup_owner_problem(Oid rollup, Oid source)
{
	const Declared *item = find_declared(rollup);

	return item ? problem_of_owner(item, owner_of(source),
								   GetForeignTable(source)->serverid)
				: NULL;
}

/*
 * mts_rollup_list_refreshed
 *		Return the roll-ups of all roles that are refreshed from time to time,
 *		as MtsRefreshedRollup, the coarsest first.
 */
List *
mts_rollup_list_refreshed(void)
{
	List *result = NIL;

	make_list();
	for (int i = 0; i < ndeclared; i++)
	{
		MtsRefreshedRollup *rollup;

		if (declared[i].refresh == 0)
			continue;
		rollup = palloc(sizeof(*rollup));
		rollup->relid = declared[i].relid;
		rollup->owner = declared[i].owner;
		rollup->interval = declared[i].refresh;
		result = lappend(result, rollup);
	}
	return result;
}

/* ---- A roll-up ---------------------------------------------------------- */

/*
 * Find the tables that a roll-up summarizes: the points, or finer roll-ups and
 * the points.
 */
static const char *
find_points(const Declared *item, MtsRollup *rollup)
{
	const char *problem = NULL;
	const Declared *last = item;

	rollup->sources = NIL;
	for (int n = 0; item && n < ndeclared; n++)
	{
		Oid source = source_of(item);

		if (OidIsValid(source) && owner_of(source) != item->owner)
			problem = "The table that option \"rollup_of\" names has another "
					  "owner.";
		rollup->sources = lappend_oid(rollup->sources, source);
		last = item;
		item = find_declared(source);
	}
	rollup->source = linitial_oid(rollup->sources);
	/* without an end, the list ends anywhere */
	rollup->points = item ? InvalidOid : llast_oid(rollup->sources);
	if (problem)
		return problem;
	if (item)
		return "Option \"rollup_of\" leads back to the table itself.";
	if (!OidIsValid(rollup->points))
		return psprintf(
			"Option \"rollup_of\" names table \"%s.%s\", which does "
			"not exist.  If that was renamed or moved, set the "
			"option to its new name.",
			last->schema, last->name);
	if (get_rel_relkind(rollup->points) != RELKIND_FOREIGN_TABLE ||
		!mts_table_is_ours(rollup->points))
		return "Option \"rollup_of\" names no foreign table of mongo_ts_fdw.";
	if (GetForeignTable(rollup->points)->serverid != rollup->table->serverid)
		return "The points are on another server.";
	return NULL;
}

/*
 * Tell whether the intervals of a zone that are shorter than a day are those
 * of UTC, since 1970.
 */
static bool
has_intervals_of_utc(const MtsClock *zone, int64 interval)
{
	MtsTime end = GetCurrentTimestamp();
	MtsTime t = MTS_UNIX_EPOCH;

	while (t < end)
	{
		if ((mts_clock_local(zone, t) - t) % interval != 0)
			return false;
		t = zone->next_change(zone->arg, t);
	}
	return true;
}

/*
 * Read the options of a roll-up.  The reason if they contradict each other;
 * then the interval may not be set.
 */
static const char *
read_options(List *options, MtsRollup *rollup)
{
	const MtsTable *table = rollup->table;
	const char *interval = mts_option_get(options, "rollup_interval");
	const char *zone = mts_option_get(options, "rollup_zone");
	const char *lag = mts_option_get(options, "rollup_lag");
	const char *by = mts_option_get(options, "rollup_maintained_by");
	const char *retention =
		mts_option_get(GetForeignTable(rollup->points)->options,
					   "rollup_retention");

	rollup->zone = zone ? zone : "UTC";
	rollup->clock = mts_zone_clock(rollup->zone);
	if (lag)
		rollup->lag = mts_option_span(lag);
	rollup->drops_points = retention != NULL;
	if (retention)
		rollup->retention = mts_option_span(retention);
	rollup->by_application = by && strcmp(by, "application") == 0;
	if (!interval)
		return "Option \"rollup_of\" requires option \"rollup_interval\".";
	rollup->interval = mts_option_span(interval);
	if (rollup->clock.to_local && !mts_span_is_calendar(rollup->interval))
	{
		if (!has_intervals_of_utc(&rollup->clock, rollup->interval.usecs))
			return psprintf("By the clocks of zone \"%s\", the intervals do "
							"not begin when those of UTC do.",
							rollup->zone);
		rollup->zone = "UTC";
		rollup->clock = (MtsClock){0};
	}
	if (table->layout.time_column < 0)
		return "A roll-up requires a column with the time.";
	if (table->rolling_name)
		return "The buckets of a roll-up must be in one collection.";
	return NULL;
}

/* Tell whether a column and one of the points have one type and collation. */
static bool
is_same_type(const MtsRollup *rollup, AttrNumber attnum, AttrNumber of)
{
	Oid types[2], collations[2];
	int32 typmod;

	get_atttypetypmodcoll(rollup->table->relid, attnum, &types[0], &typmod,
						  &collations[0]);
	get_atttypetypmodcoll(rollup->points, of, &types[1], &typmod,
						  &collations[1]);
	return types[0] == types[1] && collations[0] == collations[1];
}

/*
 * Find the column of the points that option rollup_column names by its name
 * or, since a column can be renamed, by its option field; 0 if there is none.
 */
static AttrNumber
find_column(const MtsRollup *rollup, const MtsTable *points, const char *name)
{
	AttrNumber attnum = get_attnum(rollup->points, name);

	for (int i = 1; i <= points->layout.ncolumns && attnum <= 0; i++)
		if (!points->attributes[i - 1].dropped)
		{
			const char *field =
				mts_option_get(GetForeignColumnOptions(rollup->points, i),
							   "field");

			if (field && strcmp(field, name) == 0)
				attnum = i;
		}
	return Max(attnum, 0);
}

/*
 * Tell whether a column must have a column of the points.  Others may describe
 * the rows of a roll-up that an application maintains.
 */
static bool
is_of_points(const MtsRollup *rollup, AttrNumber attnum)
{
	const MtsAttribute *attribute = &rollup->table->attributes[attnum - 1];

	return attnum - 1 == rollup->table->layout.time_column ||
		   (!rollup->by_application && attribute->has_role &&
			rollup->table->layout.columns[attnum - 1].role == MTS_ROLE_KEY);
}

/* Record what a column of the roll-up has of a column of the points. */
static const char *
record_column(MtsRollup *rollup, const MtsTable *points, AttrNumber attnum)
{
	List *options = GetForeignColumnOptions(rollup->table->relid, attnum);
	const MtsColumn *column = &rollup->table->layout.columns[attnum - 1];
	const MtsAttribute *attribute = &rollup->table->attributes[attnum - 1];
	const char *total = mts_option_get(options, "rollup");
	const char *name = mts_option_get(options, "rollup_column");
	bool is_time = attnum - 1 == rollup->table->layout.time_column;
	AttrNumber of = name ? find_column(rollup, points, name)
						 : get_attnum(rollup->points, column->name);
	AttrNumber *record;
	MtsRollupKind kind;
	/* otherwise it is a key or the time */
	bool is_total = total && find_kind(total, &kind);

	if (is_total && (kind == MTS_ROLLUP_COUNT || kind == MTS_ROLLUP_SUM) &&
		!mts_type_is_number(attribute->typid))
		return psprintf("Column \"%s\" has a count or a sum, but type %s.",
						column->name, format_type_be(attribute->typid));
	if (is_total && !name && kind == MTS_ROLLUP_COUNT)
	{
		rollup->npoints = attnum;
		return NULL;
	}
	if (is_total && !name)
		return psprintf("Column \"%s\" has option \"rollup\", but not option "
						"\"rollup_column\".",
						column->name);
	if (of <= 0)
		return name || is_of_points(rollup, attnum)
				   ? psprintf(
						 "Column \"%s\" requires column \"%s\" of foreign "
						 "table \"%s\", which does not exist.  If that was "
						 "renamed, set option \"rollup_column\" to its new "
						 "name.  If it was dropped, drop the columns that "
						 "require it.",
						 column->name, name ? name : column->name,
						 get_rel_name(rollup->points))
				   : NULL;
	record =
		is_total ? &rollup->totals[of - 1].of[kind] : &rollup->keys[of - 1];
	if (*record)
		return psprintf("Columns \"%s\" and \"%s\" have the same of column "
						"\"%s\" of the points.",
						rollup->table->layout.columns[*record - 1].name,
						column->name, points->layout.columns[of - 1].name);
	if (is_time != (!is_total && of - 1 == points->layout.time_column))
		return psprintf("Of columns \"%s\" and \"%s\" of the points, only one "
						"is the time.",
						column->name, points->layout.columns[of - 1].name);
	if ((!is_total || kind == MTS_ROLLUP_MIN || kind == MTS_ROLLUP_MAX) &&
		!is_same_type(rollup, attnum, of))
		return psprintf(
			"Column \"%s\" has another type or collation than column \"%s\" of "
			"the points.",
			column->name, points->layout.columns[of - 1].name);
	*record = attnum;
	return NULL;
}

/* Record what the columns have; the reason if one is not understood. */
static const char *
read_columns(MtsRollup *rollup)
{
	Relation relation = table_open(rollup->points, AccessShareLock);
	const MtsTable *points = mts_table_try_open(relation);
	const MtsLayout *layout = &rollup->table->layout;
	const char *problem = points->problem;

	rollup->ncolumns = RelationGetDescr(relation)->natts;
	rollup->keys = palloc0(rollup->ncolumns * sizeof(AttrNumber));
	rollup->totals = palloc0(rollup->ncolumns * sizeof(MtsRollupTotals));
	for (int i = 0; i < layout->ncolumns && !problem; i++)
		if (!rollup->table->attributes[i].dropped)
			problem = record_column(rollup, points, i + 1);
	table_close(relation, AccessShareLock);
	return problem;
}

/*
 * mts_rollup_describe
 *		Read what a foreign table declares as a roll-up.
 *
 * If it is not a valid one, *problem is a sentence that says why; otherwise it
 * is NULL.  Then only table, source and points are set, as far as they are
 * known.
 */
MtsRollup *
mts_rollup_describe(Relation relation, const char **problem)
{
	MtsRollup *rollup = palloc0(sizeof(MtsRollup));
	Oid relid = RelationGetRelid(relation);
	const Declared *item;

	rollup->table = mts_table_try_open(relation);
	make_list();
	item = find_declared(relid);
	*problem = item
				   ? find_points(item, rollup)
				   : "It lacks options \"rollup_of\" and \"rollup_interval\".";
	if (rollup->table->problem)
		*problem = rollup->table->problem;
	if (!*problem)
		*problem = read_options(GetForeignTable(relid)->options, rollup);
	if (!*problem)
		*problem = read_columns(rollup);
	return rollup;
}

/*
 * mts_rollup_try_open
 *		Read what a foreign table declares as a roll-up.
 *
 * NULL if it is not a roll-up, or not a valid one; then *problem is a
 * sentence that says why.
 */
MtsRollup *
mts_rollup_try_open(Relation relation, const char **problem)
{
	MtsRollup *rollup = mts_rollup_describe(relation, problem);

	return *problem ? NULL : rollup;
}

/*
 * mts_rollup_could_be_of
 *		Tell whether a roll-up whose option names no table could be one of
 *		these points, which may have been renamed: they have all columns that
 *		its columns name.
 */
bool
mts_rollup_could_be_of(Oid relid, const MtsTable *points)
{
	Relation relation = try_table_open(relid, AccessShareLock);
	MtsRollup rollup = {.points = points->relid};
	bool result;

	if (!relation)
		return false;
	rollup.table = mts_table_try_open(relation);
	result = !rollup.table->problem && !read_columns(&rollup);
	table_close(relation, AccessShareLock);
	return result;
}

static _Noreturn void
refuse(Relation relation, const char *problem)
{
	ereport(ERROR, (errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
					errmsg("foreign table \"%s\" is not a valid roll-up",
						   RelationGetRelationName(relation)),
					errdetail("%s", problem)));
	pg_unreachable();
}

/*
 * mts_rollup_open
 *		Read what a roll-up declares; raise an error if it is not valid.
 */
MtsRollup *
mts_rollup_open(Relation relation)
{
	const char *problem;
	MtsRollup *rollup = mts_rollup_try_open(relation, &problem);

	if (!rollup)
		refuse(relation, problem);
	return rollup;
}

/*
 * mts_rollup_open_finer
 *		Open the finer roll-up that a roll-up is computed from; NULL if it is
 *		computed from points.
 */
const MtsRollup *
mts_rollup_open_finer(const MtsRollup *rollup)
{
	const MtsRollup *finer;
	Relation source;

	if (rollup->source == rollup->points)
		return NULL;
	source = table_open(rollup->source, AccessShareLock);
	finer = mts_rollup_open(source);
	table_close(source, NoLock);
	return finer;
}

/*
 * mts_rollup_open_to_mark
 *		Read what a roll-up declares, except for its columns, which must not
 *		be used, to mark what is written into points.
 *
 * A roll-up that is not valid now is marked, too, since it may be valid again
 * later.  Then it may have no interval.  NULL if it is not valid and in
 * another database, which the writer may have no rights in.
 */
const MtsRollup *
mts_rollup_open_to_mark(Relation relation, const MtsTable *points)
{
	MtsRollup *rollup = palloc0(sizeof(MtsRollup));
	Oid relid = RelationGetRelid(relation);
	const Declared *item = find_declared(relid);
	bool is_valid;

	rollup->table = mts_table_try_open(relation);
	is_valid = item && !find_points(item, rollup);
	if (!rollup->table->database ||
		(!is_valid && strcmp(rollup->table->database, points->database) != 0))
		return NULL;
	if (!is_valid)
		rollup->points = points->relid;
	(void) read_options(GetForeignTable(relid)->options, rollup);
	return rollup;
}

/*
 * mts_rollup_check_owner
 *		Check that the current user is the owner of a table, to administer its
 *		roll-ups.
 *
 * A member of the owner's role is not, nor a superuser: what is executed runs
 * what the owner has declared, such as defaults and the constraints of
 * domains.
 */
void
mts_rollup_check_owner(Relation relation)
{
	Oid owner = relation->rd_rel->relowner;

	if (owner != GetUserId())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be owner of foreign table %s",
						RelationGetRelationName(relation)),
				 errhint("Use SET ROLE %s.",
						 quote_identifier(GetUserNameFromId(owner, false)))));
}

/* ---- Intervals ---------------------------------------------------------- */

/* mts_rollup_floor: the begin of the interval that holds a time. */
MtsTime
mts_rollup_floor(const MtsRollup *rollup, MtsTime t)
{
	if (t == MTS_TIME_MIN || t == MTS_TIME_MAX ||
		mts_span_is_zero(rollup->interval))
		return t;
	return mts_clock_floor(&rollup->clock, t, rollup->interval);
}

/* mts_rollup_ceil: the first begin of an interval at or after a time. */
MtsTime
mts_rollup_ceil(const MtsRollup *rollup, MtsTime t)
{
	MtsTime begin = mts_rollup_floor(rollup, t);
	MtsTime end;

	if (begin == t)
		return t;
	if (!mts_clock_step(&rollup->clock, begin, rollup->interval, 1, &end))
		return MTS_TIME_MAX;
	/* a day that clocks begin at 1:00 does not end at 1:00 */
	return mts_rollup_floor(rollup, end);
}

/*
 * mts_rollup_is_made_of
 *		Tell whether the intervals of a roll-up in a range, which may be open
 *		at its begin, consist of whole intervals of a finer roll-up.
 */
bool
mts_rollup_is_made_of(const MtsRollup *rollup, const MtsRollup *finer,
					  MtsRange range)
{
	MtsTime t = range.from == MTS_TIME_MIN ? MTS_UNIX_EPOCH : range.from;

	if (!mts_span_is_calendar(rollup->interval))
		return !mts_span_is_calendar(finer->interval) &&
			   rollup->interval.usecs % finer->interval.usecs == 0;
	for (t = mts_rollup_floor(rollup, t); t < range.to;
		 t = mts_rollup_ceil(rollup, t + 1))
		if (mts_rollup_floor(finer, t) != t)
			return false;
	return range.to == MTS_TIME_MAX ||
		   mts_rollup_floor(finer, range.to) == range.to;
}

static MtsTime
before(TimestampTz t, MtsSpan span)
{
	return t - span.usecs - span.days * MTS_DAY;
}

/*
 * mts_rollup_horizon
 *		The time before which points may have been removed because of their
 *		age; MTS_TIME_MIN if there is none.
 */
MtsTime
mts_rollup_horizon(const MtsTable *points, TimestampTz now)
{
	return points->drops_points ? before(now, points->retention)
								: MTS_TIME_MIN;
}

/*
 * mts_rollup_first_kept
 *		The begin of the first interval whose points have not been removed
 *		because of their age.
 */
MtsTime
mts_rollup_first_kept(const MtsRollup *rollup)
{
	return rollup->drops_points
			   ? mts_rollup_ceil(rollup, before(GetCurrentTimestamp(),
												rollup->retention))
			   : MTS_TIME_MIN;
}

/*
 * mts_rollup_limit
 *		The latest time up to which a roll-up can be complete at a time.
 */
MtsTime
mts_rollup_limit(const MtsRollup *rollup, TimestampTz now)
{
	return mts_rollup_floor(rollup, before(now, rollup->lag));
}

/*
 * The state of a roll-up that an application maintains.  No statement reads
 * rows of an earlier moment than that at which its transaction began.
 */
static MtsRollupState
state_by_application(const MtsRollup *rollup)
{
	return (MtsRollupState){.until = mts_rollup_limit(
								rollup, GetCurrentTransactionStartTimestamp()),
							.refreshed = MTS_TIME_MIN};
}

/* ---- The state ---------------------------------------------------------- */

/*
 * mts_rollup_fingerprint
 *		Return a number that tells by which declarations of the roll-up, of
 *		the points, and of what lies between them, its rows are computed,
 *		apart from the totals and the number of points: those have their own.
 *
 * The owner is a part of it, since another owner's writes mark nothing.
 */
int64
mts_rollup_fingerprint(const MtsRollup *rollup)
{
	Oid relid = rollup->table->relid;
	uint64 sum =
		mts_fingerprint_options(relid) +
		mts_fingerprint_text("owner",
							 GetUserNameFromId(owner_of(relid), false));
	ListCell *lc;

	foreach (lc, rollup->sources)
		sum += mts_fingerprint_options(lfirst_oid(lc));
	for (int i = 0; i < rollup->ncolumns; i++)
		if (rollup->keys[i])
			sum += mts_fingerprint_pair(mts_fingerprint_column(rollup->points,
															   i + 1),
										"key", relid, rollup->keys[i]);
	return (int64) sum;
}

/* mts_rollup_read_time: read a date, or $minKey or $maxKey in place of one. */
bool
mts_rollup_read_time(const bson_iter_t *at, MtsTime *t)
{
	if (bson_iter_type(at) == BSON_TYPE_MINKEY)
		*t = MTS_TIME_MIN;
	else if (bson_iter_type(at) == BSON_TYPE_MAXKEY)
		*t = MTS_TIME_MAX;
	else if (!BSON_ITER_HOLDS_DATE_TIME(at) ||
			 __builtin_mul_overflow(bson_iter_date_time(at), 1000, t) ||
			 __builtin_add_overflow(*t, MTS_UNIX_EPOCH, t))
		return false;
	return true;
}

/*
 * Read a stale range of a state, extended to whole intervals; false if it is
 * not one.
 *
 * Leaves out what a write has marked of intervals whose points may have been
 * removed; the roll-up keeps their totals.
 */
static bool
parse_range(const MtsRollup *rollup, const bson_t *item, MtsRange *range)
{
	bson_iter_t from, to;

	if (!bson_iter_init_find(&from, item, "from") ||
		!bson_iter_init_find(&to, item, "to") ||
		!mts_rollup_read_time(&from, &range->from) ||
		!mts_rollup_read_time(&to, &range->to))
		return false;
	range->from = mts_rollup_floor(rollup, range->from);
	range->to = mts_rollup_ceil(rollup, range->to);
	if (!bson_has_field(item, "refreshing"))
		range->from = Max(range->from, mts_rollup_first_kept(rollup));
	return true;
}

/* Return an empty set of ranges with room for the items of an array. */
static MtsRanges
make_ranges(const bson_iter_t *array)
{
	return (MtsRanges){0, palloc((mts_document_length(array) + 1) *
								 sizeof(MtsRange))};
}

static bool
read_stale(const MtsRollup *rollup, bson_iter_t *array, MtsRollupState *state)
{
	bson_iter_t item;
	bson_t view;
	MtsRange range;

	if (!BSON_ITER_HOLDS_ARRAY(array) || !bson_iter_recurse(array, &item))
		return false;
	state->stale = make_ranges(array);
	state->open = make_ranges(array);
	while (bson_iter_next(&item))
	{
		if (!mts_document_view(&item, &view) ||
			!parse_range(rollup, &view, &range))
			return false;
		state->stale.items[state->stale.n++] = range;
		if (!bson_has_field(&view, "computed"))
			state->open.items[state->open.n++] = range;
	}
	mts_ranges_normalize(&state->stale);
	mts_ranges_normalize(&state->open);
	return true;
}

const char mts_rollup_is_altered[] = "it or its points have been altered";

/*
 * Read the watermark of a state, which may not be at the end of an interval:
 * MTS_TIME_MIN without one.  False if it is not a time.
 */
static bool
read_until(const bson_t *doc, MtsTime *until)
{
	bson_iter_t at;

	*until = MTS_TIME_MIN;
	return !bson_iter_init_find(&at, doc, "until") ||
		   mts_rollup_read_time(&at, until);
}

/* Return the time at a path of a state; MTS_TIME_MIN without one. */
static MtsTime
find_time(const bson_t *doc, const char *path)
{
	bson_iter_t iter, at;
	MtsTime t;

	return bson_iter_init(&iter, doc) &&
				   bson_iter_find_descendant(&iter, path, &at) &&
				   mts_rollup_read_time(&at, &t)
			   ? t
			   : MTS_TIME_MIN;
}

/* Read what refreshes have recorded of themselves. */
static void
read_history(const bson_t *doc, MtsRollupState *state)
{
	const char *error = mts_document_string(doc, "failed.error");

	state->refreshed = find_time(doc, "refreshed");
	state->failed = find_time(doc, "failed.at");
	state->failed_since = find_time(doc, "failed.since");
	state->took = mts_document_number(doc, "took");
	state->error = error ? mts_document_text(error) : NULL;
}

/*
 * Tell whether the rows were computed by other declarations of their keys, or
 * if there were other points by the declaration of these.  Where points may
 * have been removed, rows have those that there were.
 */
static bool
is_altered(const MtsRollup *rollup, const bson_t *doc,
		   const MtsRollupState *state)
{
	MtsTime since;

	return mts_document_number(doc, "fingerprint") !=
			   mts_rollup_fingerprint(rollup) ||
		   (rollup->npoints && !rollup->drops_points &&
			!mts_rollup_field_find(rollup, state, rollup->npoints, &since));
}

/*
 * mts_rollup_parse_state
 *		Read the document with the state of a roll-up.  Without a document,
 *		nothing is complete.
 *
 * Neither is it if the roll-up, or a table that it summarizes, has been
 * declared in another way when its rows were computed, or if the document is
 * invalid: it must not hinder queries of the points.
 */
void
mts_rollup_parse_state(const MtsRollup *rollup, const bson_t *doc,
					   MtsRollupState *state)
{
	MtsTime until;
	bson_iter_t at;
	bool is_valid;

	*state =
		(MtsRollupState){.until = MTS_TIME_MIN, .refreshed = MTS_TIME_MIN};
	if (!doc)
		return;
	read_history(doc, state);
	state->generation = mts_document_number(doc, "generation");
	is_valid = read_until(doc, &until);
	if (is_valid && until == MTS_TIME_MIN)
		return;
	if (bson_iter_init_find(&at, doc, "totals"))
		is_valid &= mts_rollup_field_read(rollup, &at, state);
	if (is_valid && is_altered(rollup, doc, state))
		state->problem = mts_rollup_is_altered;
	else if (!is_valid || until != mts_rollup_floor(rollup, until) ||
			 (bson_iter_init_find(&at, doc, "stale") &&
			  !read_stale(rollup, &at, state)))
	{
		state->stale = (MtsRanges){0};
		state->problem = "its state is invalid";
	}
	else
		state->until = until;
}

/* The problem of a user who may not read the state */
static const char is_hidden[] = "MongoDB's user may not read its state";

/* Make the message of errors that occur while a state is read. */
static const char *
message_of_reading(const MtsRollup *rollup)
{
	return psprintf("could not read the state of roll-up \"%s\" in MongoDB "
					"collection \"%s.%s\"",
					get_rel_name(rollup->table->relid),
					rollup->table->database, MTS_ROLLUP_STATES);
}

/*
 * mts_rollup_read_state
 *		Read the state of a roll-up, at the moment of a snapshot or, if that
 *		is NULL, the latest.
 *
 * A roll-up that an application maintains has no document.  It is complete up
 * to the begin of the transaction minus the lag.
 * To a user who may not read the states, nothing is complete.
 */
void
mts_rollup_read_state(const MtsRollup *rollup, Oid userid,
					  MtsSnapshot *snapshot, MtsRollupState *state)
{
	const MtsTable *table = rollup->table;
	MtsFind find = {.filter =
						mts_document_make("{_id: %s}", mts_document_utf8(
														   table->collection)),
					.first_batch = 1,
					.limit = 1,
					.on_primary = snapshot == NULL,
					.may_be_refused = true,
					.snapshot = snapshot,
					.relid = table->relid,
					.message = message_of_reading(rollup)};
	MtsCursor *cursor;

	if (rollup->by_application)
	{
		*state = state_by_application(rollup);
		return;
	}
	cursor = mts_cursor_find(mts_connection_get(table->serverid, userid),
							 table->database, MTS_ROLLUP_STATES, &find);
	mts_rollup_parse_state(rollup, mts_cursor_next(cursor), state);
	if (mts_cursor_is_refused(cursor))
		state->problem = is_hidden;
	mts_cursor_close(cursor);
}

/*
 * mts_rollup_try_read_state
 *		Read the latest state of a roll-up; false if the server does not answer
 *		soon.
 */
bool
mts_rollup_try_read_state(const MtsRollup *rollup, Oid userid,
						  MtsRollupState *state)
{
	const MtsTable *table = rollup->table;
	MtsConnection *connection;
	const bson_t *reply;
	bson_iter_t iter, first;
	bson_t view;
	uint32 code;

	mts_rollup_parse_state(rollup, NULL, state);
	if (rollup->by_application)
	{
		*state = state_by_application(rollup);
		return true;
	}
	if (mts_known_server_is_silent(table->serverid, userid))
		return false;
	connection = mts_connection_get(table->serverid, userid);
	/* giving up an answer would break a connection with open cursors */
	if (connection->pins > 0)
		return false;
	reply = mts_command_ask_soon(
		connection, table->database,
		mts_document_make("{find: %s, filter: {_id: %s}, limit: 1, "
						  "singleBatch: true}",
						  MTS_ROLLUP_STATES,
						  mts_document_utf8(table->collection)),
		MTS_FROM_PREFERRED, &code);
	if (!reply && code == MTS_CODE_UNAUTHORIZED)
	{
		state->problem = is_hidden;
		return true;
	}
	if (!reply)
		mts_known_record_silence(table->serverid, userid);
	else if (bson_iter_init(&iter, reply) &&
			 bson_iter_find_descendant(&iter, "cursor.firstBatch.0", &first) &&
			 mts_document_view(&first, &view))
		mts_rollup_parse_state(rollup, &view, state);
	return reply != NULL;
}
