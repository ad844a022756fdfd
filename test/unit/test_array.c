/*
 * test_array.c
 *		Proves which expressions change the elements of an array.
 *
 * test_store.c tests their results.
 */
#include "writes.h"

/* The array v padded to 60 elements, then its slices */
#define FILLED \
	"{$let: {vars: {a0: {$let: {vars: {s0: {$cond: [{$isArray:" \
	" ['$v']}, '$v', []]}}, in: {$concatArrays: ['$$s0', {$map:" \
	" {input: {$range: [{$size: ['$$s0']}, 60]}, in: {$literal:" \
	" {}}}}]}}}}, in: {$concatArrays: ["

/* The array v as it is stored, then its slices */
#define STORED \
	"{$let: {vars: {a0: {$cond: [{$isArray: ['$v']}, '$v', []]}}, in:" \
	" {$concatArrays: ["

static const WriteCase cases[] = {
	{"a value is set in an array padded to its full length",
	 {{"ts"}, {"v", "v[{second}]"}},
	 NULL,
	 "{'writes': [{'put': [37], 'v': 5}]}",
	 "[{$set: {v: " FILLED
	 "{$slice: ['$$a0', 0, 37]}, [{$literal: 5}], {$slice: ['$$a0', 38,"
	 " 2147483609]}]}}}}}]"},
	{"no slice precedes the first element or separates adjacent ones",
	 {{"ts"}, {"v", "v[{second}]"}},
	 NULL,
	 "{'edit': true, 'writes': [{'put': [0], 'v': 5}, {'put': [1], 'v':"
	 " '$x'}, {'put': [3], 'v': null}]}",
	 "[{$set: {v: " STORED
	 "[{$literal: 5}], [{$literal: '$x'}], {$slice: ['$$a0', 2, 1]},"
	 " [{$literal: null}], {$slice: ['$$a0', 4, 2147483643]}]}}}}}]"},
	{"a removed element leaves a null",
	 {{"ts"}, {"v", "v[{second}]"}},
	 NULL,
	 "{'edit': true, 'writes': [{'clear': [1]}]}",
	 "[{$set: {v: " STORED
	 "{$slice: ['$$a0', 0, 1]}, [{$literal: {}}], {$slice: ['$$a0', 2,"
	 " 2147483645]}]}}}}}]"},
	{"the missing value pads the array and replaces a removed element",
	 {{"ts"}, {"v", "v[{second}]", "-1"}},
	 NULL,
	 "{'writes': [{'put': [1], 'v': 5}, {'clear': [2]}]}",
	 "[{$set: {v: {$let: {vars: {a0: {$let: {vars: {s0: {$cond:"
	 " [{$isArray: ['$v']}, '$v', []]}}, in: {$concatArrays: ['$$s0',"
	 " {$map: {input: {$range: [{$size: ['$$s0']}, 60]}, in: {$literal:"
	 " -1}}}]}}}}, in: {$concatArrays: [{$slice: ['$$a0', 0, 1]},"
	 " [{$literal: 5}], [{$literal: -1}], {$slice: ['$$a0', 3,"
	 " 2147483644]}]}}}}}]"},
	{"the missing value pads an array of documents",
	 {{"ts"},
	  {"a", "v[{hour}].x.a", "0"},
	  {"b", "v[{hour}].b"},
	  {"c", "v[{hour}].x.c", "null"}},
	 NULL,
	 "{'edit': true, 'writes': [{'clear': [0]}]}",
	 "[{$set: {v: " STORED
	 "[{$literal: {x: {a: 0, c: null}}}], {$slice: ['$$a0', 1,"
	 " 2147483646]}]}}}}}]"},
	{"fields and subdocuments are merged into the stored element",
	 {{"ts"},
	  {"a", "v[{second}].c.a"},
	  {"b", "v[{second}].b"},
	  {"c", "v[{second}].c.c"}},
	 NULL,
	 "{'edit': true, 'writes': [{'put': [2], 'a': 5, 'b': 6, 'c': 7}]}",
	 "[{$set: {v: " STORED
	 "{$slice: ['$$a0', 0, 2]}, [{$let: {vars: {e0: {$arrayElemAt:"
	 " ['$$a0', 2]}}, in: {$mergeObjects: ['$$e0', {c: {$mergeObjects:"
	 " ['$$e0.c', {a: {$literal: 5}, c: {$literal: 7}}]}, b: {$literal:"
	 " 6}}]}}}], {$slice: ['$$a0', 3, 2147483644]}]}}}}}]"},
	{"the same name in two subdocuments",
	 {{"ts"}, {"a", "v[{second}].c.x"}, {"b", "v[{second}].d.x"}},
	 NULL,
	 "{'edit': true, 'writes': [{'put': [0], 'a': 5, 'b': 6}]}",
	 "[{$set: {v: " STORED
	 "[{$let: {vars: {e0: {$arrayElemAt: ['$$a0', 0]}}, in:"
	 " {$mergeObjects: ['$$e0', {c: {$mergeObjects: ['$$e0.c', {x:"
	 " {$literal: 5}}]}, d: {$mergeObjects: ['$$e0.d', {x: {$literal:"
	 " 6}}]}}]}}}], {$slice: ['$$a0', 1, 2147483646]}]}}}}}]"},
	{"an increment adds to the element",
	 {{"ts"}, {"v", "v[{second}]"}},
	 "{'mode': 'increment'}",
	 "{'edit': true, 'writes': [{'add': [0], 'v': 4}]}",
	 "[{$set: {v: " STORED
	 "[{$let: {vars: {e0: {$arrayElemAt: ['$$a0', 0]}}, in: {$add:"
	 " [{$cond: [{$and: [{$in: [{$type: ['$$e0']}, ['int', 'long',"
	 " 'double', 'decimal']]}]}, '$$e0', 0]}, {$literal: 4}]}}}],"
	 " {$slice: ['$$a0', 1, 2147483646]}]}}}}}]"},
	{"zipped arrays change together; elements not given are kept",
	 {{"ts"}, {"a", "a[{second}]"}, {"b", "x.b[{second}]"}},
	 NULL,
	 "{'edit': true, 'writes': [{'put': [0], 'a': 5}]}",
	 "[{$set: {a: {$let: {vars: {a0: {$cond: [{$isArray: ['$a']}, '$a',"
	 " []]}}, in: {$concatArrays: [[{$literal: 5}], {$slice: ['$$a0',"
	 " 1, 2147483646]}]}}}, 'x.b': {$let: {vars: {a0: {$cond:"
	 " [{$isArray: ['$x.b']}, '$x.b', []]}}, in: {$concatArrays:"
	 " [[{$let: {vars: {e0: {$arrayElemAt: ['$$a0', 0]}}, in:"
	 " '$$e0'}}], {$slice: ['$$a0', 1, 2147483646]}]}}}}}]"},
	{"each array below keys changes by itself",
	 {{"ts"}, {"v", "v.{minute}[{30 seconds}]"}},
	 NULL,
	 "{'writes': [{'put': [4, 0], 'v': 5}, {'put': [4, 1], 'v': 6},"
	 " {'put': [7, 0], 'v': 7}]}",
	 "[{$set: {'v.4': {$let: {vars: {a1: {$let: {vars: {s1: {$cond:"
	 " [{$isArray: ['$v.4']}, '$v.4', []]}}, in: {$concatArrays:"
	 " ['$$s1', {$map: {input: {$range: [{$size: ['$$s1']}, 2]}, in:"
	 " {$literal: {}}}}]}}}}, in: {$concatArrays: [[{$literal: 5}],"
	 " [{$literal: 6}], {$slice: ['$$a1', 2, 2147483645]}]}}}, 'v.7':"
	 " {$let: {vars: {a1: {$let: {vars: {s1: {$cond: [{$isArray:"
	 " ['$v.7']}, '$v.7', []]}}, in: {$concatArrays: ['$$s1', {$map:"
	 " {input: {$range: [{$size: ['$$s1']}, 2]}, in: {$literal:"
	 " {}}}}]}}}}, in: {$concatArrays: [[{$literal: 7}], {$slice:"
	 " ['$$a1', 1, 2147483646]}]}}}}}]"},
	{"new arrays get their full length on both levels",
	 {{"ts"}, {"v", "v[{minute}][{second}]"}},
	 NULL,
	 "{'writes': [{'put': [0, 1], 'v': 5}]}",
	 "[{$set: {v: {$let: {vars: {a0: {$let: {vars: {s0: {$cond:"
	 " [{$isArray: ['$v']}, '$v', []]}}, in: {$concatArrays: ['$$s0',"
	 " {$map: {input: {$range: [{$size: ['$$s0']}, 60]}, in: {$map:"
	 " {input: {$range: [0, 60]}, in: {$literal: {}}}}}}]}}}}, in:"
	 " {$concatArrays: [[{$let: {vars: {e0: {$arrayElemAt: ['$$a0',"
	 " 0]}}, in: {$let: {vars: {a1: {$let: {vars: {s1: {$cond:"
	 " [{$isArray: ['$$e0']}, '$$e0', []]}}, in: {$concatArrays:"
	 " ['$$s1', {$map: {input: {$range: [{$size: ['$$s1']}, 60]}, in:"
	 " {$literal: {}}}}]}}}}, in: {$concatArrays: [{$slice: ['$$a1', 0,"
	 " 1]}, [{$literal: 5}], {$slice: ['$$a1', 2, 2147483645]}]}}}}}],"
	 " {$slice: ['$$a0', 1, 2147483646]}]}}}}}]"},
	{"arrays whose length depends on the calendar begin empty",
	 {{"ts"}, {"v", "v[{day}][{hour}]"}},
	 NULL,
	 "{'writes': [{'put': [0, 0], 'v': 5}]}",
	 "[{$set: {v: {$let: {vars: {a0: {$let: {vars: {s0: {$cond:"
	 " [{$isArray: ['$v']}, '$v', []]}}, in: {$concatArrays: ['$$s0',"
	 " {$map: {input: {$range: [{$size: ['$$s0']}, 31]}, in: []}}]}}}},"
	 " in: {$concatArrays: [[{$let: {vars: {e0: {$arrayElemAt: ['$$a0',"
	 " 0]}}, in: {$let: {vars: {a1: {$let: {vars: {s1: {$cond:"
	 " [{$isArray: ['$$e0']}, '$$e0', []]}}, in: {$concatArrays:"
	 " ['$$s1', {$map: {input: {$range: [{$size: ['$$s1']}, 24]}, in:"
	 " {$literal: {}}}}]}}}}, in: {$concatArrays: [[{$literal: 5}],"
	 " {$slice: ['$$a1', 1, 2147483646]}]}}}}}], {$slice: ['$$a0', 1,"
	 " 2147483646]}]}}}}}]"},
	{"writes of one inner array are grouped",
	 {{"ts"}, {"v", "v[{minute}][{second}].x"}},
	 NULL,
	 "{'edit': true, 'writes': [{'clear': [3, 0]}, {'put': [3, 1], 'v':"
	 " 5}]}",
	 "[{$set: {v: " STORED
	 "{$slice: ['$$a0', 0, 3]}, [{$let: {vars: {e0: {$arrayElemAt:"
	 " ['$$a0', 3]}}, in: {$let: {vars: {a1: {$cond: [{$isArray:"
	 " ['$$e0']}, '$$e0', []]}}, in: {$concatArrays: [[{$literal: {}}],"
	 " [{$let: {vars: {e1: {$arrayElemAt: ['$$a1', 1]}}, in:"
	 " {$mergeObjects: ['$$e1', {x: {$literal: 5}}]}}}], {$slice:"
	 " ['$$a1', 2, 2147483645]}]}}}}}], {$slice: ['$$a0', 4,"
	 " 2147483643]}]}}}}}]"},
	{"an element removed from an unindexed array leaves no gap",
	 {{"ts", "s[].t"}, {"v", "s[].v"}},
	 "{'mode': 'push'}",
	 "{'edit': true, 'writes': [{'clear': [1]}, {'put': [2], 'v': 5},"
	 " {'clear': [3]}]}",
	 "[{$set: {s: {$let: {vars: {a0: {$cond: [{$isArray: ['$s']}, '$s',"
	 " []]}}, in: {$concatArrays: [{$slice: ['$$a0', 0, 1]}, [{$let:"
	 " {vars: {e0: {$arrayElemAt: ['$$a0', 2]}}, in: {$mergeObjects:"
	 " ['$$e0', {v: {$literal: 5}}]}}}], {$slice: ['$$a0', 4,"
	 " 2147483643]}]}}}}}]"},
	{"parallel arrays are padded to one length, then appended to",
	 {{"ts", "t[]"}, {"v", "v[].x"}},
	 "{'mode': 'push'}",
	 "{'writes': [{'put': [0], 'ts': 1, 'v': 5}, {'put': [0], 'ts': 2,"
	 " 'v': '$x'}]}",
	 "[{$set: {t: {$concatArrays: [{$ifNull: ['$t', []]}, {$map:"
	 " {input: {$range: [{$size: [{$ifNull: ['$t', []]}]}, {$max:"
	 " [{$size: [{$ifNull: ['$t', []]}]}, {$size: [{$ifNull: ['$v',"
	 " []]}]}]}]}, in: null}}, {$literal: [1, 2]}]}, v: {$concatArrays:"
	 " [{$ifNull: ['$v', []]}, {$map: {input: {$range: [{$size:"
	 " [{$ifNull: ['$v', []]}]}, {$max: [{$size: [{$ifNull: ['$t',"
	 " []]}]}, {$size: [{$ifNull: ['$v', []]}]}]}]}, in: null}},"
	 " {$literal: [{x: 5}, {x: '$x'}]}]}}}]"},
};

int
main(void)
{
	writes_compare(cases, sizeof(cases) / sizeof(cases[0]), true);
	return tap_done();
}
