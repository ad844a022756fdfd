/*
 * test_update.c
 *		Proves which updates store points under keys or at the end of an array.
 *
 * test_array.c and test_store.c test the pipelines of arrays.
 */
#include "core/update/write_once.h"
#include "writes.h"

/* Updates by plain operators */
static const WriteCase plain[] = {
	{"values under keys are set",
	 {{"ts"}, {"v", "values.{second}"}},
	 NULL,
	 "{'writes': [{'put': [37], 'v': 5}, {'put': [38], 'v': null}]}",
	 "{$set: {'values.37': 5, 'values.38': null}}"},
	{"a value that is not given stays as it is",
	 {{"ts"}, {"a", "v.{minute}.{second}.a"}, {"b", "v.{minute}.{second}.b"}},
	 NULL,
	 "{'writes': [{'put': [0, 59], 'a': 1, 'b': 2}, {'put': [1, 0], 'b': 3}]}",
	 "{$set: {'v.0.59.a': 1, 'v.0.59.b': 2, 'v.1.0.b': 3}}"},
	{"the keys of a column are text",
	 {{"ts"}, {"type"}, {"v", "v.{second}.{type}"}},
	 NULL,
	 "{'writes': [{'put': [1, 'cpu'], 'v': 5}, {'put': [1, 'mem'], 'v': 6}]}",
	 "{$set: {'v.1.cpu': 5, 'v.1.mem': 6}}"},
	{"points have no values of the bucket's columns",
	 {{"ts"}, {"k"}, {"v", "v.{second}"}},
	 NULL,
	 "{'writes': [{'put': [1], 'v': 5}]}",
	 "{$set: {'v.1': 5}}"},
	{"a point's own time is set like a value",
	 {{"ts", "v.{second}.t"}, {"v", "v.{second}.v"}},
	 NULL,
	 "{'writes': [{'put': [1], 'ts': {'$date': '2013-10-10T00:00:01Z'}, 'v': 5}]}",
	 "{$set: {'v.1.t': ISODate('2013-10-10T00:00:01Z'), 'v.1.v': 5}}"},
	{"attributes of a new bucket, bounds and counters",
	 {{"ts"}, {"v", "v.{second}"}},
	 "{'once': true}",
	 "{'writes': [{'put': [1], 'v': 5}], 'attributes': {'tags.room': 'hall'},"
	 " 'lows': {'min': 5}, 'highs': {'last': 7, 'max': 5}, 'sums': {'n': 1}}",
	 "{$set: {'v.1': 5}, $setOnInsert: {'tags.room': 'hall'}, $min: {min: 5},"
	 " $max: {last: 7, max: 5}, $inc: {n: 1}}"},
	{"a null increment adds nothing",
	 {{"ts"}, {"a", "h.{hour}.a"}, {"b", "h.{hour}.b"}},
	 "{'mode': 'increment'}",
	 "{'writes': [{'add': [2], 'a': 4, 'b': null}, {'add': [3], 'a': -1}]}",
	 "{$inc: {'h.2.a': 4, 'h.3.a': -1}}"},
	{"increments and counters are added at once",
	 {{"ts"}, {"v", "h.{hour}"}},
	 "{'mode': 'increment'}",
	 "{'writes': [{'add': [2], 'v': 4}], 'attributes': {'room': 'hall'},"
	 " 'highs': {'last': 7}, 'sums': {'sum': 4, 'n': 1}}",
	 "{$setOnInsert: {room: 'hall'}, $max: {last: 7},"
	 " $inc: {'h.2': 4, sum: 4, n: 1}}"},
	{"points are pushed",
	 {{"ts", "s[].t"}, {"v", "s[].v"}},
	 "{'mode': 'push'}",
	 "{'writes': [{'put': [0], 'ts': 1, 'v': 5}, {'put': [0], 'ts': 2, 'v': null}],"
	 " 'sums': {'n': 2}}",
	 "{$push: {s: {$each: [{t: 1, v: 5}, {t: 2, v: null}]}}, $inc: {n: 2}}"},
	{"fields of a pushed point share a subdocument",
	 {{"ts", "a.s[].at.t"}, {"v", "a.s[].v"}, {"z", "a.s[].at.zone"}},
	 "{'mode': 'push'}",
	 "{'writes': [{'put': [0], 'ts': 1, 'v': 5, 'z': 'Z'}]}",
	 "{$push: {'a.s': {$each: [{at: {t: 1, zone: 'Z'}, v: 5}]}}}"},
	{"bare values are pushed",
	 {{"ts", "times[]"}},
	 "{'mode': 'push'}",
	 "{'writes': [{'put': [0], 'ts': 1}, {'put': [0], 'ts': 1}]}",
	 "{$push: {times: {$each: [1, 1]}}}"},
	{"each array behind keys gets its own points",
	 {{"ts", "h.{hour}.{type}[].t"}, {"type"}, {"v", "h.{hour}.{type}[].v"}},
	 "{'mode': 'push'}",
	 "{'writes': [{'put': [1, 'a', 0], 'ts': 1, 'v': 1},"
	 " {'put': [1, 'a', 0], 'ts': 2, 'v': 2}, {'put': [1, 'b', 0], 'ts': 3, 'v': 3},"
	 " {'put': [2, 'b', 0], 'ts': 4, 'v': 4}]}",
	 "{$push: {'h.1.a': {$each: [{t: 1, v: 1}, {t: 2, v: 2}]},"
	 " 'h.1.b': {$each: [{t: 3, v: 3}]}, 'h.2.b': {$each: [{t: 4, v: 4}]}}}"},
};

#define IS_NUMBER "'int', 'long', 'double', 'decimal'"

/* Updates by pipelines, of points under keys */
static const WriteCase pipelines[] = {
	{"a pipeline sets literals, which may look like fields",
	 {{"ts"}, {"v", "v.{second}"}},
	 NULL,
	 "{'writes': [{'put': [1], 'v': '$x'}, {'put': [2], 'v': 5}]}",
	 "[{$set: {'v.1': {$literal: '$x'}, 'v.2': {$literal: 5}}}]"},
	{"a pipeline adds to a number, otherwise to 0",
	 {{"ts"}, {"v", "v.{second}"}},
	 "{'mode': 'increment'}",
	 "{'writes': [{'add': [1], 'v': 4}]}",
	 "[{$set: {'v.1': {$add: [{$cond: [{$and: [{$in: [{$type: ['$v.1']},"
	 " [" IS_NUMBER "]]}]}, '$v.1', 0]}, {$literal: 4}]}}}]"},
	{"a pipeline adds to 0 where the missing value is stored",
	 {{"ts"}, {"v", "v.{second}", "-1"}},
	 "{'mode': 'increment'}",
	 "{'writes': [{'add': [1], 'v': 4}]}",
	 "[{$set: {'v.1': {$add: [{$cond: [{$and: [{$in: [{$type: ['$v.1']},"
	 " [" IS_NUMBER "]]}, {$ne: ['$v.1', {$literal: -1}]}]}, '$v.1', 0]},"
	 " {$literal: 4}]}}}]"},
	{"a pipeline adds nothing for null, and sets the time",
	 {{"ts", "v.{second}.t"}, {"v", "v.{second}.v"}},
	 "{'mode': 'increment'}",
	 "{'writes': [{'add': [1], 'ts': 7, 'v': null}]}",
	 "[{$set: {'v.1.t': {$literal: 7}}}]"},
	{"attributes are set in a bucket without points, and bounds are widened",
	 {{"ts"}, {"v", "a.v.{second}"}},
	 NULL,
	 "{'writes': [{'put': [1], 'v': 5}], 'attributes': {'tags.room': '$5'},"
	 " 'lows': {'first': 1}, 'highs': {'b.last': 2}}",
	 "[{$set: {tags: {$cond: [{$eq: [{$type: ['$a.v']}, 'missing']},"
	 " {$cond: [{$in: [{$type: ['$tags']}, ['object', 'missing']]},"
	 " {$mergeObjects: ['$tags', {room: {$literal: '$5'}}]}, '$tags']},"
	 " '$tags']}}},"
	 " {$set: {first: {$min: ['$first', {$literal: 1}]},"
	 " 'b.last': {$max: ['$b.last', {$literal: 2}]},"
	 " 'a.v.1': {$literal: 5}}}]"},
	{"attributes of a subdocument that are left out are those of a new bucket",
	 {{"ts"}, {"v", "v.{second}"}},
	 NULL,
	 "{'writes': [{'put': [1], 'v': 5}], 'agree': true,"
	 " 'attributes': {'qc.a.by': null, 'qc.flag': 1, 'qc.a.at': null}}",
	 "[{$set: {qc: {$cond: [{$eq: [{$type: ['$v']}, 'missing']},"
	 " {$cond: [{$in: [{$type: ['$qc']}, ['object', 'missing']]},"
	 " {$mergeObjects: ['$qc', {a: "
	 "{$cond: [{$in: [{$type: ['$qc.a']}, ['object', 'missing']]},"
	 " {$mergeObjects: ['$qc.a', {by: {$literal: null}, at: {$literal: null}}]},"
	 " '$qc.a']}}]}, '$qc']}, '$qc']}}},"
	 " {$set: {'qc.flag': {$ifNull: ['$qc.flag', {$literal: 1}]},"
	 " _id: {$switch: {branches: ["
	 "{case: {$not: [{$in: [{$type: ['$qc']}, ['object', 'missing', 'null']]}]},"
	 " then: {field: {$literal: 'qc'}, type: {$type: ['$qc']}, row: {$literal: {flag: 1}}}}, "
	 "{case: {$not: [{$in: [{$ifNull: ['$qc.flag', null]}, [null, {$literal: 1}]]}]},"
	 " then: {field: {$literal: 'qc.flag'}, bucket: '$qc.flag', row: {$literal: 1}}}],"
	 " default: '$_id'}},"
	 " 'v.1': {$literal: 5}}}]"},
	{"attributes that are given must agree, or are set",
	 {{"ts"}, {"v", "v.{second}"}},
	 NULL,
	 "{'writes': [{'put': [1], 'v': 5}], 'agree': true,"
	 " 'attributes': {'tags.room': '$5', 'fw': null, 'n': 3}}",
	 "[{$set: {'tags.room': {$ifNull: ['$tags.room', {$literal: '$5'}]},"
	 " fw: {$cond: [{$eq: [{$type: ['$v']}, 'missing']}, {$literal: null}, '$fw']},"
	 " n: {$ifNull: ['$n', {$literal: 3}]},"
	 " _id: {$switch: {branches: ["
	 "{case: {$not: [{$in: [{$type: ['$tags']}, ['object', 'missing', 'null']]}]},"
	 " then: {field: {$literal: 'tags'}, type: {$type: ['$tags']}, row: {$literal: {room: '$5'}}}}, "
	 "{case: {$not: [{$in: [{$ifNull: ['$tags.room', null]}, [null, {$literal: '$5'}]]}]},"
	 " then: {field: {$literal: 'tags.room'}, bucket: '$tags.room', row: {$literal: '$5'}}}, "
	 "{case: {$not: [{$in: [{$ifNull: ['$n', null]}, [null, {$literal: 3}]]}]},"
	 " then: {field: {$literal: 'n'}, bucket: '$n', row: {$literal: 3}}}],"
	 " default: '$_id'}},"
	 " 'v.1': {$literal: 5}}}]"},
	{"the refusal of an attribute hides what is stored",
	 {{"ts"}, {"v", "v.{second}"}},
	 NULL,
	 "{'writes': [{'put': [1], 'v': 5}], 'agree': true, 'hide': true,"
	 " 'attributes': {'room': 'hall'}}",
	 "[{$set: {room: {$ifNull: ['$room', {$literal: 'hall'}]},"
	 " _id: {$switch: {branches: ["
	 "{case: {$not: [{$in: [{$ifNull: ['$room', null]}, [null, {$literal: 'hall'}]]}]},"
	 " then: {field: {$literal: 'room'}, row: {$literal: 'hall'}}}],"
	 " default: '$_id'}},"
	 " 'v.1': {$literal: 5}}}]"},
	{"a removed point leaves nothing",
	 {{"ts"}, {"a", "v.{second}.a"}, {"b", "v.{second}.b"}},
	 NULL,
	 "{'edit': true, 'writes': [{'put': [1], 'a': 5}, {'clear': [2]}, {'clear': [3]}]}",
	 "[{$set: {'v.1.a': {$literal: 5}}}, {$unset: ['v.2', 'v.3']}]"},
	{"a removed point leaves nothing in several containers",
	 {{"ts"}, {"a", "a.{second}"}, {"b", "b.{second}.x"}},
	 NULL,
	 "{'edit': true, 'writes': [{'clear': [2]}]}",
	 "[{$unset: ['a.2', 'b.2']}]"},
	{"a removed point leaves the missing value in preallocated slots",
	 {{"ts"},
	  {"a", "v.{second}.a", "0"},
	  {"b", "v.{second}.b", "null"},
	  {"c", "v.{second}.c"}},
	 NULL,
	 "{'edit': true, 'writes': [{'clear': [2]}]}",
	 "[{$set: {'v.2.a': {$literal: 0}, 'v.2.b': {$literal: null}}},"
	 " {$unset: ['v.2.c']}]"},
};

/* Layouts, and whether a "plain" update or a "pipeline" writes their points */
static const WriteCase needs[] = {
	{"keys", {{"ts"}, {"v", "v.{second}"}}, NULL, NULL, "plain"},
	{"keys with pre-aggregates",
	 {{"ts"}, {"v", "v.{second}"}},
	 "{'count': 'n'}",
	 NULL,
	 "pipeline"},
	{"keys with the sum of one value",
	 {{"ts"}, {"v", "v.{second}"}},
	 "{'sum': {'v': 's'}}",
	 NULL,
	 "pipeline"},
	{"keys that are written once",
	 {{"ts"}, {"v", "v.{second}"}},
	 "{'once': true, 'count': 'n', 'max': {'v': 'x'}}",
	 NULL,
	 "plain"},
	{"extremes that may be NaN, though written once",
	 {{"ts"}, {"v", "v.{second}"}},
	 "{'once': true, 'nan': {'v': 1}, 'max': {'v': 'x'}}",
	 NULL,
	 "pipeline"},
	{"a sum that may be NaN, written once",
	 {{"ts"}, {"v", "v.{second}"}},
	 "{'once': true, 'nan': {'v': 1}, 'sum': {'v': 'x'}}",
	 NULL,
	 "plain"},
	{"indexes that count",
	 {{"ts"}, {"v", "v[{second}]"}},
	 "{'once': true}",
	 NULL,
	 "pipeline"},
	{"indexes behind keys",
	 {{"ts"}, {"v", "v.{minute}[{second}]"}},
	 NULL,
	 NULL,
	 "pipeline"},
	{"pushed points",
	 {{"ts", "s[].t"}, {"v", "s[].v"}},
	 "{'mode': 'push', 'count': 'n', 'min': {'v': 'm'}}",
	 NULL,
	 "plain"},
	{"pushed points whose minimum may be NaN",
	 {{"ts", "s[].t"}, {"v", "s[].v"}},
	 "{'mode': 'push', 'nan': {'v': 1}, 'min': {'v': 'm'}}",
	 NULL,
	 "pipeline"},
	{"parallel arrays",
	 {{"ts", "t[]"}, {"v", "v[]"}},
	 "{'mode': 'push'}",
	 NULL,
	 "pipeline"},
	{"increments",
	 {{"ts"}, {"v", "v.{second}"}},
	 "{'mode': 'increment', 'sum': {'v': 's'}}",
	 NULL,
	 "plain"},
	{"increments where the missing value is 0",
	 {{"ts"}, {"v", "v.{second}", "0"}},
	 "{'mode': 'increment'}",
	 NULL,
	 "plain"},
	{"increments where the missing value is -1",
	 {{"ts"}, {"v", "v.{second}", "-1"}},
	 "{'mode': 'increment'}",
	 NULL,
	 "pipeline"},
	{"increments where the missing value is null",
	 {{"ts"}, {"v", "v.{second}", "null"}},
	 "{'mode': 'increment'}",
	 NULL,
	 "pipeline"},
	{"increments with a count",
	 {{"ts"}, {"v", "v.{second}"}},
	 "{'mode': 'increment', 'count': 'n'}",
	 NULL,
	 "pipeline"},
	{"increments with a maximum",
	 {{"ts"}, {"v", "v.{second}"}},
	 "{'mode': 'increment', 'max': {'v': 'x'}}",
	 NULL,
	 "pipeline"},
	{"increments that are written once",
	 {{"ts"}, {"v", "v.{second}"}},
	 "{'mode': 'increment', 'once': true, 'count': 'n'}",
	 NULL,
	 "plain"},
	{"increments of points with their own time",
	 {{"ts", "v.{second}.t"}, {"v", "v.{second}.v"}},
	 "{'mode': 'increment'}",
	 NULL,
	 "pipeline"},
};

/* The document inserted for a new bucket, or NULL if it must be updated */
static const WriteCase new_buckets[] = {
	{"values under keys, null among them",
	 {{"ts"}, {"v", "values.{second}"}},
	 NULL,
	 "{'writes': [{'put': [37], 'v': 5}, {'put': [38], 'v': null}]}",
	 "{values: {'37': 5, '38': null}}"},
	{"levels of keys",
	 {{"ts"}, {"a", "v.{minute}.{second}.a"}, {"b", "v.{minute}.{second}.b"}},
	 NULL,
	 "{'writes': [{'put': [0, 1], 'a': 1, 'b': 2}, {'put': [0, 59], 'a': 3, 'b': 4},"
	 " {'put': [1, 1], 'a': 5, 'b': 6}]}",
	 "{v: {'0': {'1': {a: 1, b: 2}, '59': {a: 3, b: 4}}, '1': {'1': {a: 5, b: 6}}}}"},
	{"names among the keys, and before them",
	 {{"ts"}, {"v", "a.b.{minute}.s.{second}.x.v"}},
	 NULL,
	 "{'writes': [{'put': [0, 1], 'v': 1}, {'put': [2, 1], 'v': 2}]}",
	 "{a: {b: {'0': {s: {'1': {x: {v: 1}}}}, '2': {s: {'1': {x: {v: 2}}}}}}}"},
	{"the keys of a column",
	 {{"ts"}, {"type"}, {"v", "v.{second}.{type}"}},
	 NULL,
	 "{'writes': [{'put': [1, 'cpu'], 'v': 5}, {'put': [1, 'mem'], 'v': 6},"
	 " {'put': [2, 'mem'], 'v': 7}]}",
	 "{v: {'1': {cpu: 5, mem: 6}, '2': {mem: 7}}}"},
	{"containers side by side",
	 {{"ts"}, {"a", "a.{second}"}, {"b", "b.{second}.x"}},
	 NULL,
	 "{'writes': [{'put': [1], 'a': 1, 'b': 2}, {'put': [2], 'a': null, 'b': 3}]}",
	 "{a: {'1': 1, '2': null}, b: {'1': {x: 2}, '2': {x: 3}}}"},
	{"attributes, bounds and counters",
	 {{"ts"}, {"v", "v.{second}"}},
	 "{'once': true}",
	 "{'writes': [{'put': [1], 'v': 5}], 'attributes': {'tags.room': 'hall'},"
	 " 'lows': {'min': 5}, 'highs': {'last': 7, 'tags.max': 5}, 'sums': {'n': 1}}",
	 "{tags: {room: 'hall', max: 5}, min: 5, last: 7, n: 1, v: {'1': 5}}"},
	{"a total in the field of the points",
	 {{"ts"}, {"v", "v.{second}"}},
	 "{'once': true}",
	 "{'writes': [{'put': [1], 'v': 5}], 'sums': {'v.total': 1}}"},
	{"containers in one field",
	 {{"ts"}, {"a", "v.a.{second}"}, {"b", "v.b.{second}"}},
	 NULL,
	 "{'writes': [{'put': [1], 'a': 5, 'b': 6}]}"},
	{"keys at the root",
	 {{"ts"}, {"v", "{second}"}},
	 NULL,
	 "{'writes': [{'put': [1], 'v': 5}]}"},
	{"a point without all its values",
	 {{"ts"}, {"a", "v.{second}.a"}, {"b", "v.{second}.b"}},
	 NULL,
	 "{'writes': [{'put': [1], 'b': 5}]}"},
	{"an array that would be mostly empty",
	 {{"ts"}, {"v", "v[{second}]"}},
	 NULL,
	 "{'writes': [{'put': [1], 'v': 5}]}"},
	{"a count",
	 {{"ts"}, {"v", "v.{second}"}},
	 "{'count': 'n'}",
	 "{'writes': [{'put': [1], 'v': 5}], 'sums': {'n': 1}}",
	 "{n: 1, v: {'1': 5}}"},
	{"a minimum that may be NaN",
	 {{"ts"}, {"v", "v.{second}"}},
	 "{'nan': {'v': 1}, 'min': {'v': 'low'}}",
	 "{'writes': [{'put': [1], 'v': 5.5}], 'lows': {'low': 5.5}}",
	 "{low: 5.5, v: {'1': 5.5}}"},
	{"a minimum that is NaN",
	 {{"ts"}, {"v", "v.{second}"}},
	 "{'nan': {'v': 1}, 'min': {'v': 'low'}}",
	 "{'writes': [{'put': [1], 'v': {'$numberDouble': 'NaN'}}]}"},
	{"pre-aggregates of arrays",
	 {{"ts"}, {"v", "v[{second}]"}},
	 "{'count': 'n'}",
	 "{'writes': [{'put': [0], 'v': 5}, {'put': [1], 'v': 5}]}"},
	{"increments",
	 {{"ts"}, {"v", "v.{hour}"}},
	 "{'mode': 'increment'}",
	 "{'writes': [{'add': [1], 'v': 5}]}"},
	{"elements",
	 {{"ts", "s[].t"}, {"v", "s[].v"}},
	 "{'mode': 'push'}",
	 "{'writes': [{'put': [0], 'ts': 1, 'v': 5}, {'put': [0], 'ts': 0, 'v': 6}]}",
	 "{s: [{t: 1, v: 5}, {t: 0, v: 6}]}"},
	{"parallel arrays",
	 {{"ts", "t[]"}, {"v", "v[]"}, {"w", "w[]"}},
	 "{'mode': 'push'}",
	 "{'writes': [{'put': [0], 'ts': 1, 'v': 5, 'w': null}, {'put': [0], 'ts': 2, 'v': 6, 'w': 7}]}",
	 "{t: [1, 2], v: [5, 6], w: [null, 7]}"},
};

/* The conditions of operators, or NULL if a pipeline is required anyway */
static const WriteCase conditions[] = {
	{"of a layout that needs no pipeline",
	 {{"ts"}, {"v", "v.{second}"}},
	 NULL,
	 "{'writes': [{'put': [1], 'v': 5}]}",
	 "{}"},
	{"slots are absent; those of documents can be null or empty",
	 {{"ts"}, {"a", "v.{second}.a"}, {"b", "w.{second}"}},
	 "{'count': 'n'}",
	 "{'writes': [{'put': [1], 'a': 5}, {'put': [59], 'b': 5}]}",
	 "{n: {$type: 'number'}, 'v.1': {$in: [null, {}]}, 'w.1': {$exists: false},"
	 " 'v.59': {$in: [null, {}]}, 'w.59': {$exists: false}}"},
	{"no column has a reading",
	 {{"ts"},
	  {"a", "v.{second}.a", "-1"},
	  {"b", "v.{second}.b"},
	  {"c", "c.{second}", "null"}},
	 "{'sum': {'a': 's'}}",
	 "{'writes': [{'put': [1], 'a': 5}]}",
	 "{s: {$type: 'number'}, 'v.1.a': {$not: {$exists: true, $ne: -1}},"
	 " 'v.1.b': {$exists: false}, 'c.1': {$not: {$exists: true, $ne: null}}}"},
	{"extremes have the type of the value, and are not NaN",
	 {{"ts"},
	  {"a", "v.{second}.a"},
	  {"b", "v.{second}.b"},
	  {"c", "v.{second}.c"}},
	 "{'once': true, 'nan': {'a': 1}, 'min': {'a': 'min', 'b': 'low'}, 'max': {'a': 'max', 'c': 'high'}}",
	 "{'writes': [{'put': [1], 'a': 5, 'b': 'x', 'c': null}]}",
	 "{min: {$type: 'number', $ne: NaN}, max: {$type: 'number', $ne: NaN}, low: {$type: 'string'},"
	 " 'v.1': {$in: [null, {}]}}"},
	{"elements that are appended have no slots",
	 {{"ts", "s[].t"}, {"v", "s[].v"}},
	 "{'mode': 'push', 'nan': {'v': 1}, 'max': {'v': 'max'}, 'count': 'n'}",
	 "{'writes': [{'put': [0], 'ts': 1, 'v': 5}]}",
	 "{n: {$type: 'number'}, max: {$type: 'number', $ne: NaN}}"},
	{"attributes",
	 {{"ts"}, {"v", "v.{second}"}},
	 NULL,
	 "{'writes': [{'put': [1], 'v': 5}], 'agree': true, 'attributes': {'tags.room': 'hall', 'tags.row': null}}",
	 "{'tags.0': {$exists: false}, 'tags.room.0': {$exists: false}, 'tags.room': {$eq: 'hall'}}"},
	{"increments",
	 {{"ts"}, {"v", "h.{hour}", "0"}},
	 "{'mode': 'increment', 'count': 'n'}",
	 "{'writes': [{'add': [1], 'v': 5}]}",
	 "{n: {$type: 'number'}, 'h.1': {$not: {$exists: true, $ne: 0}}}"},
	{"increments of another missing value",
	 {{"ts"}, {"v", "h.{hour}", "-1"}},
	 "{'mode': 'increment', 'count': 'n'}",
	 "{'writes': [{'add': [1], 'v': 5}]}"},
	{"increments with a time of their own",
	 {{"ts", "h.{hour}.t"}, {"v", "h.{hour}.v"}},
	 "{'mode': 'increment'}",
	 "{'writes': [{'add': [1], 'v': 5}]}"},
	{"positions in arrays",
	 {{"ts"}, {"v", "v[{second}]"}},
	 "{'count': 'n'}",
	 "{'writes': [{'put': [1], 'v': 5}]}"},
	{"stored points",
	 {{"ts"}, {"v", "v.{second}"}},
	 "{'count': 'n'}",
	 "{'edit': true, 'writes': [{'put': [1], 'v': 5}]}"},
};

/* Changes of a layout that needs no pipeline, and whether they do */
static const WriteCase kinds[] = {
	{"new points",
	 {{"ts"}, {"v", "v.{second}"}},
	 NULL,
	 "{'writes': [{'put': [1], 'v': 5}], 'attributes': {'room': 'hall'}}",
	 "plain"},
	{"with attributes that are null",
	 {{"ts"}, {"v", "v.{second}"}},
	 NULL,
	 "{'writes': [{'put': [1], 'v': 5}], 'agree': true, 'attributes': {'room': null}}",
	 "plain"},
	{"with attributes",
	 {{"ts"}, {"v", "v.{second}"}},
	 NULL,
	 "{'writes': [{'put': [1], 'v': 5}], 'agree': true, 'attributes': {'room': 'hall'}}",
	 "pipeline"},
	{"stored points",
	 {{"ts"}, {"v", "v.{second}"}},
	 NULL,
	 "{'edit': true, 'writes': [{'put': [1], 'v': 5}]}",
	 "pipeline"},
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static void
test_needs(void)
{
	for (size_t i = 0; i < LENGTH(needs); i++)
	{
		static WriteTest test;

		writes_declare(&needs[i], &test);
		is_text(mts_update_needs_pipeline(&test.table.layout) ? "pipeline"
															  : "plain",
				needs[i].want, needs[i].name);
		writes_close(&test);
	}
}

static void
test_kinds(void)
{
	for (size_t i = 0; i < LENGTH(kinds); i++)
	{
		static WriteTest test;

		writes_open(&kinds[i], &test);
		is_text(mts_update_is_pipeline(&test.bucket) ? "pipeline" : "plain",
				kinds[i].want, kinds[i].name);
		writes_close(&test);
	}
}

static void
test_new_buckets(void)
{
	for (size_t i = 0; i < LENGTH(new_buckets); i++)
	{
		static WriteTest test;
		MtsFieldValue fields[WRITES_MAX];
		bson_t doc = BSON_INITIALIZER;
		bool ok;

		writes_open(&new_buckets[i], &test);
		ok = mts_new_bucket_is_possible(test.bucket.layout) &&
			 mts_new_bucket_insert(&test.bucket, (MtsFields){0}, fields, &doc);
		is_text(ok ? shell_print(&doc, false) : "", new_buckets[i].want ?: "",
				new_buckets[i].name);
		bson_destroy(&doc);
		writes_close(&test);
	}
}

static void
test_conditions(void)
{
	for (size_t i = 0; i < LENGTH(conditions); i++)
	{
		static WriteTest test;
		bson_t selector = BSON_INITIALIZER;
		bool ok;

		writes_open(&conditions[i], &test);
		ok = mts_write_once_is_possible(&test.bucket);
		if (ok)
			mts_write_once_require(&test.bucket, true, &selector);
		is_text(ok ? shell_print(&selector, false) : "",
				conditions[i].want ?: "", conditions[i].name);
		bson_destroy(&selector);
		writes_close(&test);
	}
}

int
main(void)
{
	test_needs();
	test_conditions();
	test_kinds();
	test_new_buckets();
	writes_compare(plain, LENGTH(plain), false);
	writes_compare(pipelines, LENGTH(pipelines), true);
	return tap_done();
}
