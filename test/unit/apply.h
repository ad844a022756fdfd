/*
 * apply.h
 *		Applies updates to documents as MongoDB does.  Knows only the operators
 *		and stages that core/ uses.
 */
#ifndef APPLY_H
#define APPLY_H

#include "evaluate.h"

/* Set the value at a path, creating documents on the way, or remove it. */
static inline void
apply_set(Value *doc, const char *path, Value *item, bool is_pipeline)
{
	size_t len = strcspn(path, ".");
	char name[128];
	int i;

	snprintf(name, sizeof(name), "%.*s", (int) len, path);
	if (path[len] == '\0')
	{
		value_set(doc, value_text(name)->text, item);
		return;
	}
	i = value_find(doc, name);
	if (i >= 0 && doc->items[i]->type != BSON_TYPE_DOCUMENT && !is_pipeline)
		value_fail("%s is no document", name);
	if (i >= 0 && doc->items[i]->type == BSON_TYPE_ARRAY)
		value_fail("a stage sets what is inside of an array at %s", name);
	if (i < 0 || doc->items[i]->type != BSON_TYPE_DOCUMENT)
	{
		if (item->type == BSON_TYPE_EOD)
			return;
		value_set(doc, value_text(name)->text, value_new(BSON_TYPE_DOCUMENT));
		i = value_find(doc, name);
	}
	apply_set(doc->items[i], path + len + 1, item, is_pipeline);
}

/* MongoDB refuses an update in which a path equals or begins another one. */
static inline void
check_conflicts(const Value *fields)
{
	for (int i = 0; i < fields->n; i++)
		for (int j = 0; j < fields->n; j++)
		{
			size_t len = strlen(fields->keys[i]);
			char next = '\0';

			if (i == j || strncmp(fields->keys[i], fields->keys[j], len) != 0)
				continue;
			next = fields->keys[j][len];
			if (next == '\0' || next == '.')
				value_fail("%s conflicts with %s", fields->keys[i],
						   fields->keys[j]);
		}
}

static inline void
apply_stage(Value *doc, const char *name, const Value *stage)
{
	Scope scope = {"ROOT", doc, NULL};
	Value **computed = value_alloc(stage->n * sizeof(Value *) + 1);

	if (strcmp(name, "$unset") == 0)
	{
		for (int i = 0; i < stage->n; i++)
			apply_set(doc, stage->items[i]->text, value_new(BSON_TYPE_EOD),
					  true);
		return;
	}
	if (strcmp(name, "$set") != 0)
		value_fail("the stage %s", name);
	check_conflicts(stage);
	for (int i = 0; i < stage->n; i++)
		computed[i] = evaluate(stage->items[i], &scope);
	for (int i = 0; i < stage->n; i++)
		apply_set(doc, stage->keys[i], computed[i], true);
}

/* Apply one field of a plain operator. */
static inline void
apply_operation(Value *doc, const char *name, const char *path, Value *item,
				bool is_new)
{
	Value *stored = follow(doc, path);

	if (strcmp(name, "$set") == 0 ||
		(strcmp(name, "$setOnInsert") == 0 && is_new))
		apply_set(doc, path, item, false);
	else if (strcmp(name, "$setOnInsert") == 0)
		return;
	else if (strcmp(name, "$push") == 0)
	{
		if (stored->type == BSON_TYPE_EOD)
			stored = value_new(BSON_TYPE_ARRAY);
		apply_set(doc, path,
				  op_concat_arrays(
					  (Value *[]){stored,
								  item->items[value_find(item, "$each")]},
					  2),
				  false);
	}
	else if (stored->type == BSON_TYPE_EOD)
		apply_set(doc, path, item, false);
	else if (strcmp(name, "$inc") == 0)
	{
		if (!value_is_number(stored) || !value_is_number(item))
			value_fail("$inc of what is no number");
		apply_set(doc, path, op_add((Value *[]){stored, item}, 2), false);
	}
	else if (strcmp(name, "$min") == 0 || strcmp(name, "$max") == 0)
	{
		if (value_compare(item, stored) * (name[2] == 'i' ? 1 : -1) < 0)
			apply_set(doc, path, item, false);
	}
	else
		value_fail("the operator %s", name);
}

/*
 * Apply an update to a document.  Returns false, with the reason in value_why,
 * if the server would refuse it.
 */
static inline bool
apply_update(Value *doc, const bson_t *update, bool is_pipeline, bool is_new)
{
	Value *steps;

	if (setjmp(value_stop))
		return false;
	steps = value_from_bson(update, is_pipeline ? BSON_TYPE_ARRAY
												: BSON_TYPE_DOCUMENT);
	for (int i = 0; i < steps->n; i++)
		if (is_pipeline)
			apply_stage(doc, steps->items[i]->keys[0],
						steps->items[i]->items[0]);
		else
		{
			check_conflicts(steps->items[i]);
			for (int j = 0; j < steps->items[i]->n; j++)
				apply_operation(doc, steps->keys[i], steps->items[i]->keys[j],
								steps->items[i]->items[j], is_new);
		}
	return true;
}

#endif /* APPLY_H */
