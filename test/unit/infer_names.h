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
	 "time day time, t double field t.{hour}; readonly -- keys of t.{hour} are assumed to be "
	 "hours of a day\nThe keys reach both ends of their unit, but do not fill it. / If the keys "
	 "are names"},
	{"D2: status codes of an hour",
	 "{'ts': T(2024-01-01T00:00:00), 'n': {'200': 9, '404': 1, '503': 0}}, {'ts': "
	 "T(2024-01-01T01:00:00), 'n': {'200': 10, '404': 1, '503': 0}}, {'ts': "
	 "T(2024-01-01T02:00:00), 'n': {'200': 11, '404': 1, '503': 0}}",
	 "time ts time, slot key int, n double field n.{key}; -- keys of n.{key} are assumed to be "
	 "names, and are values of column \"key\"\nNothing shows that they count a unit of time."},
	{"VLANs of an hour, of which some look like steps",
	 "{'ts': T(2024-01-01T00:00:00), 'n': {'10': 0, '30': 0, '50': 0}}, {'ts': "
	 "T(2024-01-01T01:00:00), 'n': {'10': 1, '20': 1, '40': 1}}, {'ts': T(2024-01-01T02:00:00), "
	 "'n': {'20': 2, '30': 2, '50': 2}}",
	 "time ts time, slot key int, n double field n.{key}; -- keys of n.{key} are assumed to be "
	 "names, and are values of column \"key\"\nNothing shows that they count a unit of time. / If "
	 "the keys are minutes of an hour"},
	{"D4: two resolutions",
	 "{'res': 'minute', 't': T(2024-01-01T00:00:00), 'v': {'0': 1, '30': 2, '59': 3}}, {'res': "
	 "'minute', 't': T(2024-01-01T01:00:00), 'v': {'0': 1, '30': 2, '59': 3}}, {'res': 'hour', "
	 "'t': T(2024-01-01T00:00:00), 'v': {'0': 1, '12': 2, '23': 3}}, {'res': 'hour', 't': "
	 "T(2024-01-02T00:00:00), 'v': {'0': 1, '12': 2, '23': 3}}",
	 "res minute: time t time, res text, v double field v.{minute}; -- documents with different "
	 "res have different times, and are a table each\nOption \"filter\" selects 2 of the 4 "
	 "sampled documents. Documents with other values are in no table. -- keys of v.{minute} are "
	 "assumed to be minutes of an hour\nThe keys reach both ends of their unit, but do not fill "
	 "it. / If the keys are seconds of a minute / If the keys are names || res hour: time t time, "
	 "res text, v double field v.{hour}; -- documents with different res have different times, "
	 "and are a table each\nOption \"filter\" selects 2 of the 4 sampled documents. Documents "
	 "with other values are in no table. -- keys of v.{hour} are assumed to be hours of a "
	 "day\nThe keys reach both ends of their unit, but do not fill it. / If the keys are names"},
	{"D11: 24 half hours",
	 "{'ts': T(2024-01-01T00:00:00), 'step': 1800, 'values': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, "
	 "11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]}, {'ts': T(2024-01-02T00:00:00), "
	 "'step': 1800, 'values': [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, "
	 "19, 20, 21, 22, 23]}",
	 "time ts time, step int, values double field values[{hour}]; -- elements of values[{hour}] "
	 "are assumed to count the parts of their bucket\nThey could also be 30 minutes apart, as "
	 "step is 1800 in all documents. / If that is their distance"},
	{"D11: dotted and American dates",
	 "{'a': '01.03.2024', 'b': '3/1/2024', 'v': 1}, {'a': '02.03.2024', 'b': '3/2/2024', 'v': 2}",
	 "a text, b text, v double; -- a looks like a time, but has no known pattern\nIf it is a "
	 "time, give the column a time type, and set its option \"format\" to text: with a pattern of "
	 "to_char. -- b looks like a time, but has no known pattern\nIf it is a time, give the column "
	 "a time type, and set its option \"format\" to text: with a pattern of to_char."},
	{"D11: offsets of RFC 3339, and a number as a date",
	 "{'a': '2024-03-04T08:00:00+02:00', 'b': '2024-03-04T08:00:00.123456789Z', 'd': 20240131}",
	 "a text, b text, d double; -- a looks like a time, but has no known pattern\nIf it is a "
	 "time, give the column a time type, and set its option \"format\" to text: with a pattern of "
	 "to_char. -- b looks like a time, but has no known pattern\nIf it is a time, give the column "
	 "a time type, and set its option \"format\" to text: with a pattern of to_char."},
	{"D11: a native collection of buckets",
	 "{'_id': {'$oid': '52573e3d0000000000000001'}, 'ts': T(2024-01-01T00:00:00), 'm': 1, 'v': "
	 "{'0': 1, '59': 2}}, {'_id': {'$oid': '52573e3d0000000000000001'}, 'ts': "
	 "T(2024-01-01T00:01:00), 'm': 1, 'v': {'0': 1, '59': 2}}",
	 "time ts time, m int, attribute v json; -- v is declared as jsonb\nIts keys are numbers, and "
	 "nothing shows that they count a unit of time.", "ts", "m"},
	{"an empty native collection",
	 "",
	 "time ts time, me.ta json field me\\.ta; -- there are no documents to infer columns from", "ts", "me.ta"},
	{"6: status codes inside of hours",
	 "{'ts': T(2024-01-01T00:00:00), 'n': {'0': {'200': 1, '404': 2}, '1': {'200': 1, '404': 2}, "
	 "'2': {'200': 1, '404': 2}, '3': {'200': 1, '404': 2}, '4': {'200': 1, '404': 2}, '5': "
	 "{'200': 1, '404': 2}, '6': {'200': 1, '404': 2}, '7': {'200': 1, '404': 2}, '8': {'200': 1, "
	 "'404': 2}, '9': {'200': 1, '404': 2}, '10': {'200': 1, '404': 2}, '11': {'200': 1, '404': "
	 "2}, '12': {'200': 1, '404': 2}, '13': {'200': 1, '404': 2}, '14': {'200': 1, '404': 2}, "
	 "'15': {'200': 1, '404': 2}, '16': {'200': 1, '404': 2}, '17': {'200': 1, '404': 2}, '18': "
	 "{'200': 1, '404': 2}, '19': {'200': 1, '404': 2}, '20': {'200': 1, '404': 2}, '21': {'200': "
	 "1, '404': 2}, '22': {'200': 1, '404': 2}, '23': {'200': 1, '404': 2}}}, {'ts': "
	 "T(2024-01-02T00:00:00), 'n': {'0': {'200': 1, '404': 2}, '1': {'200': 1, '404': 2}, '2': "
	 "{'200': 1, '404': 2}, '3': {'200': 1, '404': 2}, '4': {'200': 1, '404': 2}, '5': {'200': 1, "
	 "'404': 2}, '6': {'200': 1, '404': 2}, '7': {'200': 1, '404': 2}, '8': {'200': 1, '404': 2}, "
	 "'9': {'200': 1, '404': 2}, '10': {'200': 1, '404': 2}, '11': {'200': 1, '404': 2}, '12': "
	 "{'200': 1, '404': 2}, '13': {'200': 1, '404': 2}, '14': {'200': 1, '404': 2}, '15': {'200': "
	 "1, '404': 2}, '16': {'200': 1, '404': 2}, '17': {'200': 1, '404': 2}, '18': {'200': 1, "
	 "'404': 2}, '19': {'200': 1, '404': 2}, '20': {'200': 1, '404': 2}, '21': {'200': 1, '404': "
	 "2}, '22': {'200': 1, '404': 2}, '23': {'200': 1, '404': 2}}}",
	 "time ts time, n json field n.{hour}; -- n.{hour} is declared as jsonb\nIts keys are "
	 "numbers, and nothing shows that they count a unit of time."},
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
	 "time ts time, site text, v double field v.{second};"},
