/*
 * test_preaggregate.c
 *		Proves which stages compute a bucket's pre-aggregates from its points.
 *
 * test_store.c tests their results.
 */
#include "writes.h"

/* The elements of v.{second} if its values are the points */
#define CELLS \
	"{_mts0: {$map: {input: {$filter: {input: {$objectToArray:" \
	" {$ifNull: ['$v', {$literal: {}}]}}, as: 's0', cond: {$and:" \
	" [{$regexMatch: {input: '$$s0.k', regex: '^(0|-?[1-9][0-9]*)$'}}," \
	" {$ne: ['$$s0.v', {$literal: {}}]}]}}}, as: 's0', in: '$$s0.v'}}}"

/* The same if they are documents, where null is not a point */
#define POINTS \
	"{_mts0: {$map: {input: {$filter: {input: {$objectToArray:" \
	" {$ifNull: ['$v', {$literal: {}}]}}, as: 's0', cond: {$and:" \
	" [{$regexMatch: {input: '$$s0.k', regex: '^(0|-?[1-9][0-9]*)$'}}," \
	" {$ne: ['$$s0.v', {$literal: {}}]}, {$ne: ['$$s0.v', null]}]}}}," \
	" as: 's0', in: '$$s0.v'}}}"

/* The condition that a key is a number */
#define KEYS "{$regexMatch: {input: '$$s0.k', regex: '^(0|-?[1-9][0-9]*)$'}}"

/* The values of such elements; their use follows */
#define VALUES \
	"{$let: {vars: {v: {$map: {input: '$_mts0', as: 'c', in: '$$c'}}}," \
	" in: "

/* The same for a field x */
#define VALUES_X \
	"{$let: {vars: {v: {$map: {input: '$_mts0', as: 'c', in:" \
	" '$$c.x'}}}, in: "

static const WriteCase cases[] = {
	{"without pre-aggregates there are no stages",
	 {{"ts"}, {"v", "v.{second}"}},
	 NULL,
	 NULL,
	 "[]"},
	{"a count",
	 {{"ts"}, {"v", "v.{second}"}},
	 "{'count': 'n'}",
	 NULL,
	 "[{$set: " CELLS
	 "}, {$set: {n: {$size: ['$_mts0']}}}, {$unset: ['_mts0']}]"},
	{"a sum, a minimum and a maximum",
	 {{"ts"}, {"v", "v.{second}"}},
	 "{'sum': {'v': 's'}, 'min': {'v': 'm'}, 'max': {'v': 'x'}}",
	 NULL,
	 "[{$set: " CELLS "}, {$set: {s: " VALUES "{$sum: '$$v'}}}, m: " VALUES
	 "{$ifNull: [{$min: '$$v'}, '$$REMOVE']}}}, x: " VALUES
	 "{$ifNull: [{$max: '$$v'}, '$$REMOVE']}}}}}, {$unset: ['_mts0']}]"},
	{"the minimum is NaN only if all values are NaN",
	 {{"ts"}, {"v", "v.{second}.x"}},
	 "{'nan': {'v': 1}, 'min': {'v': 'm'}}",
	 NULL,
	 "[{$set: " POINTS "}, {$set: {m: " VALUES_X
	 "{$ifNull: [{$ifNull: [{$min: {$filter: {as: 'x', cond: {$ne:"
	 " ['$$x', {$literal: NaN}]}, input: '$$v'}}}, {$max: '$$v'}]},"
	 " '$$REMOVE']}}}}}, {$unset: ['_mts0']}]"},
	{"the maximum is NaN if one value is NaN",
	 {{"ts"}, {"v", "v.{second}.x"}},
	 "{'nan': {'v': 1}, 'max': {'v': 'x'}}",
	 NULL,
	 "[{$set: " POINTS "}, {$set: {x: " VALUES_X
	 "{$ifNull: [{$cond: [{$in: [NaN, '$$v']}, NaN, {$max: '$$v'}]},"
	 " '$$REMOVE']}}}}}, {$unset: ['_mts0']}]"},
	{"a missing value does not count as a point or value",
	 {{"ts"}, {"a", "v.{second}.a", "0"}, {"b", "v.{second}.b"}},
	 "{'count': 'n', 'sum': {'a': 's'}}",
	 NULL,
	 "[{$set: " POINTS
	 "}, {$set: {n: {$size: [{$filter: {input: '$_mts0', as: 'c', cond:"
	 " {$or: [{$and: [{$ne: [{$type: ['$$c.a']}, 'missing']}, {$ne:"
	 " ['$$c.a', {$literal: 0}]}]}, {$and: [{$ne: [{$type: ['$$c.b']},"
	 " 'missing']}]}]}}}]}, s: {$let: {vars: {v: {$filter: {as: 'x',"
	 " cond: {$ne: ['$$x', {$literal: 0}]}, input: {$map: {input:"
	 " '$_mts0', as: 'c', in: '$$c.a'}}}}}, in: {$sum: '$$v'}}}}},"
	 " {$unset: ['_mts0']}]"},
	{"elements of an array",
	 {{"ts", "a.s[].t"}, {"v", "a.s[].v"}},
	 "{'count': 'n'}",
	 NULL,
	 "[{$set: {_mts0: {$filter: {input: {$ifNull: ['$a.s', []]}, as:"
	 " 's0', cond: {$and: [{$ne: ['$$s0', {$literal: {}}]}, {$ne:"
	 " ['$$s0', null]}]}}}}}, {$set: {n: {$size: ['$_mts0']}}},"
	 " {$unset: ['_mts0']}]"},
	{"keys of a column, under names in keys of units",
	 {{"ts"}, {"type"}, {"v", "v.{second}.w.{type}"}},
	 "{'count': 'n'}",
	 NULL,
	 "[{$set: {_mts0: {$reduce: {input: {$map: {input: {$filter:"
	 " {input: {$objectToArray: {$ifNull: ['$v', {$literal: {}}]}}, as:"
	 " 's0', cond: {$and: [" KEYS
	 "]}}}, as: 's0', in: {$map: {input: {$filter: {input:"
	 " {$objectToArray: {$ifNull: ['$$s0.v.w', {$literal: {}}]}}, as:"
	 " 's1', cond: {$and: [{$ne: ['$$s1.v', {$literal: {}}]}]}}}, as:"
	 " 's1', in: '$$s1.v'}}}}, initialValue: [], in: {$concatArrays:"
	 " ['$$value', '$$this']}}}}}, {$set: {n: {$size: ['$_mts0']}}},"
	 " {$unset: ['_mts0']}]"},
	{"containers side by side are counted by their keys",
	 {{"ts"}, {"a", "a.{second}"}, {"b", "b.{second}.x"}},
	 "{'count': 'n', 'max': {'b': 'x'}}",
	 NULL,
	 "[{$set: {_mts0: {$map: {input: {$filter: {input: {$objectToArray:"
	 " {$ifNull: ['$a', {$literal: {}}]}}, as: 's0', cond: {$and: [" KEYS
	 ", {$ne: ['$$s0.v', {$literal: {}}]}]}}}, as: 's0', in: {k:"
	 " {$concat: ['$$s0.k', '.']}, v: '$$s0.v'}}}, _mts1: {$map:"
	 " {input: {$filter: {input: {$objectToArray: {$ifNull: ['$b',"
	 " {$literal: {}}]}}, as: 's0', cond: {$and: [" KEYS
	 ", {$ne: ['$$s0.v', {$literal: {}}]}, {$ne: ['$$s0.v', null]}]}}},"
	 " as: 's0', in: {k: {$concat: ['$$s0.k', '.']}, v: '$$s0.v'}}}}},"
	 " {$set: {n: {$size: [{$setUnion: [{$map: {input: '$_mts0', as:"
	 " 'c', in: '$$c.k'}}, {$map: {input: '$_mts1', as: 'c', in:"
	 " '$$c.k'}}]}]}, x: {$let: {vars: {v: {$map: {input: '$_mts1', as:"
	 " 'c', in: '$$c.v.x'}}}, in: {$ifNull: [{$max: '$$v'},"
	 " '$$REMOVE']}}}}}, {$unset: ['_mts0', '_mts1']}]"},
	{"arrays side by side are counted by their indexes",
	 {{"ts", "t[]"}, {"v", "v[]"}},
	 "{'sum': {'v': 's'}}",
	 NULL,
	 "[{$set: {_mts0: {$map: {input: {$filter: {input: {$map: {input:"
	 " {$range: [0, {$size: [{$ifNull: ['$t', []]}]}]}, as: 'r0', in:"
	 " {k: {$toString: ['$$r0']}, v: {$arrayElemAt: ['$t', '$$r0']}}}},"
	 " as: 's0', cond: {$and: [{$ne: ['$$s0.v', {$literal: {}}]}]}}},"
	 " as: 's0', in: {k: {$concat: ['$$s0.k', '.']}, v: '$$s0.v'}}},"
	 " _mts1: {$map: {input: {$filter: {input: {$map: {input: {$range:"
	 " [0, {$size: [{$ifNull: ['$v', []]}]}]}, as: 'r0', in: {k:"
	 " {$toString: ['$$r0']}, v: {$arrayElemAt: ['$v', '$$r0']}}}}, as:"
	 " 's0', cond: {$and: [{$ne: ['$$s0.v', {$literal: {}}]}]}}}, as:"
	 " 's0', in: {k: {$concat: ['$$s0.k', '.']}, v: '$$s0.v'}}}}},"
	 " {$set: {s: {$let: {vars: {v: {$map: {input: '$_mts1', as: 'c',"
	 " in: '$$c.v'}}}, in: {$sum: '$$v'}}}}}, {$unset: ['_mts0',"
	 " '_mts1']}]"},
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
