/*
 * query_tree.h
 *		Makes random trees of conditions, for test_filter.c.
 *
 * Where a tree is true for a point, the tree's filter must match the point's
 * bucket.
 */
#ifndef QUERY_TREE_H
#define QUERY_TREE_H

#define TREE_NODES 32

typedef struct Tree
{
	int n;
	MtsFilter conds[TREE_NODES];
	MtsFilter *args[TREE_NODES][3];
	MtsRange items[TREE_NODES][8];
	bson_t ops[TREE_NODES];
} Tree;

static const char *const tree_ops[] = {"$eq", "$gt",  "$gte",
									   "$lt", "$lte", "$ne"};

static MtsFilter *
tree_grow(Tree *tree, const TestTable *table, MtsTime start, int depth)
{
	int me = tree->n++;
	MtsFilter *cond = &tree->conds[me];
	int64_t choice = random_below(depth > 0 ? 8 : 5);

	*cond = (MtsFilter){.kind = MTS_FILTER_TRUE};
	bson_init(&tree->ops[me]);
	if (choice == 0)
		cond->kind = random_below(2) ? MTS_FILTER_TRUE : MTS_FILTER_FALSE;
	else if (choice < 3)
	{
		/* the key of the series is the last column of the table */
		cond->kind = MTS_FILTER_FIELD;
		cond->column = &table->columns[table->layout.ncolumns - 1];
		cond->ops = &tree->ops[me];
		bson_append_int32(&tree->ops[me], tree_ops[random_below(6)], -1,
						  (int32_t) random_below(3));
	}
	else if (choice < 5)
	{
		cond->kind = MTS_FILTER_TIME;
		cond->ranges.items = tree->items[me];
		random_ranges(table, start, &cond->ranges);
	}
	else
	{
		cond->kind = choice == 5 ? MTS_FILTER_OR : MTS_FILTER_AND;
		cond->nargs = (int) random_between(1, 4);
		cond->args = tree->args[me];
		for (int i = 0; i < cond->nargs; i++)
			cond->args[i] = tree_grow(tree, table, start, depth - 1);
	}
	return cond;
}

/* Tell whether the condition is true for a point with this time and key. */
static bool
tree_holds(const MtsFilter *cond, MtsTime t, int key)
{
	bool is_or = cond->kind == MTS_FILTER_OR;
	bson_iter_t iter;
	int n;

	switch (cond->kind)
	{
		case MTS_FILTER_TRUE:
			return true;
		case MTS_FILTER_FALSE:
			return false;
		case MTS_FILTER_AND:
		case MTS_FILTER_OR:
			for (int i = 0; i < cond->nargs; i++)
				if (tree_holds(cond->args[i], t, key) == is_or)
					return is_or;
			return !is_or;
		case MTS_FILTER_FIELD:
			bson_iter_init(&iter, cond->ops);
			bson_iter_next(&iter);
			n = bson_iter_int32(&iter);
			for (int i = 0; i < 6; i++)
				if (strcmp(bson_iter_key(&iter), tree_ops[i]) == 0)
					return (bool[]){key == n, key > n,  key >= n,
									key < n,  key <= n, key != n}[i];
			abort();
		default:
			return in_ranges(&cond->ranges, t);
	}
}

static void
check_tree(const TestTable *table, const MtsFilter *cond, Bucket *bucket)
{
	static char text[SHELL_TEXT];
	bson_t *own =
		random_below(2)
			? bson_new_from_json(
				  (const uint8_t
					   *) "{\"type\": {\"$gte\": 1}, \"$or\": [{\"type\": 1}, {\"type\": 2}]}",
				  -1, NULL)
			: NULL;
	int key = (int) random_below(3);
	bool wanted = false;
	bson_t doc = BSON_INITIALIZER;

	bson_append_int32(&doc,
					  table->spec->columns[table->layout.ncolumns - 1].name,
					  -1, key);
	bson_concat(&doc, &bucket->doc);
	for (int i = 0; i < bucket->npoints; i++)
		wanted |= tree_holds(cond, bucket->points[i].time, key);
	if (own && !mongo_matches(&doc, own))
	{
		if (matches(&table->layout, cond, &doc, own, text))
			tap_fault("the table's filter is forgotten: %s", text);
	}
	else if (wanted && !matches(&table->layout, cond, &doc, own, text))
		tap_fault("%s: key %d is not matched by %.2000s", table->spec->name,
				  key, text);
	if (own)
		bson_destroy(own);
	bson_destroy(&doc);
}

static void
test_trees(void)
{
	static const int with_type[] = {1, 6, 7, 8};
	static Bucket bucket;
	static Tree tree;
	TestTable table;

	for (int turn = 0; turn < 8000; turn++)
	{
		const MtsFilter *cond;

		table_open(with_type[turn % 4], &table);
		bucket_fill(&bucket, &table, bucket_random_start(&table), 3);
		tree.n = 0;
		do
		{
			for (int i = 0; i < tree.n; i++)
				bson_destroy(&tree.ops[i]);
			tree.n = 0;
			cond = tree_grow(&tree, &table, bucket.start, 2);
		} while (tree.n < 2);
		check_tree(&table, cond, &bucket);
		for (int i = 0; i < tree.n; i++)
			bson_destroy(&tree.ops[i]);
		bson_destroy(&bucket.doc);
	}
	tap_claim(
		"a condition that is true for a point matches the point's bucket");
}

#endif /* QUERY_TREE_H */
