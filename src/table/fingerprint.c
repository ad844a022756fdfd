/*
 * fingerprint.c
 *		Computes numbers that tell declarations of tables apart.
 *
 * A table's options have a fingerprint, and so have each column, and what
 * decides which points there are.  A fingerprint changes with all that
 * describes its subject.  None depends on the order of options and columns,
 * nor on OIDs, so that it survives dump and restore, and other PostgreSQL
 * servers compute the same.  Neither does it depend on the names of tables and
 * columns, except where these name a collection or a field.
 */
#include "table/fingerprint.h"

#include "access/table.h"
#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

static uint64
hash_text(const char *text, uint64 seed)
{
	return hash_bytes_extended((const unsigned char *) text, strlen(text),
							   seed);
}

/* mts_fingerprint_text: return the fingerprint of a named value. */
uint64
mts_fingerprint_text(const char *name, const char *value)
{
	return hash_text(value ? value : "", hash_text(name, value != NULL));
}

/* Return the fingerprint of the options that describe rows, in any order. */
static uint64
sum_options(List *options)
{
	uint64 sum = 0;
	ListCell *lc;

	foreach (lc, options)
	{
		const char *name = ((DefElem *) lfirst(lc))->defname;

		if (mts_option_describes_rows(name))
			sum += mts_fingerprint_text(name, mts_option_get(options, name));
	}
	return sum;
}

/*
 * mts_fingerprint_options
 *		Return the fingerprint of a foreign table without its columns.
 */
uint64
mts_fingerprint_options(Oid relid)
{
	Relation relation = table_open(relid, AccessShareLock);
	const MtsTable *table = mts_table_try_open(relation);
	uint64 sum = mts_fingerprint_text("database", table->database) +
				 mts_fingerprint_text("collection", table->collection) +
				 sum_options(GetForeignTable(relid)->options);

	table_close(relation, AccessShareLock);
	return sum;
}

/*
 * mts_fingerprint_column
 *		Return the fingerprint of a column; 0 if it has been dropped.
 */
uint64
mts_fingerprint_column(Oid relid, AttrNumber attnum)
{
	List *options;
	Oid typid, collation;
	int32 typmod;
	uint64 sum;

	get_atttypetypmodcoll(relid, attnum, &typid, &typmod, &collation);
	if (!OidIsValid(typid))
		return 0;
	options = GetForeignColumnOptions(relid, attnum);
	sum = sum_options(options) +
		  mts_fingerprint_text(
			  "type", format_type_extended(typid, typmod,
										   FORMAT_TYPE_TYPEMOD_GIVEN |
											   FORMAT_TYPE_FORCE_QUALIFY)) +
		  mts_fingerprint_text("collation", get_collation_name(collation));
	if (!mts_option_get(options, "field"))
		sum += mts_fingerprint_text("name", get_attname(relid, attnum, false));
	/* so that the options of two columns are not those of one */
	return hash_bytes_extended((const unsigned char *) &sum, sizeof(sum), 0);
}

/* Return a hash of a step of a path. */
static uint64
hash_step(const MtsStep *step, uint64 seed)
{
	const int64 values[] = {step->kind,         step->base,
							step->may_be_index, step->unit.usecs,
							step->unit.days,    step->unit.months,
							step->of.usecs,     step->of.days,
							step->of.months,    step->nnumbers};

	seed = hash_bytes_extended((const unsigned char *) values, sizeof(values),
							   seed);
	for (int i = 0; i < step->nnumbers; i++)
	{
		const int64 number[] = {step->numbers[i].first, step->numbers[i].count,
								step->numbers[i].width};

		seed = hash_bytes_extended((const unsigned char *) number,
								   sizeof(number), seed);
	}
	return step->len == 0
			   ? seed
			   : hash_bytes_extended((const unsigned char *) step->name,
									 step->len, seed);
}

/*
 * mts_fingerprint_points
 *		Return the fingerprint of what the columns of a foreign table say of
 *		which points it has.
 *
 * A point exists if a container has an element in its slot, so another column
 * of a container adds none.  It matters if values are missing, or if points
 * with invalid ones are skipped.
 */
uint64
mts_fingerprint_points(Oid relid)
{
	Relation relation = table_open(relid, AccessShareLock);
	const MtsTable *table = mts_table_try_open(relation);
	const MtsLayout *layout = &table->layout;
	uint64 sum = 0;

	for (int i = 0; i < layout->ncontainers; i++)
	{
		const MtsContainer *container = &layout->containers[i];
		uint64 hash = container->is_value + 2 * container->is_tuple;

		for (int j = 0; j < container->nsteps; j++)
			hash = hash_step(&container->path->steps[j], hash);
		sum += hash;
	}
	for (int i = 1; i <= layout->ncolumns; i++)
		if (layout->has_missing || table->on_invalid == MTS_INVALID_SKIP)
			sum += mts_fingerprint_column(relid, i);
	table_close(relation, AccessShareLock);
	return sum;
}

/*
 * mts_fingerprint_pair
 *		Return the fingerprint of what one column has, by a name, of another
 *		one, whose fingerprint is given.
 */
uint64
mts_fingerprint_pair(uint64 of, const char *name, Oid relid, AttrNumber attnum)
{
	uint64 column = mts_fingerprint_column(relid, attnum);

	return hash_bytes_extended((const unsigned char *) &column, sizeof(column),
							   hash_text(name, of));
}
