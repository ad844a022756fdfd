/*
 * infer_names.h
 *		Lists sample documents whose numbers are not time, or not of one kind,
 *		and the declarations inferred from them.
 *
 * Included by test_infer.c only.
 */
/* clang-format off */
	{"D1: documents without any key",
	 "{'day': T(2024-01-01T00:00:00), 't': {'0': 1, '12': 3, '23': 2}}, {'day': "
	 "T(2024-01-01T00:00:00), 't': {'0': 2, '12': 3, '23': 2}}, {'day': T(2024-01-02T00:00:00), "
	 "'t': {'0': 1, '12': 3, '23': 2}}, {'day': T(2024-01-02T00:00:00), 't': {'0': 2, '12': 3, "
	 "'23': 2}}",
	 "time day time, t double field t.{hour}; readonly -- the keys of \"t\" are taken as hours of a day: "
	 "Only 3 of the 24 hours occur in the sampled documents. / If the keys of \"t\" are names / If each "
	 "document is a row"},
	{"D2: status codes of an hour",
	 "{'ts': T(2024-01-01T00:00:00), 'n': {'200': 9, '404': 1, '503': 0}}, {'ts': "
	 "T(2024-01-01T01:00:00), 'n': {'200': 10, '404': 1, '503': 0}}, {'ts': "
	 "T(2024-01-01T02:00:00), 'n': {'200': 11, '404': 1, '503': 0}}",
	 "time ts time, slot n_key int, n double field n.{n_key}; -- the keys of \"n\" are taken as "
	 "names, in column \"n_key\": Nothing shows that they count a unit of time. / If each document "
	 "is a row"},
	{"VLANs of an hour, of which some look like steps",
	 "{'ts': T(2024-01-01T00:00:00), 'n': {'10': 0, '30': 0, '50': 0}}, {'ts': "
	 "T(2024-01-01T01:00:00), 'n': {'10': 1, '20': 1, '40': 1}}, {'ts': T(2024-01-01T02:00:00), "
	 "'n': {'20': 2, '30': 2, '50': 2}}",
	 "time ts time, slot n_key int, n double field n.{n_key}; -- the keys of \"n\" are taken as "
	 "names, in column \"n_key\": Nothing shows that they count a unit of time. / If the keys of "
	 "\"n\" are minutes of an hour / If each document is a row"},
	{"D4: two resolutions",
	 "{'res': 'minute', 't': T(2024-01-01T00:00:00), 'v': {'0': 1, '30': 2, '59': 3}}, {'res': "
	 "'minute', 't': T(2024-01-01T01:00:00), 'v': {'0': 1, '30': 2, '59': 3}}, {'res': 'hour', "
	 "'t': T(2024-01-01T00:00:00), 'v': {'0': 1, '12': 2, '23': 3}}, {'res': 'hour', 't': "
	 "T(2024-01-02T00:00:00), 'v': {'0': 1, '12': 2, '23': 3}}",
	 "res minute: time t time, res text, v double field v.{minute}; -- documents with different \"res\" "
	 "have different units, and are in several tables: This one has 2 of the 4 sampled documents. The "
	 "keys of \"v\" are taken as minutes of an hour. Only 3 of the 60 minutes occur in the sampled "
	 "documents. / If the keys of \"v\" are seconds of a minute / If the keys of \"v\" are names / If "
	 "each document is a row || res hour: time t time, res text, v double field v.{hour}; -- documents "
	 "with different \"res\" have different units, and are in several tables: This one has 2 of the 4 "
	 "sampled documents. The keys of \"v\" are taken as hours of a day. Only 3 of the 24 hours occur in "
	 "the sampled documents. / If the keys of \"v\" are names / If each document is a row"},
	{"two resolutions, and a document that is of neither",
	 "(5 1h: {res: 'minute', t: @, v: {0: $, 30: $, 59: $}}) (5 1d: {res: 'hour', t: @, v: {0: $, 12: "
	 "$, 23: $}}) (1 1d: {t: @, v: {0: $, 12: $, 23: $}})",
	 "res minute: time t time, res text, v double field v.{minute}; -- documents with different \"res\" "
	 "have different units, and are in several tables: This one has 5 of the 11 sampled documents. The "
	 "keys of \"v\" are taken as minutes of an hour. Only 3 of the 60 minutes occur in the sampled "
	 "documents. / If the keys of \"v\" are names / If each document is a row || res hour: time t time, "
	 "res text, v double field v.{hour}; -- documents with different \"res\" have different units, and "
	 "are in several tables: This one has 5 of the 11 sampled documents. The keys of \"v\" are taken as "
	 "hours of a day. Only 3 of the 24 hours occur in the sampled documents. / If the keys of \"v\" are "
	 "names / If each document is a row"},
	{"two fields that could be the time, and one that repeats it",
	 "{'month': T(2024-01-01T00:00:00), 'expiry': T(2024-04-22T00:00:00), 'day': "
	 "T(2024-01-01T00:00:00), 'v': {'0': 1, '12': 2, '23': 3}}, {'month': T(2024-01-01T00:00:00), "
	 "'expiry': T(2024-04-23T00:00:00), 'day': T(2024-01-01T00:00:00), 'v': {'0': 1, '12': 2, "
	 "'23': 3}}, {'month': T(2024-01-01T00:00:00), 'expiry': T(2024-04-25T00:00:00), 'day': "
	 "T(2024-01-02T00:00:00), 'v': {'0': 1, '12': 2, '23': 3}}",
	 "time expiry time, attribute month time, attribute day time, v double field v.{hour}; -- the keys of "
	 "\"v\" are taken as hours of a day: Only 3 of the 24 hours occur in the sampled documents. "
	 "\"expiry\" is taken as the time. It could also be \"day\". / If \"day\" is the time / If the keys "
	 "of \"v\" are names / If each document is a row"},
	{"some minutes of a day",
	 "{'day': T(2024-01-01T00:00:00), 'v': {'540': 1, '541': 1, '1000': 3}}, {'day': "
	 "T(2024-01-02T00:00:00), 'v': {'600': 1, '1019': 3}}, {'day': T(2024-01-03T00:00:00), 'v': "
	 "{'540': 1, '650': 3}}",
	 "time day time, slot v_key int, v double field v.{v_key}; -- the keys of \"v\" are taken as "
	 "names, in column \"v_key\": Nothing shows that they count a unit of time. / If the keys of "
	 "\"v\" are minutes of a day / If each document is a row"},
	{"tuples with numbers as times, in documents without one",
	 "{'c': [[1704067200000, 1, 2.5], [1704067260000, 1, 4.5]]}, {'c': [[1704070800000, 2, 2.5]]}",
	 "time c_0 time field c[].0 as epoch_ms, c_1 double field c[].1, c_2 double field c[].2; "
	 "readonly -- the numbers in \"c[].0\" are taken as times of format epoch_ms: No other field "
	 "confirms it."},
	{"few names that are times of day",
	 "{'day': T(2024-01-01T00:00:00), 'v': {'13:45': 1, '14:00': 3}}, {'day': "
	 "T(2024-01-02T00:00:00), 'v': {'13:45': 1, '15:00': 3}}",
	 "time day time, v_13:45 double field v.13:45, v_14:00 double field v.14:00, v_15:00 double "
	 "field v.15:00;"},
	{"D11: 24 half hours",
	 "{'ts': T(2024-01-01T00:00:00), 'step': 1800, 'values': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, "
	 "11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]}, {'ts': T(2024-01-02T00:00:00), "
	 "'step': 1800, 'values': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, "
	 "19, 20, 21, 22, 23]}",
	 "time ts time, step int, values double field values[{hour}]; -- the elements of \"values\" are "
	 "taken as hours of a day: Only their number shows it. / If each document is a row"},
	{"D11: dotted and American dates",
	 "{'a': '01.03.2024', 'b': '3/1/2024', 'v': 1}, {'a': '02.03.2024', 'b': '3/2/2024', 'v': 2}",
	 "a text, b text, v double; -- the table has no time: \"a\", \"b\" could have it, but not in a known "
	 "format."},
	{"D11: offsets of RFC 3339, and a number as a date",
	 "{'a': '2024-03-04T08:00:00+02:00', 'b': '2024-03-04T08:00:00.123456789Z', 'd': 20240131}",
	 "time a time as iso8601, b text, d double; readonly -- \"a\" is taken as the time: It could also be "
	 "\"b\". / If \"b\" is the time"},
	{"nanoseconds as text",
	 "{'b': '2024-03-04T08:00:00.123456789Z', 'd': 20240131}",
	 "time b time as iso8601, d double; truncated -- times are rounded down to microseconds: Some "
	 "sampled ones are finer."},
	{"a BSON timestamp beside the time",
	 "{'t': T(2024-03-04T08:00:00), 'changed': {'$timestamp': {'t': 1709539200, 'i': 1}}, 'v': 1}",
	 "time t time, attribute changed time as timestamp, v double; -- \"t\" is taken as the time: It "
	 "could also be \"changed\". / If \"changed\" is the time"},
	{"D11: a native collection of buckets",
	 "{'_id': {'$oid': '52573e3d0000000000000001'}, 'ts': T(2024-01-01T00:00:00), 'm': 1, 'v': "
	 "{'0': 1, '59': 2}}, {'_id': {'$oid': '52573e3d0000000000000001'}, 'ts': "
	 "T(2024-01-01T00:01:00), 'm': 1, 'v': {'0': 1, '59': 2}}",
	 "time ts time, m int, attribute v json; -- \"v\" is taken as data: Nothing shows a time for "
	 "each of its values.", "ts", "m"},
	{"an empty native collection",
	 "",
	 "time ts time, me.ta json field me\\.ta; -- there are no documents to infer columns from",
	 "ts", "me.ta"},
	{"an empty native collection with names of any length",
	 "",
	 "time xxéééééééééééééééééééééééééééééé time field xxéééééééééééééééééééééééééééééééééééééééé, "
	 "xmin_2 json field xmin; -- there are no documents to infer columns "
	 "from", "xxéééééééééééééééééééééééééééééééééééééééé", "xmin"},
	{"names and totals of buckets with a time that is called key",
	 "{'key': T(2024-01-01T00:00:00), 'n': 2, 's': 5, 'v': {'200': 1, '404': 4}}, {'key': "
	 "T(2024-01-01T01:00:00), 'n': 1, 's': 7, 'v': {'503': 7}}",
	 "time key time, slot v_key int, v double field v.{v_key} sum s; count n -- the keys of \"v\" "
	 "are taken as names, in column \"v_key\": Nothing shows that they count a unit of time. / If "
	 "each document is a row"},
	{"steps of five minutes below two subdocuments",
	 "(1 1d: {ts: @, v: {0: {a: {m: {(=0..11: %k: $)}}}, (=1..23: %k: {a: {m: {0: $}}})}})",
	 "time ts time, v_a_m double field v.{hour}.a.m.{5 minutes}; -- the keys of \"v.*.a.m\" are taken as "
	 "steps of 5 minutes in hours of a day: Only their number shows it. / If the keys of \"v.*.a.m\" are "
	 "steps of 5 seconds in minutes of an hour / If the keys of \"v.*.a.m\" are hours of a day, with "
	 "names under them / If each document is a row"},
	{"many fields that are alike beside points",
	 "{'ts': T(2024-01-01T00:00:07), '0:0': 1, '0:1': 1, '0:2': 1, '0:3': 1, '0:4': 1, '0:5': 1, '0:6': "
	 "1, '0:7': 1, '0:8': 1, '0:9': 1, 'b': 7, '0:10': 1, '0:11': 1, '0:12': 1, 'v': [{'t': "
	 "T(2024-01-01T00:00:08), 'x': 3}]}",
	 "time t time field v[].t, attribute ts time, b int, x double field v[].x; readonly -- \"v[].t\" "
	 "is taken as the time: No field of the document bounds the times of its points, so a query for "
	 "a range of time reads all documents. Some fields have no column. They are beside the points, "
	 "or too many, or no path can name them."},
	{"many fields with letters that are alike beside points",
	 "{'ts': T(2024-01-01T00:00:07), 'a0': 1, 'a1': 1, 'a2': 1, 'a3': 1, 'a4': 1, 'a5': 1, 'a6': "
	 "1, 'a7': 1, 'a8': 1, 'a9': 1, 'b': 7, 'a10': 1, 'a11': 1, 'a12': 1, 'v': [{'t': "
	 "T(2024-01-01T00:00:08), 'x': 3}]}",
	 "time t time field v[].t, attribute ts time, attribute a0 int, attribute a1 int, attribute a2 "
	 "int, attribute a3 int, attribute a4 int, attribute a5 int, attribute a6 int, attribute a7 int, "
	 "attribute a8 int, attribute a9 int, b int, attribute a10 int, attribute a11 int, attribute a12 "
	 "int, x double field v[].x; readonly -- \"v[].t\" is taken as the time: No field of the "
	 "document bounds the times of its points, so a query for a range of time reads all documents."},
	{"keys of several fields that are times",
	 "{'v': {'1381446361': 1}, 'w': {'1381446361': 2}}, {'v': {'1381446367': 3}, 'w': "
	 "{'1381446368': 4}}",
	 "time time time, v double field v.{epoch}, w double field w.{epoch}; readonly -- the keys of "
	 "\"v\" are taken as times of format {epoch}: No field has the time of a document, so a range of "
	 "time reads all documents."},
	{"a time that is the tenth field of points",
	 "{'day': T(2024-01-01T00:00:00), 'v': [{'a': 1, 'b': 1, 'c': 1, 'd': 1, 'e': 1, 'f': 1, 'g': "
	 "1, 'h': 1, 'i': 1, 't': T(2024-01-01T00:10:07)}]}",
	 "time t time field v[].t, a double field v[].a, b double field v[].b, c double field v[].c, d "
	 "double field v[].d, e double field v[].e, f double field v[].f, g double field v[].g, h "
	 "double "
	 "field v[].h, i double field v[].i; bucket day span 1 day"},
	{"6: status codes inside of hours",
	 "(2 1d: {ts: @, n: {(=0..23: %k: {200: $, 404: $})}})",
	 "time ts time, slot n_key int, n double field n.{hour}.{n_key}; -- the keys under the hours of \"n\" "
	 "are taken as names, in column \"n_key\": Nothing shows that they count a unit of time. / If each "
	 "document is a row"},
	{"a field whose values allow the same slots makes no groups",
	 "{'site': 'a', 'ts': T(2024-01-01T00:01:00), 'v': {'0': 0, '5': 5, '10': 10, '15': 15, '20': "
	 "20, '25': 25, '30': 30, '35': 35, '40': 40, '45': 45, '50': 50, '55': 55}}, {'site': 'a', "
	 "'ts': T(2024-01-01T01:08:00), 'v': {'0': 0, '5': 5, '10': 10, '15': 15, '20': 20, '25': 25, "
	 "'30': 30, '35': 35, '40': 40, '45': 45, '50': 50, '55': 55}}, {'site': 'a', 'ts': "
	 "T(2024-01-01T02:15:00), 'v': {'0': 0, '5': 5, '10': 10, '15': 15, '20': 20, '25': 25, '30': "
	 "30, '35': 35, '40': 40, '45': 45, '50': 50, '55': 55}}, {'site': 'b', 'ts': "
	 "T(2024-01-01T00:00:00), 'v': {'0': 0, '5': 5, '10': 10, '15': 15, '20': 20, '25': 25, '30': "
	 "30, '35': 35, '40': 40, '45': 45, '50': 50, '55': 55}}, {'site': 'b', 'ts': "
	 "T(2024-01-01T01:00:00), 'v': {'0': 0, '5': 5, '10': 10, '15': 15, '20': 20, '25': 25, '30': "
	 "30, '35': 35, '40': 40, '45': 45, '50': 50, '55': 55}}",
	 "time ts time, slot v_key int, site text, v double field v.{v_key}; -- the keys of \"v\" are "
	 "taken as names, in column \"v_key\": Nothing shows that they count a unit of time. / If each "
	 "document is a row"},
	{"text that is a time, beside the time, and arrays of several types",
	 "{'ts': T(2024-01-01T00:00:00), 'due': '2024-04-22', 'a': ['x', 1, 2.5]}, {'ts': "
	 "T(2024-01-02T00:00:00), 'due': '2024-05-22', 'a': ['x', 1, 2.5]}",
	 "time ts time, due text, attribute a json; -- \"ts\" is taken as the time: It could also be "
	 "\"due\". / If \"due\" is the time"},
	{"what describes a bucket is an attribute",
	 "{'sensor': 'a', 'ts': T(2024-01-01T00:00:00), 'site': 'x', 'fw': '1', 'rate': 1.5, '__v': 0, 'v': {'0': 1, '59': 2}}, {'sensor': 'b', 'ts': T(2024-01-01T00:00:00), 'site': 'x', 'fw': '1', 'rate': 2.5, '__v': 0, 'v': {'0': 1, '59': 2}}, {'sensor': 'a', 'ts': T(2024-01-01T00:01:00), 'site': 'x', 'fw': '2', 'rate': 3.5, '__v': 0, 'battery': 7, 'v': {'0': 1, '59': 2}}, {'sensor': 'b', 'ts': T(2024-01-01T00:01:00), 'site': 'x', 'fw': '2', 'rate': 4.5, '__v': 0, 'v': {'0': 1, '59': 2}}",
	 "time ts time, sensor text, attribute site text, attribute fw text, attribute rate double, attribute "
	 "__v int, v double field v.{second}, attribute battery int; -- the keys of \"v\" are taken as "
	 "seconds of a minute: Only 2 of the 60 seconds occur in the sampled documents. / If the keys of "
	 "\"v\" are names / If each document is a row"},
	{"two fields that could be the key",
	 "{'serial': 'a', 'device': 'd', 'ts': T(2024-01-01T00:00:00), 'v': {'0': 1, '59': 2}}, {'serial': 'b', 'device': 'e', 'ts': T(2024-01-01T00:00:00), 'v': {'0': 1, '59': 2}}",
	 "time ts time, serial text, attribute device text, v double field v.{minute}; -- the keys of \"v\" "
	 "are taken as minutes of an hour: Only 2 of the 60 minutes occur in the sampled documents. "
	 "\"serial\" is taken as the key of a series, and \"device\" as an attribute. The sampled documents "
	 "do not show which of them is the key. / If the keys of \"v\" are seconds of a minute / If the keys "
	 "of \"v\" are names / If each document is a row"},
	{"subfields of a metaField that others determine",
	 "{'ts': T(2024-01-01T00:00:00), 'm': {'machine': 'a', 'hall': 1, 'vendor': 'x'}, 'v': 1.5}, {'ts': T(2024-01-01T00:00:01), 'm': {'machine': 'b', 'hall': 1, 'vendor': 'x'}, 'v': 1.5}, {'ts': T(2024-01-01T00:00:01), 'm': {'machine': 'c', 'hall': 2, 'vendor': 'x'}, 'v': 1.5}",
	 "time ts time, machine text field m.machine, attribute hall int field m.hall, attribute vendor "
	 "text field m.vendor, v double;", "ts", "m"},
	{"a text that differs in each document, beside the series",
	 "(12 1h: (=s1 s2: {sensor: '%k', hour: @, etag: 'x%i', v: [(* ~40m: {t: @, x: ~})]}))",
	 "time t time field v[].t, sensor text, attribute etag text, x double field v[].x; bucket hour "
	 "span 1 hour"},
