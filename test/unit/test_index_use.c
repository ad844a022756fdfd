/*
 * test_index_use.c
 *		Proves which bounds filters give to fields, and by which indexes
 *		MongoDB skips.
 */
#include "core/bson/template.h"
#include "core/query/index_use.h"
#include "tap.h"

static bson_t *
parse(const char *json)
{
	bson_error_t error;
	bson_t *doc =
		bson_new_from_json((const uint8_t *) json, (ssize_t) -1, &error);

	if (!doc)
		tap_fault("%s: %s", json, error.message);
	return doc;
}

/* Check the bounds of the field "a": "low", "high", "both", "none", or
 * "holes" where it has neither a least nor a greatest value. */
static void
check_bounds(const char *want, double nvalues, const char *json)
{
	bson_t *filter = parse(json);
	MtsFieldUse use = mts_index_use_bounds(filter, "a");

	is_text(use.has_low && use.has_high ? "both"
			: use.has_low               ? "low"
			: use.has_high              ? "high"
			: use.is_bounded            ? "holes"
										: "none",
			want, json);
	ok(use.nvalues == nvalues, "%s: %g values", json, use.nvalues);
	bson_destroy(filter);
}

static void
check_all_bounds(void)
{
	check_bounds("none", 0, "{}");
	check_bounds("none", 0, "{\"b\": 1}");
	check_bounds("both", 1, "{\"a\": 1}");
	check_bounds("both", 1, "{\"b\": 1, \"a\": null}");
	check_bounds("both", 1, "{\"a\": {\"b\": 1}}");
	check_bounds("both", 1, "{\"a\": {\"$eq\": 1}}");
	check_bounds("both", 2, "{\"a\": {\"$in\": [1, 2]}}");
	check_bounds("low", 0, "{\"a\": {\"$gte\": 1}}");
	check_bounds("low", 0, "{\"a\": {\"$gt\": 1}}");
	check_bounds("high", 0, "{\"a\": {\"$lt\": 1}}");
	check_bounds("both", 0, "{\"a\": {\"$gte\": 1, \"$lte\": 2}}");

	/* these are true of too much, or no bounds of an index */
	check_bounds("none", 0, "{\"a\": {\"$gte\": {\"$minKey\": 1}}}");
	check_bounds("none", 0, "{\"a\": {\"$ne\": null}}");
	check_bounds("none", 0, "{\"a\": {\"$exists\": true}}");
	check_bounds("none", 0,
				 "{\"a\": {\"$regex\": \"x\", \"$options\": \"\"}}");
	check_bounds("none", 0, "{\"$nor\": [{\"a\": 1}]}");

	check_bounds("low", 0, "{\"$and\": [{\"b\": 1}, {\"a\": {\"$gt\": 1}}]}");
	check_bounds("both", 0,
				 "{\"a\": {\"$lt\": 2}, \"$and\": [{\"a\": {\"$gt\": 1}}]}");
	check_bounds("both", 1,
				 "{\"a\": {\"$in\": [1, 2]}, \"$and\": [{\"a\": 1}]}");
	check_bounds("both", 3,
				 "{\"$or\": [{\"a\": 1}, {\"a\": {\"$in\": [2, 3]}}]}");
	check_bounds(
		"both", 0,
		"{\"$or\": [{\"a\": 1}, {\"a\": {\"$gte\": 1, \"$lt\": 2}}]}");
	check_bounds("low", 0,
				 "{\"$or\": [{\"a\": 1}, {\"$and\": [{\"b\": 1}, "
				 "{\"a\": {\"$gt\": 1}}]}]}");
	check_bounds("holes", 0,
				 "{\"$or\": [{\"a\": {\"$lt\": 1}}, {\"a\": {\"$gt\": 2}}]}");
	check_bounds("none", 0, "{\"$or\": [{\"a\": 1}, {\"b\": 1}]}");
}

/* ---- Uses of indexes ----------------------------------------------------- */

/*
 * Describe a field of 10,000 documents by a filter: s has 4 values, d has 20,
 * others are not known; a range selects a hundredth.
 */
static MtsFieldUse
describe(void *filter, const char *field)
{
	MtsFieldUse use = mts_index_use_bounds(filter, field);

	use.ndistinct = *field == 's' ? 4 : *field == 'd' ? 20 : 0;
	if (use.nvalues > 0 && use.ndistinct > 0)
		use.share = use.nvalues / use.ndistinct;
	else if (use.has_low || use.has_high)
		use.share = 0.01;
	return use;
}

static void
check_use(const char *keys, const char *filter, MtsIndexUse want)
{
	bson_t *index = parse(keys);
	bson_t *doc = parse(filter);
	MtsIndexUse use = mts_index_use_find(index, 10000, describe, doc);

	ok(use.nfields == want.nfields, "%s by %s: %d fields", filter, keys,
	   use.nfields);
	ok(use.needs_term == want.needs_term, "%s by %s: a term is %srequired",
	   filter, keys, use.needs_term ? "" : "not ");
	ok(use.nfields == 0 || use.cost == want.cost * MTS_INDEX_KEY_COST,
	   "%s by %s: cost %g", filter, keys, use.cost);
	bson_destroy(index);
	bson_destroy(doc);
}

#define INDEX "{\"s\": 1, \"d\": 1, \"t\": 1}"
#define RANGE "\"t\": {\"$gte\": 1}"

static void
check_all_uses(void)
{
	/* an index without a condition does not find anything */
	check_use(INDEX, "{}", (MtsIndexUse){.nfields = 0, .needs_term = true});
	check_use(INDEX, "{\"u\": 1}",
			  (MtsIndexUse){.nfields = 0, .needs_term = true});

	/* the series are sought, and each has a key */
	check_use(INDEX, "{" RANGE "}", (MtsIndexUse){3, true, 80 + 100});
	check_use(INDEX, "{\"d\": 1, " RANGE "}", (MtsIndexUse){3, true, 4 + 5});
	check_use(INDEX, "{\"d\": 1}", (MtsIndexUse){2, true, 4 + 500});
	check_use(INDEX, "{\"d\": {\"$in\": [1, 2]}, " RANGE "}",
			  (MtsIndexUse){3, true, 8 + 10});

	/* MongoDB uses the index by itself */
	check_use(INDEX, "{\"s\": 1}", (MtsIndexUse){1, false, 1 + 2500});
	check_use(INDEX, "{\"s\": 1, " RANGE "}",
			  (MtsIndexUse){3, false, 20 + 25});
	check_use("{\"t\": 1}", "{" RANGE "}", (MtsIndexUse){1, false, 101});

	/* of what is not known, not too much is assumed */
	check_use("{\"x\": 1, \"t\": 1}", "{" RANGE "}",
			  (MtsIndexUse){2, true, 200 + 200});
	check_use("{\"x\": 1, \"y\": 1, \"t\": 1}", "{" RANGE "}",
			  (MtsIndexUse){3, true, 1000 + 1000});
}

int
main(void)
{
	check_all_bounds();
	check_all_uses();
	return tap_done();
}
