/*
 * shell.c
 *		Make and write the documents of buckets to come.
 *
 * A shell has its slots where what they hold reads as no point: what is
 * declared as missing, or the places of an array.  Existing buckets stay.
 */
#include "shell.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "collections.h"
#include "document.h"
#include "route.h"
#include "writer.h"

/* Shells that are sent at once */
#define SHELLS_AT_ONCE 200

/* What is filled in of one container */
typedef struct Shell
{
	const MtsLayout *layout;
	int container;
	MtsTime start;
	MtsWrite vacancy; /* its values: what is missing, by column */
} Shell;

static void append_steps(Shell *shell, int step, int level, bson_t *parent,
						 const char *key);

static bool
has_missing(const Shell *shell)
{
	const MtsLayout *layout = shell->layout;

	for (int i = 0; i < layout->ncolumns; i++)
		if (layout->columns[i].container == shell->container &&
			layout->columns[i].missing.kind != MTS_MISSING_NONE)
			return true;
	return false;
}

/* A slot's document or array, with what its keys hold */
static void
append_slots(Shell *shell, int step, int level, bson_t *parent,
			 const char *key)
{
	const MtsLayout *layout = shell->layout;
	const MtsStep *slot = layout->slots[level];
	bool is_array = mts_step_is_array(slot);
	int64_t end = slot->base;
	bson_t slots;

	CHECK_FOR_INTERRUPTS();
	if (is_array)
		bson_append_array_begin(parent, key, -1, &slots);
	else
		bson_append_document_begin(parent, key, -1, &slots);
	/* keys without points under them are of no use */
	if (slot->kind == MTS_STEP_UNIT_INDEX ||
		(slot->kind == MTS_STEP_UNIT_KEY && has_missing(shell)))
		(void) mts_slot_end(layout, shell->start, shell->vacancy.index, level,
							&end);
	for (int64_t i = is_array ? 0 : slot->base; i < end; i++)
	{
		char buffer[MTS_MAX_KEY];
		const char *name;

		shell->vacancy.index[level] = i;
		(void) mts_write_key(i, buffer, &name);
		append_steps(shell, step + 1, level + 1, &slots, name);
	}
	if (slot->kind == MTS_STEP_COLUMN_KEY && shell->vacancy.texts[level])
		append_steps(shell, step + 1, level + 1, &slots,
					 shell->vacancy.texts[level]);
	if (is_array)
		bson_append_array_end(parent, &slots);
	else
		bson_append_document_end(parent, &slots);
}

/* What stands under a key: names down to the next slot, or a vacancy */
static void
append_steps(Shell *shell, int step, int level, bson_t *parent,
			 const char *key)
{
	const MtsLayout *layout = shell->layout;
	const MtsContainer *container = &layout->containers[shell->container];
	const MtsStep *steps = container->path->steps;
	bson_t inner;

	if (level == layout->nslots)
		mts_write_element(layout, shell->container, &shell->vacancy, parent,
						  key);
	else if (mts_step_is_slot(&steps[step]))
		append_slots(shell, step, level, parent, key);
	else
	{
		bson_append_document_begin(parent, key, -1, &inner);
		append_steps(shell, step + 1, level, &inner, steps[step].name);
		bson_append_document_end(parent, &inner);
	}
}

/* {path: what holds the points}, for every container */
static void
append_containers(const MtsTable *table, MtsTime start,
				  const char *const *texts, bson_t *set)
{
	const MtsLayout *layout = &table->layout;
	bson_value_t *values = palloc0(layout->ncolumns * sizeof(bson_value_t));

	for (int i = 0; i < layout->ncolumns; i++)
		if (layout->columns[i].missing.kind != MTS_MISSING_NONE)
			values[i] = mts_missing_value(&layout->columns[i].missing);
	for (int i = 0; i < layout->ncontainers; i++)
	{
		Shell shell = {layout, i, start, {.values = values}};
		const MtsStep *steps = layout->containers[i].path->steps;
		char path[MTS_MAX_PATH];
		int names = mts_path_names(layout->containers[i].path);

		memcpy(shell.vacancy.texts, texts, sizeof(shell.vacancy.texts));
		mts_path_dotted(steps, names, path, sizeof(path));
		append_steps(&shell, names, 0, set, path);
	}
}

/* The upsert that makes a bucket, if there is none */
static MtsOp
make_shell(const MtsPlacer *placer, MtsTime start, const bson_value_t *values,
		   const char *const *texts)
{
	const MtsTable *table = placer->table;
	const MtsLayout *layout = &table->layout;
	const MtsIdentity *identity = placer->identity;
	bson_t *update = mts_document_new();
	bson_value_t zero = {.value_type = BSON_TYPE_INT32};
	char path[MTS_MAX_PATH];
	bson_t set;

	bson_append_document_begin(update, "$setOnInsert", -1, &set);
	append_containers(table, start, texts, &set);
	for (int i = 0; i < identity->nattributes; i++)
	{
		int column = identity->attributes[i];

		mts_path_dotted(layout->columns[column].path.steps,
						layout->columns[column].path.nsteps, path,
						sizeof(path));
		bson_append_value(&set, path, -1, &values[column]);
	}
	if (layout->count.is_set)
	{
		mts_path_dotted(layout->count.path.steps, layout->count.path.nsteps,
						path, sizeof(path));
		bson_append_value(&set, path, -1, &zero);
	}
	for (int i = 0; i < layout->ncolumns; i++)
	{
		const MtsField *sum = &layout->columns[i].sum;

		if (!sum->is_set)
			continue;
		mts_path_dotted(sum->path.steps, sum->path.nsteps, path, sizeof(path));
		bson_append_value(&set, path, -1, &zero);
	}
	bson_append_document_end(update, &set);
	return (MtsOp){.kind = MTS_OP_UPSERT,
				   .selector = mts_place_selector(placer, start, values),
				   .document = update,
				   .collection =
					   table->set ? mts_collection_at(table, start) : NULL};
}

/* The texts of {column} slots, where the keys give them */
static void
read_texts(const MtsPlacer *placer, TupleTableSlot *keys, const char **texts)
{
	const MtsLayout *layout = &placer->table->layout;

	memset(texts, 0, MTS_MAX_SLOTS * sizeof(char *));
	for (int i = 0; i < layout->ncolumns; i++)
		if (layout->columns[i].role == MTS_ROLE_SLOT &&
			!keys->tts_isnull[placer->table->attributes[i].attnum - 1])
			texts[layout->columns[i].slot] =
				mts_place_text(placer, keys,
							   layout->slots[layout->columns[i].slot]);
}

/* Does the field that holds one container hold another one, too? */
static bool
share_root(const MtsLayout *layout)
{
	for (int i = 0; i < layout->ncontainers; i++)
	{
		const MtsPath *path = layout->containers[i].path;
		int names = mts_path_names(path);

		for (int j = 0; j < layout->ncontainers; j++)
			if (j != i &&
				mts_path_starts_with(layout->containers[j].path, path, names))
				return true;
	}
	return false;
}

static void
check_layout(const MtsTable *table)
{
	if (table->layout.nslots == 0 || !table->layout.bucket_time.is_set ||
		table->layout.max_points > 0 ||
		(table->layout.first.is_set || table->layout.last.is_set))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot preallocate buckets of MongoDB collection "
						"\"%s.%s\"",
						table->database, table->collection),
				 errdetail("Nothing but their points says which buckets there "
						   "will be, or where they begin and end.")));
	if (share_root(&table->layout))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot preallocate buckets of MongoDB collection "
						"\"%s.%s\"",
						table->database, table->collection),
				 errdetail("Values lie in different places of the same "
						   "slots.")));
}

/*
 * mts_shell_write
 *		Write the shells of the buckets that begin in from <= t < to.
 *
 * keys is a row with the values of their columns.  Returns how many are new.
 */
int64
mts_shell_write(MtsTable *table, TupleTableSlot *keys, MtsTime from,
				MtsTime to)
{
	const MtsLayout *layout = &table->layout;
	MtsPlacer *placer = mts_place_prepare(table);
	bson_value_t *values = palloc0(layout->ncolumns * sizeof(bson_value_t));
	const char *texts[MTS_MAX_SLOTS];
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "mongo_ts_fdw shells",
							  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old;
	MtsBulk bulk;
	MtsOp ops[SHELLS_AT_ONCE];
	MtsTime start;
	int64 made = 0;
	int n = 0;

	mts_route_init(&bulk, table, GetUserId());
	check_layout(table);
	mts_place_check_new(placer, keys);
	mts_place_keys(placer, keys, values);
	read_texts(placer, keys, texts);
	start = mts_clock_floor(&layout->clock, from, layout->span);
	old = MemoryContextSwitchTo(context);
	while (start < to)
	{
		CHECK_FOR_INTERRUPTS();
		if (start >= from)
			ops[n++] = make_shell(placer, start, values, texts);
		if (!mts_layout_bucket_end(layout, start, &start))
			break;
		if (n < SHELLS_AT_ONCE && start < to)
			continue;
		mts_route_execute(&bulk, ops, n);
		made += bulk.made;
		MemoryContextReset(context);
		n = 0;
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return made;
}
