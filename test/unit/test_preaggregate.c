/*
 * test_preaggregate.c
 *		Which stages compute a bucket's pre-aggregates from its points?
 *
 * That they are right is test_store.c's.
 */
#include "writes.h"

#define NUMBERS "{$regexMatch: {input: '$$s0.k', regex: '^(0|[1-9][0-9]*)$'}}"

/* The subdocuments and values under keys at a path */
#define ENTRIES(path) \
	"{$objectToArray: {$ifNull: ['" path "', {$literal: {}}]}}"

#define NOT_EMPTY(value) "{$ne: ['" value "', {$literal: {}}]}"

/* {_mts0: the cells of v.{second}} */
#define CELLS \
	"[{$set: {_mts0: {$map: {input: {$filter: {input: " ENTRIES( \
		"$v") ", as: 's0', cond: {$and: [" NUMBERS \
			  ", " NOT_EMPTY("$$s0.v") "]}}}, as: 's0', in: '$$s0.v'}}}}, "

#define DROP ", {$unset: ['_mts0']}]"

/* A pre-aggregate of a column's values in the cells of a container */
#define LET(source, in) \
	"{$let: {vars: {v: {$map: {input: '$_mts0', as: 'c', in: '" source \
	"'}}}, in: " in "}}"

static const WriteCase cases[] = {
	{"nothing is declared", {{"ts"}, {"v", "v.{second}"}}, NULL, NULL, "[]"},
	{"a count",
	 {{"ts"}, {"v", "v.{second}"}},
	 "{'count': 'n'}",
	 NULL,
	 CELLS "{$set: {n: {$size: ['$_mts0']}}}" DROP},
	{"a sum, a minimum and a maximum",
	 {{"ts"}, {"v", "v.{second}"}},
	 "{'sum': {'v': 's'}, 'min': {'v': 'm'}, 'max': {'v': 'x'}}",
	 NULL,
	 CELLS
	 "{$set: {s: " LET("$$c", "{$sum: '$$v'}") ", m: " LET("$$c", "{$ifNull: [{$min: '$$v'}, '$$REMOVE']}") ", x: " LET(
		 "$$c", "{$ifNull: [{$max: '$$v'}, '$$REMOVE']}") "}}" DROP},
	{"the minimum is a number, if there is one but NaN",
	 {{"ts"}, {"v", "v.{second}.x"}},
	 "{'nan': {'v': 1}, 'min': {'v': 'm'}}",
	 NULL,
	 CELLS "{$set: {m: " LET(
		 "$$c.x",
		 "{$ifNull: [{$ifNull: [{$min: {$filter: {as: 'x', cond: {$ne: ['$$x', {$literal: NaN}]},"
		 " input: '$$v'}}}, {$max: '$$v'}]}, '$$REMOVE']}") "}}" DROP},
	{"the maximum is NaN, if there is one",
	 {{"ts"}, {"v", "v.{second}.x"}},
	 "{'nan': {'v': 1}, 'max': {'v': 'x'}}",
	 NULL,
	 CELLS "{$set: {x: " LET(
		 "$$c.x",
		 "{$ifNull: [{$cond: [{$in: [NaN, '$$v']}, NaN, {$max: '$$v'}]}, '$$REMOVE']}") "}}" DROP},
	{"what means no reading is no point, nor a value",
	 {{"ts"}, {"a", "v.{second}.a", "0"}, {"b", "v.{second}.b"}},
	 "{'count': 'n', 'sum': {'a': 's'}}",
	 NULL,
	 CELLS
	 "{$set: {n: {$size: [{$filter: {input: '$_mts0', as: 'c', cond: {$or: ["
	 "{$and: [{$ne: [{$type: ['$$c.a']}, 'missing']}, {$ne: ['$$c.a', {$literal: 0}]}]}, "
	 "{$and: [{$ne: [{$type: ['$$c.b']}, 'missing']}]}]}}}]}, "
	 "s: {$let: {vars: {v: {$filter: {as: 'x', cond: {$ne: ['$$x', {$literal: 0}]},"
	 " input: {$map: {input: '$_mts0', as: 'c', in: '$$c.a'}}}}}, in: {$sum: '$$v'}}}}}" DROP},
	{"elements of an array",
	 {{"ts", "a.s[].t"}, {"v", "a.s[].v"}},
	 "{'count': 'n'}",
	 NULL,
	 "[{$set: {_mts0: {$filter: {input: {$ifNull: ['$a.s', []]}, as: 's0', cond:"
	 " {$and: [" NOT_EMPTY(
		 "$$s0") "]}}}}}, {$set: {n: {$size: ['$_mts0']}}}" DROP},
	{"keys of a column, under names in keys of units",
	 {{"ts"}, {"type"}, {"v", "v.{second}.w.{type}"}},
	 "{'count': 'n'}",
	 NULL,
	 "[{$set: {_mts0: {$reduce: {input: {$map: {input: {$filter: {input: " ENTRIES(
		 "$v") ", as: 's0', cond: {$and: [" NUMBERS
			   "]}}}, as: 's0', in: {$map: {input: {$filter: {input: " ENTRIES("$$s0.v.w") ", as: 's1', cond: {$and: [" NOT_EMPTY(
				   "$$s1.v") "]}}},"
							 " as: 's1', in: '$$s1.v'}}}}, initialValue: [], in: {$concatArrays: ['$$value', '$$this']}}}}},"
							 " {$set: {n: {$size: ['$_mts0']}}}" DROP},
	{"containers side by side are counted by their keys",
	 {{"ts"}, {"a", "a.{second}"}, {"b", "b.{second}.x"}},
	 "{'count': 'n', 'max': {'b': 'x'}}",
	 NULL,
	 "[{$set: {_mts0: {$map: {input: {$filter: {input: " ENTRIES(
		 "$a") ", as: 's0', cond: {$and: [" NUMBERS
			   ", " NOT_EMPTY(
				   "$$s0.v") "]}}}, as: 's0', in: {k: {$concat: ['$$s0.k', '.']}, v: '$$s0.v'}}},"
							 " _mts1: {$map: {input: {$filter: {input: " ENTRIES(
								 "$b") ", as: 's0', cond: {$and: [" NUMBERS
									   ", " NOT_EMPTY(
										   "$$s0.v") "]}}}, as: 's0', in: {k: {$concat: ['$$s0.k', '.']}, v: '$$s0.v'}}}}},"
													 " {$set: {n: {$size: [{$setUnion: [{$map: {input: '$_mts0', as: 'c', in: '$$c.k'}},"
													 " {$map: {input: '$_mts1', as: 'c', in: '$$c.k'}}]}]},"
													 " x: {$let: {vars: {v: {$map: {input: '$_mts1', as: 'c', in: '$$c.v.x'}}},"
													 " in: {$ifNull: [{$max: '$$v'}, '$$REMOVE']}}}}}, {$unset: ['_mts0', '_mts1']}]"},
	{"so are arrays, by their indexes",
	 {{"ts", "t[]"}, {"v", "v[]"}},
	 "{'sum': {'v': 's'}}",
	 NULL,
	 "[{$set: {_mts0: {$map: {input: {$filter: {input: {$map: {input:"
	 " {$range: [0, {$size: [{$ifNull: ['$t', []]}]}]}, as: 'r0',"
	 " in: {k: {$toString: ['$$r0']}, v: {$arrayElemAt: ['$t', '$$r0']}}}}, as: 's0',"
	 " cond: {$and: [" NOT_EMPTY(
		 "$$s0.v") "]}}}, as: 's0', in: {k: {$concat: ['$$s0.k', '.']}, v: '$$s0.v'}}},"
				   " _mts1: {$map: {input: {$filter: {input: {$map: {input:"
				   " {$range: [0, {$size: [{$ifNull: ['$v', []]}]}]}, as: 'r0',"
				   " in: {k: {$toString: ['$$r0']}, v: {$arrayElemAt: ['$v', '$$r0']}}}}, as: 's0',"
				   " cond: {$and: [" NOT_EMPTY(
					   "$$s0.v") "]}}}, as: 's0', in: {k: {$concat: ['$$s0.k', '.']}, v: '$$s0.v'}}}}},"
								 " {$set: {s: {$let: {vars: {v: {$map: {input: '$_mts1', as: 'c', in: '$$c.v'}}}, in: {$sum: '$$v'}}}}},"
								 " {$unset: ['_mts0', '_mts1']}]"},
};

int
main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		static WriteTest test;
		bson_t stages = BSON_INITIALIZER;

		writes_declare(&cases[i], &test);
		mts_preaggregate_stages(&test.table.layout, &stages);
		is_text(shell_print(&stages, true), cases[i].want, cases[i].name);
		bson_destroy(&stages);
		writes_close(&test);
	}
	return tap_done();
}
