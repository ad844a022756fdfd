/*
 * fingerprint.c
 *		Computes numbers that tell declarations of tables apart.
 *
 * The fingerprint of a table changes with all that says which rows it has and
 * what is in them: its collection, its columns, and the options that describe
 * these.  It does not depend on the order of options and columns, nor on OIDs,
 * so that it survives dump and restore, and other PostgreSQL servers compute
 * the same.  Neither does it depend on the names of tables and columns, except
 * where these name a collection or a field.
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
mts_fingerprint_options(const MtsTable *table)
{
	return mts_fingerprint_text("database", table->database) +
		   mts_fingerprint_text("collection", table->collection) +
		   sum_options(GetForeignTable(table->relid)->options);
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

/* mts_fingerprint_table: return the fingerprint of a foreign table. */
uint64
mts_fingerprint_table(Oid relid)
{
	Relation relation = table_open(relid, AccessShareLock);
	const MtsTable *table = mts_table_try_open(relation);
	uint64 sum = mts_fingerprint_options(table);

	for (int i = 1; i <= table->layout.ncolumns; i++)
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
