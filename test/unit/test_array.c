/*
 * test_array.c
 *		Which expression changes the elements of an array?
 *
 * What such expressions compute is test_store.c's.
 */
#include "writes.h"

/* An array that is stored, or an empty one */
#define STORED(source) \
	"{$cond: [{$isArray: ['" source "']}, '" source "', []]}"

/* The same, filled up to a length with shells; n is the level */
#define FILLED(n, source, length, shell) \
	"{$let: {vars: {s" n \
	": " STORED(source) "}, in: {$concatArrays: ['$$s" n \
						"', {$map: {input: {$range: [{$size: ['$$s" n \
						"']}, " length "]}, in: " shell "}}]}}}"

/* {$let: ..}: the pieces of an array put together again */
#define PIECES(n, array, pieces) \
	"{$let: {vars: {a" n ": " array "}, in: {$concatArrays: [" pieces "]}}}"

#define SLICE(n, from, length) "{$slice: ['$$a" n "', " from ", " length "]}"

/* [what becomes of the element at an index] */
#define CHANGED(n, index, becomes) \
	"[{$let: {vars: {e" n ": {$arrayElemAt: ['$$a" n "', " index \
	"]}}, in: " becomes "}}]"

#define LITERAL(value) "{$literal: " value "}"

static const WriteCase cases[] = {
	/* indexes that count */
	{"a value takes its place in an array of its whole length",
	 {{"ts"}, {"v", "v[{second}]"}},
	 NULL,
	 "{'writes': [{'put': [37], 'v': 5}]}",
	 "[{$set: {v: " PIECES("0", FILLED("0", "$v", "60", LITERAL("{}")),
						   SLICE("0", "0", "37") ", [" LITERAL(
							   "5") "], " SLICE("0", "38",
												"2147483609")) "}}]"},
	{"there is no slice before the first, nor between neighbours",
	 {{"ts"}, {"v", "v[{second}]"}},
	 NULL,
	 "{'edit': true, 'writes': [{'put': [0], 'v': 5}, {'put': [1], 'v': '$x'}, {'put': [3], 'v': null}]}",
	 "[{$set: {v: " PIECES(
		 "0", STORED("$v"),
		 "[" LITERAL("5") "], [" LITERAL("'$x'") "], " SLICE(
			 "0", "2",
			 "1") ", [" LITERAL("null") "], " SLICE("0", "4",
													"2147483643")) "}}]"},
	{"an element goes, its place stays",
	 {{"ts"}, {"v", "v[{second}]"}},
	 NULL,
	 "{'edit': true, 'writes': [{'clear': [1]}]}",
	 "[{$set: {v: " PIECES("0", STORED("$v"),
						   SLICE("0", "0", "1") ", [" LITERAL(
							   "{}") "], " SLICE("0", "2",
												 "2147483645")) "}}]"},
	{"what means no reading fills the array, and the place of what goes",
	 {{"ts"}, {"v", "v[{second}]", "-1"}},
	 NULL,
	 "{'writes': [{'put': [1], 'v': 5}, {'clear': [2]}]}",
	 "[{$set: {v: " PIECES(
		 "0", FILLED("0", "$v", "60", LITERAL("-1")),
		 SLICE("0", "0", "1") ", [" LITERAL("5") "], [" LITERAL(
			 "-1") "], " SLICE("0", "3", "2147483644")) "}}]"},
	{"so it does in documents",
	 {{"ts"},
	  {"a", "v[{hour}].x.a", "0"},
	  {"b", "v[{hour}].b"},
	  {"c", "v[{hour}].x.c", "null"}},
	 NULL,
	 "{'edit': true, 'writes': [{'clear': [0]}]}",
	 "[{$set: {v: " PIECES("0", STORED("$v"),
						   "[" LITERAL("{x: {a: 0, c: null}}") "], " SLICE(
							   "0", "1", "2147483646")) "}}]"},
	{"fields are merged into what is stored, subdocuments alike",
	 {{"ts"},
	  {"a", "v[{second}].c.a"},
	  {"b", "v[{second}].b"},
	  {"c", "v[{second}].c.c"}},
	 NULL,
	 "{'edit': true, 'writes': [{'put': [2], 'a': 5, 'b': 6, 'c': 7}]}",
	 "[{$set: {v: " PIECES(
		 "0", STORED("$v"),
		 SLICE("0", "0", "2") ", " CHANGED(
			 "0", "2",
			 "{$mergeObjects: ['$$e0',"
			 " {c: {$mergeObjects: ['$$e0.c', {a: {$literal: 5}, c: {$literal: 7}}]},"
			 " b: {$literal: 6}}]}") ", " SLICE("0", "3",
												"2147483644")) "}}]"},
	{"an increment adds to the element",
	 {{"ts"}, {"v", "v[{second}]"}},
	 "{'mode': 'increment'}",
	 "{'edit': true, 'writes': [{'add': [0], 'v': 4}]}",
	 "[{$set: {v: " PIECES(
		 "0", STORED("$v"),
		 CHANGED(
			 "0", "0",
			 "{$add: [{$cond: [{$and: [{$in: [{$type: ['$$e0']},"
			 " ['int', 'long', 'double', 'decimal']]}]}, '$$e0', 0]}, {$literal: 4}]}") ", " SLICE("0",
																								   "1",
																								   "2147483646")) "}}]"},
	{"zipped arrays change side by side; one keeps what is not given",
	 {{"ts"}, {"a", "a[{second}]"}, {"b", "x.b[{second}]"}},
	 NULL,
	 "{'edit': true, 'writes': [{'put': [0], 'a': 5}]}",
	 "[{$set: {a: " PIECES(
		 "0", STORED("$a"),
		 "[" LITERAL("5") "], " SLICE(
			 "0", "1",
			 "2147483646")) ", 'x.b': " PIECES("0", STORED("$x.b"),
											   CHANGED("0", "0", "'$$e0'") ", " SLICE(
												   "0", "1",
												   "2147483646")) "}}]"},
	{"each array behind keys changes by itself",
	 {{"ts"}, {"v", "v.{minute}[{30 seconds}]"}},
	 NULL,
	 "{'writes': [{'put': [4, 0], 'v': 5}, {'put': [4, 1], 'v': 6}, {'put': [7, 0], 'v': 7}]}",
	 "[{$set: {'v.4': " PIECES(
		 "1", FILLED("1", "$v.4", "2", LITERAL("{}")),
		 "[" LITERAL("5") "], [" LITERAL("6") "], " SLICE(
			 "1", "2",
			 "2147483645")) ", 'v.7': " PIECES("1",
											   FILLED("1", "$v.7", "2",
													  LITERAL("{}")),
											   "[" LITERAL("7") "], " SLICE(
												   "1", "1",
												   "2147483646")) "}}]"},

	/* indexes in indexes */
	{"new arrays get their whole length on both levels",
	 {{"ts"}, {"v", "v[{minute}][{second}]"}},
	 NULL,
	 "{'writes': [{'put': [0, 1], 'v': 5}]}",
	 "[{$set: {v: " PIECES(
		 "0",
		 FILLED("0", "$v", "60",
				"{$map: {input: {$range: [0, 60]}, in: {$literal: {}}}}"),
		 CHANGED("0", "0",
				 PIECES("1", FILLED("1", "$$e0", "60", LITERAL("{}")),
						SLICE("1", "0", "1") ", [" LITERAL("5") "], " SLICE(
							"1", "2",
							"2147483645"))) ", " SLICE("0", "1",
													   "2147483646")) "}}]"},
	{"those whose length the calendar knows are empty until then",
	 {{"ts"}, {"v", "v[{day}][{hour}]"}},
	 NULL,
	 "{'writes': [{'put': [0, 0], 'v': 5}]}",
	 "[{$set: {v: " PIECES(
		 "0", FILLED("0", "$v", "31", "[]"),
		 CHANGED("0", "0",
				 PIECES("1", FILLED("1", "$$e0", "24", LITERAL("{}")),
						"[" LITERAL("5") "], " SLICE(
							"1", "1",
							"2147483646"))) ", " SLICE("0", "1",
													   "2147483646")) "}}]"},
	{"writes of one inner array are done in one place",
	 {{"ts"}, {"v", "v[{minute}][{second}].x"}},
	 NULL,
	 "{'edit': true, 'writes': [{'clear': [3, 0]}, {'put': [3, 1], 'v': 5}]}",
	 "[{$set: {v: " PIECES(
		 "0", STORED("$v"),
		 SLICE("0", "0", "3") ", " CHANGED(
			 "0", "3",
			 PIECES(
				 "1", STORED("$$e0"),
				 "[" LITERAL("{}") "], " CHANGED("1", "1", "{$mergeObjects: ['$$e1', {x: {$literal: 5}}]}") ", " SLICE(
					 "1", "2",
					 "2147483645"))) ", " SLICE("0", "4",
												"2147483643")) "}}]"},

	/* elements */
	{"an element that goes leaves no place",
	 {{"ts", "s[].t"}, {"v", "s[].v"}},
	 "{'mode': 'push'}",
	 "{'edit': true, 'writes': [{'clear': [1]}, {'put': [2], 'v': 5}, {'clear': [3]}]}",
	 "[{$set: {s: " PIECES(
		 "0", STORED("$s"),
		 SLICE("0", "0", "1") ", " CHANGED(
			 "0", "2",
			 "{$mergeObjects: ['$$e0', {v: {$literal: 5}}]}") ", " SLICE("0",
																		 "4",
																		 "2147483643")) "}}]"},
	{"parallel arrays are made of one length, then appended to",
	 {{"ts", "t[]"}, {"v", "v[].x"}},
	 "{'mode': 'push'}",
	 "{'writes': [{'put': [0], 'ts': 1, 'v': 5}, {'put': [0], 'ts': 2, 'v': '$x'}]}",
	 "[{$set: {t: {$concatArrays: [{$ifNull: ['$t', []]},"
	 " {$map: {input: {$range: [{$size: [{$ifNull: ['$t', []]}]},"
	 " {$max: [{$size: [{$ifNull: ['$t', []]}]}, {$size: [{$ifNull: ['$v', []]}]}]}]},"
	 " in: null}}, {$literal: [1, 2]}]},"
	 " v: {$concatArrays: [{$ifNull: ['$v', []]},"
	 " {$map: {input: {$range: [{$size: [{$ifNull: ['$v', []]}]},"
	 " {$max: [{$size: [{$ifNull: ['$t', []]}]}, {$size: [{$ifNull: ['$v', []]}]}]}]},"
	 " in: null}}, {$literal: [{x: 5}, {x: '$x'}]}]}}}]"},
};

int
main(void)
{
	writes_compare(cases, sizeof(cases) / sizeof(cases[0]), true);
	return tap_done();
}
