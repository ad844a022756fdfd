/*
 * evaluate.h
 *		Evaluates the aggregation expressions that core/ uses, as MongoDB does.
 */
#ifndef EVALUATE_H
#define EVALUATE_H

#include <regex.h>

#include "operators.h"

/* Variables, the innermost first */
typedef struct Scope
{
	const char *name;
	Value *value;
	const struct Scope *outer;
} Scope;

static inline Value *evaluate(const Value *e, const Scope *scope);

/* ---- Operators with variables or named arguments --------- */

static inline Value *
argument(const Value *args, const char *name, const Scope *scope)
{
	int i = value_find(args, name);

	if (i < 0)
		value_fail("an operator has no %s", name);
	return evaluate(args->items[i], scope);
}

static inline const char *
variable_name(const Value *args)
{
	int as = value_find(args, "as");

	return as < 0 ? "this" : args->items[as]->text;
}

static inline Value *
op_map(const Value *args, const Scope *scope, bool is_filter)
{
	Value *input = argument(args, "input", scope);
	Value *result = value_new(BSON_TYPE_ARRAY);

	if (!value_is_present(input))
		return value_new(BSON_TYPE_NULL);
	if (input->type != BSON_TYPE_ARRAY)
		value_fail("$map or $filter of what is no array");
	for (int i = 0; i < input->n; i++)
	{
		Scope inner = {variable_name(args), input->items[i], scope};
		Value *each = argument(args, is_filter ? "cond" : "in", &inner);

		if (!is_filter && each->type == BSON_TYPE_EOD)
			each = value_new(BSON_TYPE_NULL);
		if (!is_filter || value_is_true(each))
			value_add(result, NULL, is_filter ? input->items[i] : each);
	}
	return result;
}

static inline Value *
op_reduce(const Value *args, const Scope *scope)
{
	Value *input = argument(args, "input", scope);
	Value *value = argument(args, "initialValue", scope);

	if (input->type != BSON_TYPE_ARRAY)
		value_fail("$reduce of what is no array");
	for (int i = 0; i < input->n; i++)
	{
		Scope outer = {"value", value, scope};
		Scope inner = {"this", input->items[i], &outer};

		value = argument(args, "in", &inner);
	}
	return value;
}

static inline Value *
op_let(const Value *args, const Scope *scope)
{
	const Value *vars = args->items[value_find(args, "vars")];
	Scope scopes[4];
	const Scope *inner = scope;

	for (int i = 0; i < vars->n && i < 4; i++)
	{
		scopes[i] =
			(Scope){vars->keys[i], evaluate(vars->items[i], scope), inner};
		inner = &scopes[i];
	}
	return argument(args, "in", inner);
}

/* $cond evaluates only the value that it returns. */
static inline Value *
op_cond(const Value *args, const Scope *scope)
{
	if (args->n != 3)
		value_fail("$cond of %d", args->n);
	return evaluate(value_is_true(evaluate(args->items[0], scope))
						? args->items[1]
						: args->items[2],
					scope);
}

static inline Value *
op_regex_match(const Value *args, const Scope *scope)
{
	Value *input = argument(args, "input", scope);
	Value *regex = argument(args, "regex", scope);
	regex_t compiled;
	bool matches;

	if (!value_is_present(input))
		return boolean(false);
	if (input->type != BSON_TYPE_UTF8 ||
		regcomp(&compiled, regex->text, REG_EXTENDED | REG_NOSUB) != 0)
		value_fail("$regexMatch of what is no text");
	matches = regexec(&compiled, input->text, 0, NULL, 0) == 0;
	regfree(&compiled);
	return boolean(matches);
}

/* ---- Expressions -------------------------------------------------------- */

/* Return a field of a document, or of each document in an array. */
static inline Value *
follow(Value *from, const char *path)
{
	size_t len = strcspn(path, ".");
	char name[128];
	Value *all;
	int i;

	snprintf(name, sizeof(name), "%.*s", (int) len, path);
	if (len == 0)
		value_fail("a path with an empty step");
	if (from->type == BSON_TYPE_DOCUMENT)
	{
		i = value_find(from, name);
		if (i < 0)
			return value_new(BSON_TYPE_EOD);
		return path[len] ? follow(from->items[i], path + len + 1)
						 : from->items[i];
	}
	if (from->type != BSON_TYPE_ARRAY)
		return value_new(BSON_TYPE_EOD);
	all = value_new(BSON_TYPE_ARRAY);
	for (i = 0; i < from->n; i++)
		if (from->items[i]->type == BSON_TYPE_DOCUMENT)
		{
			Value *each = follow(from->items[i], path);

			if (each->type != BSON_TYPE_EOD)
				value_add(all, NULL, each);
		}
	return all;
}

/* Evaluate "$path", "$$variable" or "$$variable.path". */
static inline Value *
reference(const char *text, const Scope *scope)
{
	bool is_variable = text[1] == '$';
	const char *name = is_variable ? text + 2 : "ROOT";
	size_t len = strcspn(name, ".");

	if (strcmp(text, "$$REMOVE") == 0)
		return value_new(BSON_TYPE_EOD);
	while (scope && (strlen(scope->name) != len ||
					 strncmp(scope->name, name, len) != 0))
		scope = scope->outer;
	if (!scope)
		value_fail("the variable %s is not defined", text);
	if (!is_variable)
		return follow(scope->value, text + 1);
	return name[len] ? follow(scope->value, name + len + 1) : scope->value;
}

static inline Value *
apply_operator(const char *name, Value *args, const Scope *scope)
{
	Value *list = args;

	if (strcmp(name, "$literal") == 0)
		return args;
	if (strcmp(name, "$map") == 0 || strcmp(name, "$filter") == 0)
		return op_map(args, scope, name[1] == 'f');
	if (strcmp(name, "$reduce") == 0)
		return op_reduce(args, scope);
	if (strcmp(name, "$cond") == 0)
		return op_cond(args, scope);
	if (strcmp(name, "$let") == 0)
		return op_let(args, scope);
	if (strcmp(name, "$regexMatch") == 0)
		return op_regex_match(args, scope);
	if (args->type != BSON_TYPE_ARRAY)
	{
		list = value_new(BSON_TYPE_ARRAY);
		value_add(list, NULL, args);
	}
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (strcmp(operators[i].name, name) == 0)
		{
			Value **computed = value_alloc(list->n * sizeof(Value *) + 1);

			for (int j = 0; j < list->n; j++)
				computed[j] = evaluate(list->items[j], scope);
			return operators[i].compute(computed, list->n);
		}
	value_fail("the operator %s is not one of expressions'", name);
}

static inline Value *
evaluate(const Value *e, const Scope *scope)
{
	Value *result;

	if (e->type == BSON_TYPE_UTF8 && e->text[0] == '$')
		return reference(e->text, scope);
	if (e->type == BSON_TYPE_DOCUMENT && e->n > 0 && e->keys[0][0] == '$')
	{
		if (e->n > 1)
			value_fail("%s has a sibling", e->keys[0]);
		return apply_operator(e->keys[0], e->items[0], scope);
	}
	if (e->type != BSON_TYPE_DOCUMENT && e->type != BSON_TYPE_ARRAY)
		return (Value *) e;
	result = value_new(e->type);
	for (int i = 0; i < e->n; i++)
	{
		Value *item = evaluate(e->items[i], scope);

		if (e->type == BSON_TYPE_ARRAY && item->type == BSON_TYPE_EOD)
			item = value_new(BSON_TYPE_NULL);
		if (item->type != BSON_TYPE_EOD)
			value_add(result, e->keys[i], item);
	}
	return result;
}

#endif /* EVALUATE_H */
