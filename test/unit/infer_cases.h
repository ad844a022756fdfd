/*
 * infer_cases.h
 *		Lists sample documents and the declarations inferred from them.
 *
 * Included by test_infer.c only.
 */
/* clang-format off */
	{"one document per event",
	 "{'_id': 1, 'ts': T(2013-10-10T23:06:37), 'type': 'a', 'value': 5}, {'_id': 2, 'ts': "
	 "T(2013-10-10T23:06:38), 'type': 'a', 'value': 5.5}",
	 "_id int, time ts time, type text, value double;"},
	{"states of several types",
	 "{'_id': 1, 'ts': T(2013-10-10T23:06:37), 'type': 'a', 'state': 20.5, 'seen': 'x'}, {'_id': 2, 'ts': "
	 "T(2013-10-10T23:06:38), 'type': 'b', 'state': 'ON', 'seen': true}, {'_id': 3, 'ts': "
	 "T(2013-10-10T23:06:39), 'type': 'c', 'state': 7, 'seen': {'a': 1}}",
	 "_id int, time ts time, type text, attribute state any, attribute seen json;"},
	{"a day and an hour in two fields",
	 "{'day': '2026-04-10', 'hour': 13, 'v': 5}, {'day': '2026-04-10', 'hour': 14, 'v': 5.5}, {'day': "
	 "'2026-04-11', 'hour': 0, 'v': 4}",
	 "time day time as text:YYYY-MM-DD, hour double, v double; -- \"hour\" could be the hour of the times in "
	 "\"day\": A table has the time from one field. If that is the day, add the hour in a view."},
	{"no hours",
	 "{'day': '2026-04-10', 'hour': 13, 'v': 5}, {'day': '2026-04-10', 'hour': 24, 'v': 5.5}, {'day': "
	 "'2026-04-11', 'hour': 0, 'v': 4}",
	 "time day time as text:YYYY-MM-DD, hour double, v double;"},
	{"an hour beside whole times",
	 "{'at': T(2026-04-10T13:00:00), 'hour': 13, 'v': 5}, {'at': T(2026-04-10T14:00:00), 'hour': 14, 'v': "
	 "5.5}",
	 "time at time, hour double, v double;"},
	{"minutes, with pre-aggregates",
	 "{'_id': 'x', 'minute': T(2013-10-10T23:06:00), 'type': 'a', 'n': 2, 'total': 8, 'least': 3, "
	 "'most': 5, 'v': {'0': 3, '59': 5}}, {'_id': 'y', 'minute': T(2013-10-10T23:07:00), 'type': "
	 "'b', 'n': 3, 'total': 9.5, 'least': 2, 'most': 4, 'v': {'7': 3.5, '8': 2, '9': 4}}, {'_id': "
	 "'z', 'minute': T(2013-10-10T23:08:00), 'n': 0, 'total': 0, 'v': {}}",
	 "time minute time, attribute type text, v double field v.{second} sum total min least max most; "
	 "count n -- the keys of \"v\" are taken as seconds of a minute: Only 5 of the 60 seconds occur in "
	 "the sampled documents. / If the keys of \"v\" are names / If each document is a row"},
	{"values that are no numbers are counted",
	 "{'minute': T(2013-10-10T23:06:00), 'n': 2, 'v': {'0': 'x', '59': 'y'}}, {'minute': "
	 "T(2013-10-10T23:07:00), 'n': 1, 'v': {'7': 'z'}}",
	 "time minute time, v text field v.{second}; count n -- the keys of \"v\" are taken as seconds of a "
	 "minute: Only 3 of the 60 seconds occur in the sampled documents. / If the keys of \"v\" are names / "
	 "If each document is a row"},
	{"records whose fields are all empty",
	 "{'ts': T(2022-07-08T09:10:00), 'v': {'0': {}, '1': {}}}",
	 "time ts time, attribute v json; -- \"v\" is taken as data: Nothing shows a time for each of "
	 "its values."},
	{"the same number in all samples is no total",
	 "{'minute': T(2013-10-10T23:06:00), 'site': 2, 'v': {'0': 3, '59': 5}}, {'minute': "
	 "T(2013-10-10T23:07:00), 'site': 2, 'v': {'7': 3.5, '8': 2}}",
	 "time minute time, site int, v double field v.{second}; -- the keys of \"v\" are taken as seconds of "
	 "a minute: Only 4 of the 60 seconds occur in the sampled documents. / If the keys of \"v\" are names "
	 "/ If each document is a row"},
	{"a number that could be the count",
	 "{'ts': T(2013-10-10T23:06:00), 'site': 3, 'n': 2, 'v': {'0': 3, '59': 5}}, {'ts': "
	 "T(2013-10-10T23:07:00), 'site': 3, 'n': 2, 'v': {'7': 3.5, '8': 2}}, {'ts': "
	 "T(2013-10-10T23:08:00), 'site': 3, 'n': 2, 'v': {'7': 3.5, '8': 2}}",
	 "time ts time, site int, attribute n int, v double field v.{second}; readonly -- the keys of \"v\" "
	 "are taken as seconds of a minute: Only 4 of the 60 seconds occur in the sampled documents. / If the "
	 "keys of \"v\" are names / If each document is a row"},
	{"hours, nested",
	 "{'h': T(2013-10-10T23:00:00), 'v': {'0': {'3': 5}}}, {'h': T(2013-10-11T01:00:00), 'v': "
	 "{'7': {'59': 3.5}}}, {'h': T(2013-10-11T02:00:00), 'v': {'59': {'1': 3.5}}}",
	 "time h time, v double field v.{minute}.{second}; -- the keys of \"v\" are taken as seconds of "
	 "minutes of an hour: Only 3 of the 60 minutes occur in the sampled documents. / If the keys of \"v\" "
	 "are minutes of an hour, with names under them / If each document is a row"},
	{"days, three levels",
	 "{'ts': T(2016-02-29T00:00:00), 'v': {'0': {'3': {'0': 5}}}}, {'ts': T(2016-03-01T00:00:00), "
	 "'v': {'7': {'59': {'59': 3.5}}}}, {'ts': T(2016-03-02T00:00:00), 'v': {'23': {'1': {'0': "
	 "3.5}}}}",
	 "time ts time, v double field v.{hour}.{minute}.{second}; -- the keys of \"v\" are taken as seconds "
	 "of minutes of hours of a day: Only 3 of the 24 hours occur in the sampled documents. / If the keys "
	 "of \"v\" are minutes of hours of a day, with names under them / If each document is a row"},
	{"days, text, sparse minutes",
	 "{'day': '2021-03-04T00:00:00', 'v': {'9': {'30': 3, '5': 2}}}, {'day': "
	 "'2021-03-05T00:00:00', 'v': {'23': {'59': 3}}}, {'day': '2021-03-07T00:00:00', 'v': {'0': "
	 "{'0': 3}}}",
	 "time day time as text:YYYY-MM-DD\"T\"HH24:MI:SS, v double field v.{hour}.{minute}; -- the keys of "
	 "\"v\" are taken as minutes of hours of a day: Only 3 of the 24 hours occur in the sampled "
	 "documents. / If the keys of \"v\" are hours of a day, with names under them / If each document is a "
	 "row"},
	{"a single bucket leaves several units",
	 "{'ts': T(2020-01-01T00:00:00), 'page': 'x', 'v': {'0': 3, '17': 1}}",
	 "time ts time, slot v_key int, page text, v double field v.{v_key}; -- the keys of \"v\" are "
	 "taken as names, in column \"v_key\": Nothing shows that they count a unit of time. / If the "
	 "keys of \"v\" are hours of a day / If the keys of \"v\" are minutes of an hour / If the keys "
	 "of \"v\" are seconds of a minute / If each document is a row"},
	{"size-based",
	 "{'sensor': 5, 'day': T(2018-08-29T00:00:00), 'first': 1535530412, 'last': 1535530450, 'n': "
	 "2, 'samples': [{'val': 50, 'time': 1535530412}, {'val': 56, 'time': 1535530450}]}, "
	 "{'sensor': 5, 'day': T(2018-08-29T00:00:00), 'first': 1535540412, 'last': 1535540413, 'n': "
	 "2, 'samples': [{'val': 57, 'time': 1535540412}, {'val': 50, 'time': 1535540413, 'quality': "
	 "'good'}]}, {'sensor': 6, 'day': T(2018-08-30T00:00:00), 'first': 1535588412, 'last': "
	 "1535588413, 'n': 2, 'samples': [{'val': 57, 'time': 1535588412}, {'val': 50, 'time': "
	 "1535588413}]}, {'sensor': 6, 'day': T(2018-08-30T00:00:00), 'first': 1535589412, 'last': "
	 "1535589412, 'n': 1, 'samples': [{'val': 57, 'time': 1535589412}]}",
	 "time time time field samples[].time as epoch, sensor int, val double field samples[].val, "
	 "quality text field samples[].quality; bucket day span 1 day first first last last count n "
	 "limit 2"},
	{"size-based, none of them full",
	 "{'sensor': 5, 'day': T(2018-08-29T00:00:00), 'samples': [{'val': 50, 'time': 1535530412}, "
	 "{'val': 56, 'time': 1535530450}]}, {'sensor': 5, 'day': T(2018-08-29T00:00:00), 'samples': "
	 "[{'val': 57, 'time': 1535540412}]}",
	 "time time time field samples[].time as epoch, sensor int, val double field samples[].val; "
	 "bucket day span 1 day readonly"},
	{"a bucket's nominal end",
	 "{'start': T(2019-01-31T10:00:00), 'end': T(2019-01-31T10:59:59), 'm': [{'t': "
	 "T(2019-01-31T10:42:00), 'v': 42}, {'t': T(2019-01-31T10:12:00), 'v': 41}]}, {'start': "
	 "T(2019-01-31T11:00:00), 'end': T(2019-01-31T11:59:59), 'm': [{'t': T(2019-01-31T11:42:00), "
	 "'v': 42}]}",
	 "time t time field m[].t, attribute end time, v double field m[].v; bucket start span 1 hour"},
	{"positional arrays whose elements carry no time",
	 "{'ts': T(2022-07-08T00:01:00), 'v': "
	 "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32]}, "
	 "{'ts': T(2022-07-08T00:05:00), 'v': [1, null, 3.5]}",
	 "time ts time, v double field v[{second}]; -- the elements of \"v\" are taken as seconds of a "
	 "minute: Only their number shows it. / If each document is a row"},
	{"a short list is no series",
	 "{'ts': T(2022-07-08T00:01:00), 'at': [12.5, 47.25]}, {'ts': T(2022-07-08T00:05:00), 'at': "
	 "[12.5, 47]}",
	 "time ts time, attribute at double[];"},
	{"offsets",
	 "{'_id': {'metric': 'm', 'origin': T(2017-05-06T07:08:00)}, 'points': [{'offset': 59, 'sum': "
	 "3}, {'offset': 0, 'sum': 1}, {'offset': 1.5, 'sum': 2}]}, {'_id': {'metric': 'm', 'origin': "
	 "T(2017-05-06T07:09:00)}, 'points': [{'offset': 5, 'sum': 3}]}",
	 "metric text field _id.metric, time offset time field points[].offset as offset:second:double, sum "
	 "double field points[].sum; bucket _id.origin span 1 minute -- \"points[].offset\" is taken as "
	 "the time of points: It counts seconds from \"_id.origin\" on. / If each document is a row"},
	{"times of several types",
	 "{'at': T(2017-05-06T07:08:00), 'v': 1.5}, {'at': '2017-05-06T07:08:09Z', 'v': 2}, {'at': "
	 "1494054489000, 'v': 2.5}",
	 "time at time as date or epoch_ms or text:YYYY-MM-DD\"T\"HH24:MI:SS\"Z\", v double; -- the times "
	 "in \"at\" have several types: They are read as date or epoch_ms or "
	 "text:YYYY-MM-DD\"T\"HH24:MI:SS\"Z\", and MongoDB does not sort them by time."},
	{"times, and texts or numbers that are not",
	 "{'at': T(2017-05-06T07:08:00), 'v': 1.5}, {'at': 'soon', 'v': 2}",
	 "attribute at any, v double;"},
	{"times of day",
	 "{'day': '2017-05-06', 'r': [{'at': '05:00', 'kwh': 1.5}, {'at': '23:59', 'kwh': 2}]}",
	 "time at time field r[].at as time:HH24:MI, kwh double field r[].kwh; bucket day as "
	 "text:YYYY-MM-DD span 1 day -- \"r[].at\" is taken as the time of points: It is a time of the "
	 "day in \"day\"."},
	{"times of day, and positions that fill a day",
	 "(3 1d: {day: @, r: [(24 1h: {at: '%H:%M', kwh: ~})]})",
	 "time at time field r[].at as time:HH24:MI, kwh double field r[].kwh; bucket day span 1 day -- "
	 "\"r[].at\" is taken as the time of points: It is a time of the day in \"day\"."},
	{"times of day and other times",
	 "(3 1d: {day: @, r: [(24 1h: {from: '%H:%M', at: @, kwh: ~})]})",
	 "time at time field r[].at, from text field r[].from, kwh double field r[].kwh; bucket day span "
	 "1 day"},
	{"times of day in hours",
	 "(3 1h: {hour: @, r: [(30 1m: {at: '%H:%M', kwh: ~})]})",
	 "time hour time, at text field r[{2 minutes}].at, kwh double field r[{2 minutes}].kwh; -- the "
	 "elements of \"r\" are taken as steps of 2 minutes in an hour: Only their number shows it. / If "
	 "each document is a row"},
	{"times of day from noon on",
	 "{'day': T(2024-03-04T12:00:00), 'r': [{'at': '05:00', 'v': 1}]}, {'day': "
	 "T(2024-03-05T12:00:00), 'r': [{'at': '13:00', 'v': 1}]}, {'day': "
	 "T(2024-03-06T12:00:00), 'r': [{'at': '14:00', 'v': 1}]}",
	 "time day time, attribute r json; -- \"r\" is taken as data: Nothing shows a time for each of "
	 "its values."},
	{"months, days from 1, totals",
	 "{'m': '2012:2', 'c': 15, 'd': {'c': 15, '1': {'c': 3, '0': {'c': 1}, '23': {'c': 2}}, '29': "
	 "{'c': 12, '7': {'c': 12}}}}, {'m': '2012:10', 'c': 4, 'd': {'c': 4, '31': {'c': 4, '12': "
	 "{'c': 4}}}}, {'m': '2012:12', 'c': 9, 'd': {'c': 9, '31': {'c': 9, '23': {'c': 9}}}}",
	 "time m time as text:YYYY:FMMM, attribute d_c int field d.c, c double field d.{day:1}.{hour}.c sum "
	 "c; readonly -- the keys of \"d\" are taken as hours of days of a month: Only 3 days occur in the "
	 "sampled documents. Some fields have no column. They are beside the points, or too many, or no path "
	 "can name them. / If each document is a row"},
	{"days of a month from 0",
	 "{'m': T(2012-02-01T00:00:00), 'd': {'0': 1, '28': 2}}, {'m': T(2012-03-01T00:00:00), 'd': "
	 "{'30': 1}}, {'m': T(2012-05-01T00:00:00), 'd': {'11': 1}}",
	 "time m time, d double field d.{day}; -- the keys of \"d\" are taken as days of a month: Only 4 days "
	 "occur in the sampled documents. / If the keys of \"d\" are names / If each document is a row"},
	{"months that all have two digits",
	 "{'m': '2012:12', 'd': {'1': 3, '29': 5}}, {'m': '2012:10', 'd': {'31': 4}}",
	 "time m time as text:YYYY:MM, d double field d.{day:1}; -- the keys of \"d\" are taken as days of a "
	 "month: Only 3 days occur in the sampled documents. / If the keys of \"d\" are names / If each "
	 "document is a row"},
	{"names that some points lack are values",
	 "{'ts': T(2022-07-08T09:10:00), 'v': {'0': {'temp': 20.5, 'hum': 40}, '1': {'temp': 21}, "
	 "'2': {}}}, {'ts': T(2022-07-08T09:11:00), 'v': {'58': {'hum': 40}}}",
	 "time ts time, slot v_key text, v double field v.{second}.{v_key}; -- the keys of \"v\" are taken as "
	 "seconds of a minute: Only 4 of the 60 seconds occur in the sampled documents. Each field of the "
	 "points of \"v\" is a row, with its name in column \"v_key\". Some points lack some of these fields. "
	 "/ If each document is a row"},
	{"names that all points have are columns",
	 "{'ts': T(2022-07-08T09:10:00), 'v': {'0': {'temp': 20.5, 'hum': 40}, '1': {'temp': 21, "
	 "'hum': 41}}}, {'ts': T(2022-07-08T09:11:00), 'v': {'58': {'hum': 40, 'temp': 3}}}",
	 "time ts time, temp double field v.{second}.temp, hum double field v.{second}.hum; -- the keys of "
	 "\"v\" are taken as seconds of a minute: Only 3 of the 60 seconds occur in the sampled documents. / "
	 "If the keys of \"v\" are names / If each document is a row"},
	{"parallel arrays",
	 "{'d': 'a', 't': [T(2022-07-08T00:00:00), T(2022-07-08T00:00:05)], 'v': [1.5, 2], 'q': "
	 "[true, false], 'tags': ['x']}, {'d': 'b', 't': [T(2022-07-09T00:00:00)], 'v': [null], 'q': "
	 "[true], 'tags': ['x', 'y']}",
	 "time t time field t[], d text, v double field v[], q bool field q[], attribute tags text[]; "
	 "readonly"},
	{"an array of times alone is no series",
	 "{'name': 'a', 'logins': [T(2022-07-08T00:00:00), T(2022-07-08T00:00:05)]}",
	 "name text, attribute logins time[]; -- the table has no time: \"logins\" could have it, but not in "
	 "a known format."},
	{"native time series",
	 "{'_id': {'$oid': '52573e3d0000000000000001'}, 'ts': T(2023-01-01T00:00:00), 'other': "
	 "T(2023-01-01T00:00:00), 'meta': {'sensor': 7}, 'value': 1}",
	 "time ts time, attribute other time, sensor int field meta.sensor, value double;", "ts",
	 "meta"},
	{"zipped by slot",
	 "{'ts': T(2022-07-08T09:10:00), 'temp': {'10': 21, '2': 20}, 'hum': {'2': 40, '30': 41}}, "
	 "{'ts': T(2022-07-08T09:11:00), 'hum': {'0': 42}}, {'ts': T(2022-07-08T09:12:00), 'temp': "
	 "{'59': 42}}",
	 "time ts time, temp double field temp.{second}, hum double field hum.{second}; -- the keys of "
	 "\"temp\" are taken as seconds of a minute: Only 3 of the 60 seconds occur in the sampled documents. "
	 "The keys of \"hum\" are taken as times like those of \"temp\". By themselves they could be names. / "
	 "If the keys of \"temp\" are names / If each document is a row"},
	{"other units are not zipped",
	 "{'day': T(2022-07-08T00:00:00), 'hourly': {'0': 3, '23': 4}, 'minutes': {'0': 1, '1400': 2, "
	 "'59': 7}}, {'day': T(2022-07-09T00:00:00), 'hourly': {'5': 3}, 'minutes': {'300': 1, '301': "
	 "2}}, {'day': T(2022-07-10T00:00:00), 'hourly': {'5': 3}, 'minutes': {'300': 1}}",
	 "time day time, attribute hourly json, minutes double field minutes.{minute}; span 1 day -- the keys "
	 "of \"minutes\" are taken as minutes of a day: Only 5 of the 1440 minutes occur in the sampled "
	 "documents. \"hourly\" is taken as data. Nothing shows a time for each of its values. / If the keys "
	 "of \"minutes\" are names / If each document is a row"},
	{"quarters of an hour",
	 "{'ts': T(2022-07-08T00:00:00), 'v': {'1': {'0': 1, '14': 2}, '2': {'0': 3}, '96': {'14': "
	 "4}}}",
	 "time ts time, v double field v.{15 minutes:1}.{minute}; span 1 day -- the keys of \"v\" are taken "
	 "as minutes of steps of 15 minutes in a day: Only their number shows it. / If the keys of \"v\" are "
	 "steps of 15 minutes in a day, with names under them / If each document is a row"},
	{"days that begin elsewhere",
	 "{'ts': T(2022-07-07T15:00:00), 'v': {'0': 1, '23': 2}}, {'ts': T(2022-07-08T15:00:00), 'v': "
	 "{'5': 1}}, {'ts': T(2022-07-10T15:00:00), 'v': {'5': 1}}",
	 "time ts time, v double field v.{hour}; readonly -- the keys of \"v\" are taken as hours of a day: "
	 "Only 3 of the 24 hours occur in the sampled documents. The days in \"ts\" do not begin at midnight "
	 "in UTC or in the session's time zone. If they do in another zone, set TimeZone to it and import "
	 "again. / If the keys of \"v\" are names / If each document is a row"},
	{"buckets that begin anywhere",
	 "{'ts': T(2022-07-08T09:10:07), 'v': {'0': 1, '59': 2}}, {'ts': T(2022-07-08T09:13:31), 'v': "
	 "{'30': 1}}, {'ts': T(2022-07-08T09:14:41), 'v': {'30': 1}}",
	 "time ts time, v double field v.{second}; readonly -- the keys of \"v\" are taken as seconds of a "
	 "minute: Only 3 of the 60 seconds occur in the sampled documents. / If the keys of \"v\" are names / "
	 "If each document is a row"},
	{"hours that begin at any minute",
	 "{'ts': T(2022-07-08T09:10:00), 'v': {'0': {'7': 1}, '59': {'59': 2}}}, {'ts': "
	 "T(2022-07-08T10:13:00), 'v': {'30': {'8': 1}}}, {'ts': T(2022-07-08T11:14:00), 'v': {'30': "
	 "{'9': 1}}}",
	 "time ts time, v double field v.{minute}.{second}; readonly -- the keys of \"v\" are taken as "
	 "seconds of minutes of an hour: Only 3 of the 60 minutes occur in the sampled documents. / If the "
	 "keys of \"v\" are seconds of a minute, with names under them / If the keys of \"v\" are minutes of "
	 "an hour, with names under them / If each document is a row"},
	{"a single bucket that begins anywhere",
	 "{'ts': T(2022-07-08T09:10:07), 'v': {'0': 1, '17': 2}}",
	 "time ts time, slot v_key int, v double field v.{v_key}; -- the keys of \"v\" are taken as "
	 "names, in column \"v_key\": Nothing shows that they count a unit of time. / If each document "
	 "is a row"},
	{"minutes far apart could be hours",
	 "{'ts': T(2022-07-08T09:10:00), 'v': {'0': 1, '59': 2}}, {'ts': T(2022-07-08T10:13:00), 'v': "
	 "{'30': 1}}, {'ts': T(2022-07-08T12:14:00), 'v': {'30': 1}}",
	 "time ts time, v double field v.{second}; -- the keys of \"v\" are taken as seconds of a minute: "
	 "Only 3 of the 60 seconds occur in the sampled documents. / If the keys of \"v\" are minutes of an "
	 "hour / If the keys of \"v\" are names / If each document is a row"},
	{"of several times the one that tells buckets apart",
	 "{'day': T(2022-07-08T00:00:00), 'hour': T(2022-07-08T03:00:00), 'v': {'0': {'59': 1}}}, "
	 "{'day': T(2022-07-08T00:00:00), 'hour': T(2022-07-08T04:00:00), 'v': {'40': {'0': 1}}}",
	 "time hour time, attribute day time, v double field v.{minute}.{second}; -- the keys of \"v\" are "
	 "taken as seconds of minutes of an hour: Only 2 of the 60 minutes occur in the sampled documents. / "
	 "If each document is a row"},
	{"a time in the points that disagrees with their slots",
	 "{'ts': T(2022-07-08T09:10:00), 'v': {'0': {'x': 1, 'changed': T(2022-07-09T09:10:00)}, '9': "
	 "{'x': 3, 'changed': T(2022-07-09T09:10:00)}}}, {'ts': T(2022-07-08T09:11:00), 'v': {'59': "
	 "{'x': 1, 'changed': T(2022-07-09T09:10:00)}}}",
	 "time ts time, x double field v.{second}.x, changed time field v.{second}.changed; -- the keys of "
	 "\"v\" are taken as seconds of a minute: Only 3 of the 60 seconds occur in the sampled documents. / "
	 "If the keys of \"v\" are names / If each document is a row"},
	{"keys that no slot has",
	 "{'ts': T(2022-07-08T09:10:00), 'v': {'07': 1, '8': 2}}",
	 "time ts time, slot v_key text, v double field v.{v_key}; -- the keys of \"v\" are taken as "
	 "names, in column \"v_key\": Nothing shows that they count a unit of time. / If each document is "
	 "a row"},
	{"keys beyond all units",
	 "{'ts': T(2022-07-08T09:10:00), 'v': {'123456789': 1, '8': 2}}",
	 "time ts time, slot v_key int, v double field v.{v_key}; -- the keys of \"v\" are taken as "
	 "names, in column \"v_key\": Nothing shows that they count a unit of time. / If each document "
	 "is a row"},
	{"numbers as keys, but no time",
	 "{'name': 'x', 'v': {'7': 1, '8': 2}}",
	 "name text, attribute v json; -- \"v\" is taken as data: Nothing shows a time for each of its "
	 "values."},
	{"documents that are no buckets",
	 "{'_id': 'config', 'version': 3}, {'ts': T(2022-07-08T09:10:00), 'v': {'0': 1, '59': 2}}, "
	 "{'ts': T(2022-07-08T09:11:00), 'v': {'5': 2}}",
	 "time ts time, v double field v.{second}; required ts readonly -- the keys of \"v\" are taken as "
	 "seconds of a minute: Only 3 of the 60 seconds occur in the sampled documents. Documents without "
	 "\"ts\" are left out by option \"filter\". They are 1 of the 3 sampled documents. / If the keys of "
	 "\"v\" are names / If each document is a row"},
	{"few buckets among other documents",
	 "{'_id': 'config', 'version': 3}, {'_id': 'more', 'version': 3}, {'ts': "
	 "T(2022-07-08T09:10:00), 'v': {'0': 1, '59': 2}}",
	 "_id text, version double, time ts time, attribute v json; -- \"v\" is taken as data: Nothing "
	 "shows a time for each of its values."},
	{"types",
	 "{'i': 1, 'l': {'$numberLong': '5'}, 'd': 1.5, 'n': {'$numberDecimal': '1.10'}, 'ld': "
	 "{'$numberLong': '5'}, 'b': true, 'o': {'$oid': '52573e3d0000000000000001'}, 'u': "
	 "{'$binary': {'base64': 'AAAAAAAAAAAAAAAAAAAAAA==', 'subType': '04'}}, 'y': {'$binary': "
	 "{'base64': 'AAAA', 'subType': '00'}}, 'a': [1], 'nul': null, 'm': 1, 's': 'x', 't': "
	 "T(2022-07-08T09:11:07)}, {'ld': 2.5, 'm': 'text', 't': T(2022-07-08T09:11:09)}",
	 "i double, l long, d double, n num, ld num, b bool, o oid, u uuid, attribute y bytes, attribute "
	 "a double[], attribute nul json, attribute m any, s text, time t time;"},
	{"names",
	 "{'a.b': 1, '{second}': 2, 'c\\\\d': 3, '*': 4, '': 5, 'ctid': 6, 'x': {'v': 7}, 'y': {'v': "
	 "8}, 'v': 9, 'z': {'w': 1}, 'u': {'w': 2}, 'key': 3}",
	 "a.b double field a\\.b, {second} double field \\{second}, c\\d double field c\\\\d, ctid_2 "
	 "double field ctid, x_v double field x.v, y_v double field y.v, v double, z_w double field z.w, "
	 "u_w double field u.w, key double, attribute document json field *; -- some fields have no "
	 "column: They are beside the points, or too many, or no path can name them."},
	{"keys of buckets and their attributes",
	 "{'ts': T(2022-07-08T09:10:00), 'site': {'id': 7, 'name': 'x', 'at': [1.5, 2]}, 'rate': 1.5, "
	 "'made': T(2022-07-08T09:10:07), 'v': {'0': 1, '59': 2}}",
	 "time ts time, attribute site_id int field site.id, site_name text field site.name, attribute "
	 "site_at double[] field site.at, attribute rate double, attribute made time, v double field "
	 "v.{second}; -- the keys of \"v\" are taken as seconds of a minute: Only 2 of the 60 seconds occur "
	 "in the sampled documents. / If the keys of \"v\" are names / If each document is a row"},
	{"seconds since 1970",
	 "{'at': 1535530412, 'v': 1}, {'at': 1535530413.5, 'v': 1}",
	 "time at time as epoch:double, v double; -- the numbers in \"at\" are taken as times of format epoch"},
	{"seconds in 64 bits, as Java stores them",
	 "{'at': {'$numberLong': '1535530412'}, 'v': 1}, {'at': {'$numberLong': '1535530413'}, 'v': 1}",
	 "time at time as epoch:long, v double; -- the numbers in \"at\" are taken as times of format epoch"},
	{"milliseconds as doubles, as JavaScript stores them",
	 "{'at': {'$numberDouble': '1535530412000'}, 'v': 1}",
	 "time at time as epoch_ms:double, v double; -- the numbers in \"at\" are taken as times of format "
	 "epoch_ms"},
	{"milliseconds since 1970",
	 "{'at': {'$numberLong': '1535530412000'}, 'v': 1}",
	 "time at time as epoch_ms, v double; -- the numbers in \"at\" are taken as times of format "
	 "epoch_ms"},
	{"small numbers are no times",
	 "{'at': 15355304, 'v': 1}",
	 "at double, v double;"},
	{"no documents",
	 "",
	 "attribute document json field *; -- there are no documents to infer columns from"},
