/*
 * infer_doubtful.h
 *		Lists sample documents whose layout is easily mistaken, and the
 *		declarations inferred from them.
 *
 * Included by test_infer.c only.
 */
/* clang-format off */
	{"undefined, which is no null",
	 "{'ts': T(2024-03-04T08:00:00), 'a': {'$undefined': true}}, {'ts': T(2024-03-04T09:00:00), "
	 "'a': {'n': 1}}",
	 "time ts time, attribute a json;"},
	{"keys of so many digits as a number has",
	 "{'ts': T(2024-03-04T08:00:00), 'a': {'999999999999999999': 1}, 'b': {'0': 1}}",
	 "time ts time, slot a_key text, a double field a.{a_key}, attribute b json; -- the keys of "
	 "\"a\" are taken as names, in column \"a_key\": Nothing shows that they count a unit of time. "
	 "\"b\" is taken as data. Nothing shows a time for each of its values. / If each document is a "
	 "row"},
	{"weeks",
	 "{'week': T(2024-03-04T00:00:00), 'days': {'0': 1, '6': 2}}, {'week': "
	 "T(2024-03-11T00:00:00), 'days': {'0': 1, '6': 2}}, {'week': T(2024-03-25T00:00:00), 'days': "
	 "{'0': 1, '6': 2}}",
	 "time week time, days double field days.{day}; span 7 days readonly -- the keys of \"days\" are "
	 "taken as days of an interval of 7 days: Only 2 of the 7 days occur in the sampled documents. / If "
	 "the keys of \"days\" are names / If each document is a row"},
	{"quarters of every hour",
	 "(2 1d: {day: @, kwh: {(* 1h: %h: {(* 15m: %#: $)})}})",
	 "time day time, kwh long field kwh.{hour}.{15 minutes}; -- the keys of \"kwh\" are taken as steps of "
	 "15 minutes in hours of a day: Only their number shows it. / If the keys of \"kwh\" are steps of 15 "
	 "seconds in minutes of an hour / If the keys of \"kwh\" are hours of a day, with names under them / "
	 "If each document is a row"},
	{"an array that fits no unit",
	 "(3 1d: {ts: @, v: [(40 1m: $)]})",
	 "time ts time, attribute v long[]; -- \"v\" is taken as data: Nothing shows a time for each of "
	 "its values."},
	{"arrays of arrays that fit no unit",
	 "(3 1d: {ts: @, v: [(7 1m: [(8 1s: $)])]})",
	 "time ts time, attribute v json; -- \"v\" is taken as data: Nothing shows a time for each of "
	 "its values."},
	{"offsets of buckets that have another time",
	 "{'start': T(2024-03-04T08:00:00), 'v': [{'o': 0, 'x': 7}, {'o': 600, 'x': 7}, {'o': 1200, "
	 "'x': 7}, {'o': 1800, 'x': 7}, {'o': 2400, 'x': 7}, {'o': 3000, 'x': 7}]}, {'start': "
	 "T(2024-03-04T09:00:00), 'v': [{'o': 1, 'x': 8}, {'o': 601, 'x': 8}, {'o': 1201, 'x': 8}, "
	 "{'o': 1801, 'x': 8}, {'o': 2401, 'x': 8}, {'o': 3001, 'x': 8}]}, {'start': "
	 "T(2024-03-04T11:00:00), 'v': [{'o': 2, 'x': 9}, {'o': 602, 'x': 9}, {'o': 1202, 'x': 9}, "
	 "{'o': 1802, 'x': 9}, {'o': 2402, 'x': 9}, {'o': 3002, 'x': 9}]}",
	 "time o time field v[].o as offset:second, x double field v[].x; bucket start span 1 hour -- "
	 "\"v[].o\" is taken as the time of points: It counts seconds from \"start\" on. / If each "
	 "document is a row"},
	{"stars of days far apart",
	 "{'day': T(2024-03-04T00:00:00), 'stars': {'1': 0, '2': 1, '3': 2, '4': 3, '5': 4}}, {'day': "
	 "T(2024-03-07T00:00:00), 'stars': {'1': 0, '2': 1, '3': 2, '4': 3, '5': 4}}, {'day': "
	 "T(2024-03-12T00:00:00), 'stars': {'1': 0, '2': 1, '3': 2, '4': 3, '5': 4}}",
	 "time day time, slot stars_key int, stars double field stars.{stars_key}; -- the keys of "
	 "\"stars\" are taken as names, in column \"stars_key\": Nothing shows that they count a unit of "
	 "time. / If the keys of \"stars\" are hours of a day / If each document is a row"},
	{"forty keys from any second on",
	 "{'start': T(2024-03-04T08:00:17), 'v': {'0': 1, '39': 3}}, {'start': "
	 "T(2024-03-04T08:47:17), 'v': {'0': 1, '39': 3}}, {'start': T(2024-03-04T09:34:17), 'v': "
	 "{'0': 1, '39': 3}}",
	 "time start time, slot v_key int, v double field v.{v_key}; -- the keys of \"v\" are taken as "
	 "names, in column \"v_key\": Nothing shows that they count a unit of time. / If the keys of "
	 "\"v\" are seconds of a minute / If each document is a row"},
	{"a single bucket with sums",
	 "{'sensor': 5, 'day': T(2024-03-04T00:00:00), 'first': 1709539200, 'n': 2, 'total': 106, "
	 "'s': [{'val': 50, 'time': 1709539200}, {'val': 56, 'time': 1709539250}]}",
	 "time time time field s[].time as epoch, sensor int, attribute first int, attribute n int, "
	 "attribute total int, val double field s[].val; bucket day span 1 day readonly"},
	{"buckets of one point with its time",
	 "{'sensor': 5, 'day': T(2024-03-04T00:00:00), 'first': 1709539200, 's': [{'val': 50, 'time': "
	 "1709539200}]}",
	 "time time time field s[].time as epoch, sensor int, attribute first int, val double field "
	 "s[].val; bucket day span 1 day readonly"},
	{"totals of decimals",
	 "{'h': T(2024-03-04T08:00:00), 's': [{'t': T(2024-03-04T08:01:17), 'v': {'$numberDecimal': "
	 "'1.10'}}, {'t': T(2024-03-04T08:05:17), 'v': {'$numberDecimal': '7.25'}}, {'t': "
	 "T(2024-03-04T08:09:17), 'v': {'$numberDecimal': '3.30'}}], 'sum': {'$numberDecimal': "
	 "'11.65'}, 'hi': {'$numberDecimal': '7.25'}}, {'h': T(2024-03-04T09:00:00), 's': [{'t': "
	 "T(2024-03-04T09:01:17), 'v': {'$numberDecimal': '2.20'}}, {'t': T(2024-03-04T09:05:17), "
	 "'v': {'$numberDecimal': '4.25'}}, {'t': T(2024-03-04T09:09:17), 'v': {'$numberDecimal': "
	 "'9.10'}}], 'sum': {'$numberDecimal': '15.55'}, 'hi': {'$numberDecimal': '9.10'}}, {'h': "
	 "T(2024-03-04T10:00:00), 's': [{'t': T(2024-03-04T10:01:17), 'v': {'$numberDecimal': "
	 "'5.75'}}, {'t': T(2024-03-04T10:05:17), 'v': {'$numberDecimal': '1.00'}}], 'sum': "
	 "{'$numberDecimal': '6.75'}, 'hi': {'$numberDecimal': '5.75'}}",
	 "time t time field s[].t, v num field s[].v sum sum max hi; bucket h span 1 hour"},
	{"a rounded average, which no option declares",
	 "{'h': T(2024-03-04T08:00:00), 's': [{'t': T(2024-03-04T08:01:17), 'v': {'$numberDecimal': "
	 "'1.10'}}, {'t': T(2024-03-04T08:05:17), 'v': {'$numberDecimal': '7.25'}}, {'t': "
	 "T(2024-03-04T08:09:17), 'v': {'$numberDecimal': '3.30'}}], 'mean': 3.9}, {'h': "
	 "T(2024-03-04T09:00:00), 's': [{'t': T(2024-03-04T09:01:17), 'v': {'$numberDecimal': "
	 "'2.20'}}, {'t': T(2024-03-04T09:05:17), 'v': {'$numberDecimal': '4.25'}}, {'t': "
	 "T(2024-03-04T09:09:17), 'v': {'$numberDecimal': '9.10'}}], 'mean': 5.2}, {'h': "
	 "T(2024-03-04T10:00:00), 's': [{'t': T(2024-03-04T10:01:17), 'v': {'$numberDecimal': "
	 "'5.75'}}, {'t': T(2024-03-04T10:05:17), 'v': {'$numberDecimal': '1.00'}}], 'mean': 3.4}",
	 "time t time field s[].t, v num field s[].v, attribute mean double; bucket h span 1 hour readonly"},
	{"the time of a maximum, which no option declares",
	 "{'h': T(2024-03-04T08:00:00), 's': [{'t': T(2024-03-04T08:01:17), 'v': {'$numberDecimal': "
	 "'1.10'}}, {'t': T(2024-03-04T08:05:17), 'v': {'$numberDecimal': '7.25'}}, {'t': "
	 "T(2024-03-04T08:09:17), 'v': {'$numberDecimal': '3.30'}}], 'top': T(2024-03-04T08:05:17)}, "
	 "{'h': T(2024-03-04T09:00:00), 's': [{'t': T(2024-03-04T09:01:17), 'v': {'$numberDecimal': "
	 "'2.20'}}, {'t': T(2024-03-04T09:05:17), 'v': {'$numberDecimal': '4.25'}}, {'t': "
	 "T(2024-03-04T09:09:17), 'v': {'$numberDecimal': '9.10'}}], 'top': T(2024-03-04T09:09:17)}, "
	 "{'h': T(2024-03-04T10:00:00), 's': [{'t': T(2024-03-04T10:01:17), 'v': {'$numberDecimal': "
	 "'5.75'}}, {'t': T(2024-03-04T10:05:17), 'v': {'$numberDecimal': '1.00'}}], 'top': "
	 "T(2024-03-04T10:01:17)}",
	 "time t time field s[].t, v num field s[].v, attribute top time; bucket h span 1 hour readonly"},
	{"bounds, but no time of buckets",
	 "{'sensor': 5, 'from': T(2024-03-04T07:00:17), 'to': T(2024-03-04T07:00:25), 'n': 2, 's': "
	 "[{'t': T(2024-03-04T07:00:17), 'v': 119}, {'t': T(2024-03-04T07:00:25), 'v': 175}]}, "
	 "{'sensor': 5, 'from': T(2024-03-04T08:00:17), 'to': T(2024-03-04T08:00:26), 'n': 3, 's': "
	 "[{'t': T(2024-03-04T08:00:17), 'v': 136}, {'t': T(2024-03-04T08:00:20), 'v': 160}, {'t': "
	 "T(2024-03-04T08:00:26), 'v': 208}]}",
	 "time t time field s[].t, sensor int, v double field s[].v; first from last to count n "
	 "readonly"},
	{"windows that overlap, the newest value first",
	 "{'host': 'a', 'ts': T(2024-03-04T08:00:00), 'last': [0.2, 4.9, 8.5, 3.4, 1.9, 3.8, 0.3, "
	 "2.0, 3.9, 4.5, 2.1, 2.1, 2.0, 4.1, 2.6, 0.2, 7.5, 5.0, 5.8, 1.7, 8.9, 7.7, 1.1, 3.0, 6.5, "
	 "6.4, 8.4, 3.8, 7.5, 6.0, 2.7, 5.3, 7.9, 7.6, 4.5, 5.3, 0.3, 2.2, 7.2, 3.7, 1.6, 4.9, 6.3, "
	 "6.1, 3.4, 4.0, 4.6, 7.0, 4.7, 3.5, 4.4, 0.3, 0.4, 6.3, 8.8, 5.3, 3.5, 1.5, 4.5, 8.8]}, "
	 "{'host': 'a', 'ts': T(2024-03-04T08:01:00), 'last': [0.3, 0.2, 4.9, 8.5, 3.4, 1.9, 3.8, "
	 "0.3, 2.0, 3.9, 4.5, 2.1, 2.1, 2.0, 4.1, 2.6, 0.2, 7.5, 5.0, 5.8, 1.7, 8.9, 7.7, 1.1, 3.0, "
	 "6.5, 6.4, 8.4, 3.8, 7.5, 6.0, 2.7, 5.3, 7.9, 7.6, 4.5, 5.3, 0.3, 2.2, 7.2, 3.7, 1.6, 4.9, "
	 "6.3, 6.1, 3.4, 4.0, 4.6, 7.0, 4.7, 3.5, 4.4, 0.3, 0.4, 6.3, 8.8, 5.3, 3.5, 1.5, 4.5]}, "
	 "{'host': 'a', 'ts': T(2024-03-04T08:02:00), 'last': [8.1, 0.3, 0.2, 4.9, 8.5, 3.4, 1.9, "
	 "3.8, 0.3, 2.0, 3.9, 4.5, 2.1, 2.1, 2.0, 4.1, 2.6, 0.2, 7.5, 5.0, 5.8, 1.7, 8.9, 7.7, 1.1, "
	 "3.0, 6.5, 6.4, 8.4, 3.8, 7.5, 6.0, 2.7, 5.3, 7.9, 7.6, 4.5, 5.3, 0.3, 2.2, 7.2, 3.7, 1.6, "
	 "4.9, 6.3, 6.1, 3.4, 4.0, 4.6, 7.0, 4.7, 3.5, 4.4, 0.3, 0.4, 6.3, 8.8, 5.3, 3.5, 1.5]}, "
	 "{'host': 'a', 'ts': T(2024-03-04T08:03:00), 'last': [8.5, 8.1, 0.3, 0.2, 4.9, 8.5, 3.4, "
	 "1.9, 3.8, 0.3, 2.0, 3.9, 4.5, 2.1, 2.1, 2.0, 4.1, 2.6, 0.2, 7.5, 5.0, 5.8, 1.7, 8.9, 7.7, "
	 "1.1, 3.0, 6.5, 6.4, 8.4, 3.8, 7.5, 6.0, 2.7, 5.3, 7.9, 7.6, 4.5, 5.3, 0.3, 2.2, 7.2, 3.7, "
	 "1.6, 4.9, 6.3, 6.1, 3.4, 4.0, 4.6, 7.0, 4.7, 3.5, 4.4, 0.3, 0.4, 6.3, 8.8, 5.3, 3.5]}, "
	 "{'host': 'a', 'ts': T(2024-03-04T08:04:00), 'last': [2.1, 8.5, 8.1, 0.3, 0.2, 4.9, 8.5, "
	 "3.4, 1.9, 3.8, 0.3, 2.0, 3.9, 4.5, 2.1, 2.1, 2.0, 4.1, 2.6, 0.2, 7.5, 5.0, 5.8, 1.7, 8.9, "
	 "7.7, 1.1, 3.0, 6.5, 6.4, 8.4, 3.8, 7.5, 6.0, 2.7, 5.3, 7.9, 7.6, 4.5, 5.3, 0.3, 2.2, 7.2, "
	 "3.7, 1.6, 4.9, 6.3, 6.1, 3.4, 4.0, 4.6, 7.0, 4.7, 3.5, 4.4, 0.3, 0.4, 6.3, 8.8, 5.3]}, "
	 "{'host': 'a', 'ts': T(2024-03-04T08:05:00), 'last': [6.5, 2.1, 8.5, 8.1, 0.3, 0.2, 4.9, "
	 "8.5, 3.4, 1.9, 3.8, 0.3, 2.0, 3.9, 4.5, 2.1, 2.1, 2.0, 4.1, 2.6, 0.2, 7.5, 5.0, 5.8, 1.7, "
	 "8.9, 7.7, 1.1, 3.0, 6.5, 6.4, 8.4, 3.8, 7.5, 6.0, 2.7, 5.3, 7.9, 7.6, 4.5, 5.3, 0.3, 2.2, "
	 "7.2, 3.7, 1.6, 4.9, 6.3, 6.1, 3.4, 4.0, 4.6, 7.0, 4.7, 3.5, 4.4, 0.3, 0.4, 6.3, 8.8]}",
	 "host text, time ts time, attribute last double[]; -- \"last\" is taken as data: Nothing "
	 "shows a time for each of its values."},
	{"receivers of messages with measured values",
	 "{'received_at': T(2024-03-04T08:00:00), 'payload': {'temperature': 20.5}, 'rx': "
	 "[{'gateway': 'a', 'time': T(2024-03-04T08:00:00), 'rssi': -70.25}]}, {'received_at': "
	 "T(2024-03-04T08:01:17), 'payload': {'temperature': 21.5}, 'rx': [{'gateway': 'a', 'time': "
	 "T(2024-03-04T08:01:17), 'rssi': -71.25}, {'gateway': 'b', 'time': T(2024-03-04T08:01:17), "
	 "'rssi': -71.25}]}, {'received_at': T(2024-03-04T08:02:34), 'payload': {'temperature': "
	 "22.5}, 'rx': [{'gateway': 'a', 'time': T(2024-03-04T08:02:34), 'rssi': -72.25}]}, "
	 "{'received_at': T(2024-03-04T08:03:51), 'payload': {'temperature': 23.5}, 'rx': "
	 "[{'gateway': 'a', 'time': T(2024-03-04T08:03:51), 'rssi': -73.25}, {'gateway': 'b', "
	 "'time': T(2024-03-04T08:03:51), 'rssi': -73.25}]}, {'received_at': "
	 "T(2024-03-04T08:04:08), 'payload': {'temperature': 24.5}, 'rx': [{'gateway': 'a', 'time': "
	 "T(2024-03-04T08:04:08), 'rssi': -74.25}]}",
	 "time received_at time, payload_temperature double field payload.temperature, attribute rx "
	 "json; -- \"rx\" is taken as data: Its few elements have times, but each document has other "
	 "measured values. / If the elements of \"rx\" are the points"},
	{"numbers but for one word",
	 "(2 1h: {hour: @, v: {(7 1m: %n: ~) 7: 'n/a', (=8..59: %k: ~)}})",
	 "time hour time, v double field v.{minute} missing n/a; -- the keys of \"v\" are taken as minutes of "
	 "an hour: They could also be seconds of a minute. Points of \"v\" that are \"n/a\" are not rows. All "
	 "other values are numbers. / If the keys of \"v\" are seconds of a minute"},
	{"numbers but for two words",
	 "(1 1h: {hour: @, v: {(7 1m: %n: ~) 7: 'off', 8: 'n/a', (=9..59: %k: ~)}})",
	 "time hour time, v json field v.{minute}; -- the keys of \"v\" are taken as minutes of an hour: They "
	 "could also be seconds of a minute. / If the keys of \"v\" are seconds of a minute"},
	{"texts that look like times",
	 "{'at': '2024.03.04 08:00', 'on': '04/03/2024', 'id': '2024', 'v': 1}, {'at': "
	 "'2024.03.04 08:00', 'on': '04/03/2024', 'id': '2024', 'v': 1}",
	 "at text, on text, id text, v double; -- the table has no time: \"at\", \"on\" could have it, but "
	 "not in a known format."},
	{"buckets that begin at a microsecond",
	 "{'t': 1381446397123457, 'v': {'0': 1.5, '59': 2.5}}, {'t': 1381449997123458, 'v': {'0': 1.5, "
	 "'59': 2.5}}, {'t': 1381453597123459, 'v': {'0': 1.5, '59': 2.5}}",
	 "time t time as epoch_us, v double field v.{minute}; readonly -- the keys of \"v\" are taken as "
	 "minutes of an hour: Only 2 of the 60 minutes occur in the sampled documents. / If the keys of \"v\" "
	 "are seconds of a minute / If the keys of \"v\" are names / If each document is a row"},
	{"an integer that returns beside a constant, in buckets that overlap",
	 "{'machine': 1, 'kind': 'K', 'start': T(2024-03-04T08:00:00), 's': [{'t': "
	 "T(2024-03-04T08:00:00), 'v': 1.5}, {'t': T(2024-03-04T09:00:00), 'v': 2.5}]}, {'machine': "
	 "2, 'kind': 'K', 'start': T(2024-03-04T08:10:01), 's': [{'t': T(2024-03-04T08:10:01), 'v': "
	 "1.5}, {'t': T(2024-03-04T09:10:01), 'v': 2.5}]}, {'machine': 3, 'kind': 'K', 'start': "
	 "T(2024-03-04T08:20:02), 's': [{'t': T(2024-03-04T08:20:02), 'v': 1.5}, {'t': "
	 "T(2024-03-04T09:20:02), 'v': 2.5}]}, {'machine': 4, 'kind': 'K', 'start': "
	 "T(2024-03-04T08:30:03), 's': [{'t': T(2024-03-04T08:30:03), 'v': 1.5}, {'t': "
	 "T(2024-03-04T09:30:03), 'v': 2.5}]}, {'machine': 1, 'kind': 'K', 'start': "
	 "T(2024-03-04T08:40:04), 's': [{'t': T(2024-03-04T08:40:04), 'v': 1.5}, {'t': "
	 "T(2024-03-04T09:40:04), 'v': 2.5}]}, {'machine': 2, 'kind': 'K', 'start': "
	 "T(2024-03-04T08:50:05), 's': [{'t': T(2024-03-04T08:50:05), 'v': 1.5}, {'t': "
	 "T(2024-03-04T09:50:05), 'v': 2.5}]}, {'machine': 3, 'kind': 'K', 'start': "
	 "T(2024-03-04T09:00:06), 's': [{'t': T(2024-03-04T09:00:06), 'v': 1.5}, {'t': "
	 "T(2024-03-04T10:00:06), 'v': 2.5}]}, {'machine': 4, 'kind': 'K', 'start': "
	 "T(2024-03-04T09:10:07), 's': [{'t': T(2024-03-04T09:10:07), 'v': 1.5}, {'t': "
	 "T(2024-03-04T10:10:07), 'v': 2.5}]}",
	 "time t time field s[].t, machine int, attribute kind text, v double field s[].v; first start "
	 "readonly"},
	{"an integer that returns beside a constant, in buckets one after another",
	 "{'sensor': 'a', 'mode': 1, 'start': T(2024-03-04T08:00:00), 's': [{'t': "
	 "T(2024-03-04T08:00:00), 'v': 1.5}, {'t': T(2024-03-04T08:50:00), 'v': 2.5}]}, {'sensor': "
	 "'a', 'mode': 2, 'start': T(2024-03-04T09:00:01), 's': [{'t': T(2024-03-04T09:00:01), 'v': "
	 "1.5}, {'t': T(2024-03-04T09:50:01), 'v': 2.5}]}, {'sensor': 'a', 'mode': 1, 'start': "
	 "T(2024-03-04T10:00:02), 's': [{'t': T(2024-03-04T10:00:02), 'v': 1.5}, {'t': "
	 "T(2024-03-04T10:50:02), 'v': 2.5}]}, {'sensor': 'a', 'mode': 2, 'start': "
	 "T(2024-03-04T11:00:03), 's': [{'t': T(2024-03-04T11:00:03), 'v': 1.5}, {'t': "
	 "T(2024-03-04T11:50:03), 'v': 2.5}]}, {'sensor': 'a', 'mode': 1, 'start': "
	 "T(2024-03-04T12:00:04), 's': [{'t': T(2024-03-04T12:00:04), 'v': 1.5}, {'t': "
	 "T(2024-03-04T12:50:04), 'v': 2.5}]}, {'sensor': 'a', 'mode': 2, 'start': "
	 "T(2024-03-04T13:00:05), 's': [{'t': T(2024-03-04T13:00:05), 'v': 1.5}, {'t': "
	 "T(2024-03-04T13:50:05), 'v': 2.5}]}, {'sensor': 'a', 'mode': 1, 'start': "
	 "T(2024-03-04T14:00:06), 's': [{'t': T(2024-03-04T14:00:06), 'v': 1.5}, {'t': "
	 "T(2024-03-04T14:50:06), 'v': 2.5}]}, {'sensor': 'a', 'mode': 2, 'start': "
	 "T(2024-03-04T15:00:07), 's': [{'t': T(2024-03-04T15:00:07), 'v': 1.5}, {'t': "
	 "T(2024-03-04T15:50:07), 'v': 2.5}]}",
	 "time t time field s[].t, attribute sensor text, mode int, v double field s[].v; first start "
	 "readonly -- \"mode\" is taken as the key of a series, and \"sensor\" as an attribute: The "
	 "sampled documents do not show which of them is the key."},
	{"an integer that tells devices apart beside a text that rotates",
	 "{'meterId': 1, 'firmware': 'f0', 'hour': T(2024-03-04T08:00:00), 'v': {'0': 0.5, '59': "
	 "1.5}}, {'meterId': 2, 'firmware': 'f1', 'hour': T(2024-03-04T08:00:00), 'v': {'0': 1.5, "
	 "'59': 1.5}}, {'meterId': 3, 'firmware': 'f2', 'hour': T(2024-03-04T08:00:00), 'v': {'0': "
	 "2.5, '59': 1.5}}, {'meterId': 1, 'firmware': 'f1', 'hour': T(2024-03-04T09:00:00), 'v': "
	 "{'0': 0.5, '59': 1.5}}, {'meterId': 2, 'firmware': 'f2', 'hour': T(2024-03-04T09:00:00), "
	 "'v': {'0': 1.5, '59': 1.5}}, {'meterId': 3, 'firmware': 'f0', 'hour': "
	 "T(2024-03-04T09:00:00), 'v': {'0': 2.5, '59': 1.5}}, {'meterId': 1, 'firmware': 'f2', "
	 "'hour': T(2024-03-04T10:00:00), 'v': {'0': 0.5, '59': 1.5}}, {'meterId': 2, 'firmware': "
	 "'f0', 'hour': T(2024-03-04T10:00:00), 'v': {'0': 1.5, '59': 1.5}}, {'meterId': 3, "
	 "'firmware': 'f1', 'hour': T(2024-03-04T10:00:00), 'v': {'0': 2.5, '59': 1.5}}, {'meterId': "
	 "1, 'firmware': 'f0', 'hour': T(2024-03-04T11:00:00), 'v': {'0': 0.5, '59': 1.5}}, "
	 "{'meterId': 2, 'firmware': 'f1', 'hour': T(2024-03-04T11:00:00), 'v': {'0': 1.5, '59': "
	 "1.5}}, {'meterId': 3, 'firmware': 'f2', 'hour': T(2024-03-04T11:00:00), 'v': {'0': 2.5, "
	 "'59': 1.5}}",
	 "time hour time, attribute meterId int, firmware text, v double field v.{minute}; -- the keys "
	 "of \"v\" are taken as minutes of an hour: Only 2 of the 60 minutes occur in the sampled "
	 "documents. \"firmware\" is taken as the key of a series, and \"meterId\" as an attribute. "
	 "The sampled documents do not show which of them is the key. / If the keys of \"v\" are names "
	 "/ If each document is a row"},
	{"a number beside the times when a document was stored",
	 "{'sensor': 'a', 'ts': 1709539200123, 'v': 0.5, 'createdAt': T(2024-03-04T08:00:07), "
	 "'updatedAt': T(2024-03-04T08:00:07)}, {'sensor': 'a', 'ts': 1709539207134, 'v': 1.5, "
	 "'createdAt': T(2024-03-04T08:01:08), 'updatedAt': T(2024-03-04T08:01:08)}, {'sensor': 'a', "
	 "'ts': 1709539214145, 'v': 2.5, 'createdAt': T(2024-03-04T08:02:09), 'updatedAt': "
	 "T(2024-03-04T08:02:09)}",
	 "sensor text, time ts time as epoch_ms, v double, attribute createdAt time, attribute updatedAt "
	 "time; -- \"ts\" is taken as the time: It could also be \"createdAt\" or \"updatedAt\". The "
	 "numbers in \"ts\" are taken as times of format epoch_ms. / If \"createdAt\" is the time / If "
	 "\"updatedAt\" is the time"},
	{"full buckets with a constant count and a first time of whole hours",
	 "(4 1h: {sensor: 'a', hour: @, n: 6, from: @, s: [(6 607s: {t: @, v: ~})], to: @l})",
	 "time t time field s[].t, sensor text, v double field s[].v; bucket hour span 1 hour first from "
	 "last to count n"},
	{"times of one form with an offset of zero",
	 "{'at': '2024-03-04T08:00:07+00:00', 'v': 0.5}, {'at': '2024-03-04T08:01:07+00:00', 'v': "
	 "1.5}, {'at': '2024-03-04T08:02:07+00:00', 'v': 2.5}",
	 "time at time as text:YYYY-MM-DD\"T\"HH24:MI:SS\"+00:00\", v double;"},
	{"times with an offset of zero and of an hour",
	 "{'at': '2024-03-04T08:00:07+00:00', 'v': 0.5}, {'at': '2024-03-04T08:01:07+01:00', 'v': "
	 "1.5}, {'at': '2024-03-04T08:02:07+00:00', 'v': 2.5}",
	 "time at time as iso8601, v double; readonly"},
	{"two constants that could be the count of full buckets",
	 "(4 1h: {sensor: 'a', hour: @, n: 6, size: 6, s: [(6 607s: {t: @, v: ~})]})",
	 "time t time field s[].t, sensor text, attribute size int, v double field s[].v; bucket hour span "
	 "1 hour count n readonly"},
	{"days and the hours at which they begin",
	 "{'day': T(2024-01-01T00:00:00), 'start': T(2024-01-01T06:00:00), 'v': {'0': 1, '23': 2}}, "
	 "{'day': T(2024-01-02T00:00:00), 'start': T(2024-01-02T06:00:00), 'v': {'0': 1, '23': 2}}",
	 "time day time, attribute start time, v double field v.{hour}; -- the keys of \"v\" are taken as "
	 "hours of a day: Only 2 of the 24 hours occur in the sampled documents. \"day\" is taken as the "
	 "time. It could also be \"start\". / If \"start\" is the time / If the keys of \"v\" are names / If "
	 "each document is a row"},
	{"dates whose month could be their day",
	 "{'d': '2024-01-03', 'v': 1}, {'d': '2024-02-03', 'v': 2}, {'d': '2024-03-03', 'v': 2}",
	 "time d time as text:YYYY-MM-DD, v double; -- \"d\" is taken as a time of pattern YYYY-MM-DD: The "
	 "pattern could also be YYYY-DD-MM, as no day after the 12th was sampled. / If \"d\" is a time of "
	 "pattern YYYY-DD-MM"},
	{"hours of dates whose month could be their day",
	 "{'d': '2024-01-03', 'v': {'0': 1, '23': 2}}, {'d': '2024-02-03', 'v': {'0': 1, '23': 2}}, "
	 "{'d': '2024-03-03', 'v': {'0': 1, '23': 2}}",
	 "time d time as text:YYYY-MM-DD, v double field v.{hour}; -- the keys of \"v\" are taken as hours of "
	 "a day: Only 2 of the 24 hours occur in the sampled documents. \"d\" is taken as a time of pattern "
	 "YYYY-MM-DD. The pattern could also be YYYY-DD-MM, as no day after the 12th was sampled. / If \"d\" "
	 "is a time of pattern YYYY-DD-MM / If the keys of \"v\" are names / If each document is a row"},
	{"a count of the elements that are not null",
	 "{'h': T(2024-01-01T00:00:00), 'm': {'n': 2}, 'v': {'0': 1, '30': null, '59': 3}}, "
	 "{'h': T(2024-01-01T01:00:00), 'm': {'n': 1}, 'v': {'0': 1, '30': null, '59': null}}",
	 "time h time, v double field v.{minute} missing null; count m.n -- the keys of \"v\" are taken as "
	 "minutes of an hour: Only 3 of the 60 minutes occur in the sampled documents. Points of \"v\" that "
	 "are null are not rows. \"m.n\" does not count them. / If the keys of \"v\" are seconds of a minute "
	 "/ If the keys of \"v\" are names / If each document is a row"},
	{"a count of one of two values",
	 "{'h': T(2024-01-01T00:00:00), 'n': 2, 'v': {'0': {'a': 10, 'b': 7}, '30': {'a': null, 'b': 7}, "
	 "'59': {'a': 20, 'b': 7}}}, {'h': T(2024-01-01T01:00:00), 'n': 1, 'v': {'0': {'a': 10, 'b': 7}, "
	 "'30': {'a': null, 'b': 7}}}",
	 "time h time, attribute n int, a double field v.{minute}.a, b double field v.{minute}.b; readonly -- "
	 "the keys of \"v\" are taken as minutes of an hour: Only 3 of the 60 minutes occur in the sampled "
	 "documents. / If the keys of \"v\" are seconds of a minute / If the keys of \"v\" are names / If "
	 "each document is a row"},
	{"dates that begin months",
	 "{'d': '2024-01-01', 'v': 1}, {'d': '2024-02-01', 'v': 2}, {'d': '2024-03-01', 'v': 2}",
	 "time d time as text:YYYY-MM-DD, v double;"},
	{"dates of the first days of a month",
	 "{'d': '2024-01-01', 'v': 1}, {'d': '2024-01-02', 'v': 2}, {'d': '2024-01-03', 'v': 2}",
	 "time d time as text:YYYY-MM-DD, v double;"},
	{"a count of all elements, and one of those that are not null",
	 "{'h': T(2024-01-01T00:00:00), 'n': 2, 'size': 3, 'v': {'0': 10, '30': null, '59': 30}}, "
	 "{'h': T(2024-01-01T01:00:00), 'n': 1, 'size': 2, 'v': {'0': 10, '30': null}}",
	 "time h time, attribute n int, v double field v.{minute}; count size readonly -- the keys of \"v\" "
	 "are taken as minutes of an hour: Only 3 of the 60 minutes occur in the sampled documents. / If the "
	 "keys of \"v\" are seconds of a minute / If the keys of \"v\" are names / If each document is a row"},
